package nccl_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// lost makes collectives until one fails, and says how.
func lost(g *nccl.Group, d *gpu.Device, started bool) error {
	x, err := d.Alloc(100000, device.F32)
	for range 3 {
		if err != nil {
			break
		}
		if !started {
			err = g.AllReduce(x)
		} else if r, e := g.StartAllReduce(x); e != nil {
			err = e
		} else {
			err = r.Wait()
		}
		if err == nil {
			err = d.Sync()
		}
	}
	if status.Code(err) != status.PeerLost || !strings.Contains(err.Error(), "NCCL 2.30.3") {
		return fmt.Errorf("status %d: %v, want %d", status.Code(err), err, status.PeerLost)
	}
	// It stays that way.
	if err := g.AllReduce(x); status.Code(err) != status.PeerLost {
		return fmt.Errorf("afterwards: %v", err)
	}
	return nil
}

// A split that fails on one rank is an error of all, and no group.
func TestSplitFails(t *testing.T) {
	for _, library := range []string{gputest.NCCL, gputest.NCCLNoSplit} {
		use(t, library)
		devices := cards(t, driver.CUDA, 2)
		must(t, ranks(devices, 2, func(g *nccl.Group, d *gpu.Device) error {
			color := 0
			if g.Rank() == 1 {
				color = -3
			}
			part, err := g.Split(color, 0)
			if part != nil || err == nil || !strings.Contains(err.Error(), "color -3") {
				return fmt.Errorf("%v, %v", part, err)
			}
			return nil
		}))
	}
}

// A rank that dies inside a collective, or has an asynchronous error, ends the
// others' collectives with an error: no card waits for ever.
func TestFaults(t *testing.T) {
	for _, fault := range []string{"die:1:2", "error:1:2:6", "error:0:1:1"} {
		for _, started := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s started %v", fault, started), func(t *testing.T) {
				devices := cards(t, driver.CUDA, 3)
				t.Setenv("GPUEMU_NCCL_FAULT", fault)
				must(t, commtest.Ranks(3, func(control comm.Comm) error {
					g, err := nccl.New(control, devices[control.Rank()], nccl.Options{})
					if err != nil {
						return err
					}
					return lost(g, devices[control.Rank()], started)
				}))
			})
		}
	}
}

// Ranks that are processes, of which one is killed in a collective: the others end
// theirs with an error that has status 6.
func TestKilled(t *testing.T) {
	gputest.NeedEmulator(t)
	if os.Getenv(hubVariable) == "" {
		asProcesses(t, 3, func(rank int, out []byte, err error) {
			if rank == 1 {
				if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != -1 {
					t.Errorf("the rank that was to be killed: %v\n%s", err, out)
				}
			} else if err != nil {
				t.Errorf("rank %d: %v\n%s", rank, err, out)
			}
		}, "GPUEMU_NCCL_FAULT=kill:1:2")
		return
	}
	g, d := process(t)
	must(t, lost(g, d, false))
}

// Processes share what goroutines share.
func TestProcesses(t *testing.T) {
	gputest.NeedEmulator(t)
	if os.Getenv(hubVariable) == "" {
		asProcesses(t, 3, func(rank int, out []byte, err error) {
			if err != nil {
				t.Errorf("rank %d: %v\n%s", rank, err, out)
			}
		})
		return
	}
	g, d := process(t)
	must(t, sums(g, d))
	must(t, g.Close())
	must(t, d.Close())
}

// sums adds up over three ranks and spreads the result from the last.
func sums(g *nccl.Group, d *gpu.Device) error {
	const n = 70001
	x, err := d.Alloc(n, device.F64)
	if err != nil {
		return err
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i * (g.Rank() + 1))
	}
	if err := device.Upload(x, v); err != nil {
		return err
	}
	if err := g.AllReduce(x); err != nil {
		return err
	}
	if err := g.Bcast(x, 2); err != nil {
		return err
	}
	if err := d.Copy(device.Wrap(device.NewHost(1), v), x); err != nil {
		return err
	}
	for i := range v {
		if v[i] != float64(6*i) {
			return fmt.Errorf("element %d is %g, want %d", i, v[i], 6*i)
		}
	}
	return nil
}

