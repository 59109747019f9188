package nccl_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// A start that hangs or fails, on one rank or on all, is an error of all ranks that says
// what was waited for and where. The cards then work on, by the control.
func TestStartFails(t *testing.T) {
	for _, c := range []struct{ library, fault, want string }{
		{gputest.NCCL, "hang:1:0", "ncclCommInitRankConfig was not done after 300ms on ranks 0, 1 and 2"},
		{gputest.NCCL, "hang:-1:0", "ncclCommInitRankConfig was not done after 300ms on ranks 0, 1 and 2"},
		{gputest.NCCL, "error:2:0:2", "unhandled system error: an error was asked for"},
		{gputest.RCCL, "hang:0:0", "ncclCommInitRankConfig was not done after 300ms on ranks 0, 1 and 2"},
		{gputest.NCCLBlocking, "hang:1:0", "ncclCommInitRank was not done after 300ms on ranks 0, 1 and 2"},
		{gputest.NCCLBlocking, "error:2:0:2", "unhandled system error: an error was asked for"},
	} {
		t.Run(c.library+" "+c.fault, func(t *testing.T) {
			use(t, c.library)
			engine := driver.CUDA
			if c.library == gputest.RCCL {
				engine = driver.HIP
			}
			devices := cards(t, engine, 3)
			t.Setenv("GPUEMU_NCCL_FAULT", c.fault)
			must(t, commtest.Ranks(3, func(control comm.Comm) error {
				d := devices[control.Rank()]
				_, err := nccl.New(control, d, nccl.Options{Timeout: 300 * time.Millisecond})
				if status.Code(err) != status.PeerLost || !strings.Contains(err.Error(), c.want) {
					return fmt.Errorf("status %d: %v, want %s", status.Code(err), err, c.want)
				}
				x, err := d.Alloc(4, device.F32)
				if err == nil {
					err = device.Upload(x, []float32{1, 2, 3, 4})
				}
				if err == nil {
					err = control.AllReduce(x)
				}
				got := make([]float32, 4)
				if err == nil {
					err = device.Download(got, x)
				}
				if err == nil && (got[0] != 3 || got[3] != 12) {
					err = fmt.Errorf("the control's sum is %v", got)
				}
				return err
			}))
		})
	}
}

// A library that one rank lacks is an error of all that names it.
func TestOneRankLacksTheLibrary(t *testing.T) {
	gputest.NeedEmulator(t)
	if os.Getenv(hubVariable) == "" {
		asProcesses(t, 3, func(rank int, out []byte, err error) {
			if err != nil {
				t.Errorf("rank %d: %v\n%s", rank, err, out)
			}
		})
		return
	}
	rank, _ := strconv.Atoi(os.Getenv(rankVariable))
	if rank == 1 {
		t.Setenv("LSM_NCCL_LIB", "/nowhere/libnccl.so.2")
	}
	control, d := processControl(t)
	_, err := nccl.New(control, d, nccl.Options{})
	if status.Code(err) != status.NoResource || !strings.Contains(err.Error(), "there is no /nowhere/libnccl.so.2") {
		t.Errorf("rank %d: status %d: %v", rank, status.Code(err), err)
	}
}
