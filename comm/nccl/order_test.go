package nccl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
)

// late is a control whose started all-reduces are agreed on late: after this rank has
// exchanged what a message needs.
type late struct {
	comm.Comm
	exchanged int
	agree     chan struct{}
}

func (c *late) StartAllReduce(x device.Buf) (comm.Request, error) {
	r, err := c.Comm.StartAllReduce(x)
	return lateRequest{r, c.agree}, err
}

type lateRequest struct {
	comm.Request
	agree chan struct{}
}

func (r lateRequest) Wait() error {
	<-r.agree
	return r.Request.Wait()
}

func (c *late) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	err := c.Comm.SendRecv(send, to, recv, from)
	if c.exchanged++; c.exchanged == 2 {
		close(c.agree)
	}
	return err
}

// The two communicators of a card are used in the order of the calls, however late the
// ranks agree on a started all-reduce.
func TestOneOrderOnACard(t *testing.T) {
	devices := cards(t, driver.CUDA, 2)
	log := filepath.Join(t.TempDir(), "calls")
	t.Setenv("GPUEMU_NCCL_LOG", log)
	must(t, commtest.Ranks(2, func(control comm.Comm) error {
		if control.Rank() == 1 {
			control = &late{Comm: control, agree: make(chan struct{})}
		}
		d := devices[control.Rank()]
		g, err := nccl.New(control, d, nccl.Options{})
		if err != nil {
			return err
		}
		x, err := d.Alloc(1000, device.F32)
		if err != nil {
			return err
		}
		y, err := d.Alloc(1000, device.F32)
		if err != nil {
			return err
		}
		z, err := d.Alloc(1000, device.F32)
		if err != nil {
			return err
		}
		q, err := g.StartAllReduce(x)
		if err != nil {
			return err
		}
		other := 1 - g.Rank()
		if err := g.SendRecv(y, other, z, other); err != nil {
			return err
		}
		if err := q.Wait(); err != nil {
			return err
		}
		if err := d.Sync(); err != nil {
			return err
		}
		return g.Close()
	}))
	text, err := os.ReadFile(log)
	must(t, err)
	for rank := range 2 {
		var calls []string
		for line := range strings.Lines(string(text)) {
			if call, ok := strings.CutPrefix(strings.TrimSpace(line), fmt.Sprintf("rank %d ", rank)); ok {
				calls = append(calls, call)
			}
		}
		if want := []string{"all-reduce", "message"}; !slices.Equal(calls, want) {
			t.Errorf("rank %d: %q, want %q", rank, calls, want)
		}
	}
}