// witness is a control that notes what would end the run.
type witness struct {
	comm.Comm
	code int
	why  error
}

func (w *witness) Abort(code int, why error) { w.code, w.why = code, why }

// Abort ends the collectives of this rank's card and then all ranks.
func TestAbort(t *testing.T) {
	devices := cards(t, driver.CUDA, 2)
	t.Setenv("GPUEMU_NCCL_FAULT", "die:1:1")
	must(t, commtest.Ranks(2, func(control comm.Comm) error {
		w := &witness{Comm: control}
		d := devices[control.Rank()]
		g, err := nccl.New(w, d, nccl.Options{})
		if err != nil {
			return err
		}
		x, err := d.Alloc(10, device.F32)
		if err != nil {
			return err
		}
		if err := g.AllReduce(x); err != nil {
			return err
		}
		why := errors.New("no time")
		g.Abort(status.Stopped, why)
		if w.code != status.Stopped || w.why != why {
			return fmt.Errorf("the control was told %d, %v", w.code, w.why)
		}
		// The card is done, or this does not return.
		if err := d.Sync(); err == nil {
			err = g.AllReduce(x)
			if err == nil {
				return errors.New("a collective after the end")
			}
		}
		return nil
	}))
}

// A rank that is lost inside a sum, of which the library says nothing, keeps no card:
// the verdict of the watch ends the sums of all.
func TestVerdictEndsSums(t *testing.T) {
	for _, started := range []bool{false, true} {
		devices := cards(t, driver.CUDA, 3)
		t.Setenv("GPUEMU_NCCL_FAULT", "hang:1:2")
		ended := make([]error, 3)
		must(t, commtest.Ranks(3, func(c comm.Comm) error {
			rank := c.Rank()
			left := make(chan struct{})
			guarded, w, err := watch.Guard(c, watch.Options{Say: func(*watch.Verdict) {}, Fail: func(*watch.Verdict) { close(left) }})
			if err != nil {
				return err
			}
			defer w.Close(nil)
			g, err := nccl.New(guarded, devices[rank], nccl.Options{})
			if err != nil {
				return err
			}
			defer watch.OnVerdict(guarded, g.Cut)()
			x, err := devices[rank].Alloc(5000, device.F32)
			if err != nil {
				return err
			}
			for range 2 { // the second stays
				if !started {
					err = g.AllReduce(x)
				} else if r, e := g.StartAllReduce(x); e != nil {
					err = e
				} else {
					err = r.Wait()
				}
				if err != nil {
					break // the verdict was faster
				}
			}
			if rank == 1 {
				guarded.Abort(status.PeerLost, errors.New("it is lost"))
			}
			ended[rank] = errors.Join(err, devices[rank].Sync()) // or this does not return
			<-left
			return nil
		}))
		for rank, err := range ended {
			if err == nil {
				t.Errorf("started %v, rank %d: a sum without rank 1 came to an end", started, rank)
			}
		}
	}
}

// Ranks that differ and never agreed are noticed by the emulated library, where
// the real one would hang: what the agreement lets through is right.
func TestUnagreed(t *testing.T) {
	devices := cards(t, driver.CUDA, 2)
	must(t, commtest.Ranks(2, func(control comm.Comm) error {
		d := devices[control.Rank()]
		g, err := nccl.New(control, d, nccl.Options{})
		if err != nil {
			return err
		}
		x, err := d.Alloc(10+control.Rank(), device.F32)
		if err != nil {
			return err
		}
		if err = g.Unagreed(x.(*gpu.Buf)); err == nil {
			err = d.Sync()
		}
		if status.Code(err) != status.PeerLost || !strings.Contains(err.Error(), "internal error") {
			return fmt.Errorf("status %d: %v", status.Code(err), err)
		}
		return nil
	}))
}
