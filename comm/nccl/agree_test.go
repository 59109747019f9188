package nccl_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
)

// What ranks do not agree on is an error on all of them before anything is sent.
func TestMismatch(t *testing.T) {
	devices := cards(t, driver.CUDA, 3)
	must(t, ranks(devices, 3, func(g *nccl.Group, d *gpu.Device) error {
		odd := g.Rank() == 1
		pick := func(a, b int) int {
			if odd {
				return b
			}
			return a
		}
		buf := func(n int, t device.Type) device.Buf {
			b, err := d.Alloc(n, t)
			if err != nil {
				panic(err)
			}
			return b
		}
		on := map[bool]device.Buf{false: buf(4, device.F32), true: device.Wrap(device.NewHost(1), make([]float32, 4))}
		for _, c := range []struct {
			what, others string // in the error of the others
			call         func() error
		}{
			{"length", "the call is all-reduce of 4 float32 on ranks 0 and 2, all-reduce of 5 float32 on rank 1",
				func() error { return g.AllReduce(buf(pick(4, 5), device.F32)) }},
			{"type", "all-reduce of 4 int64 on rank 1",
				func() error {
					return g.AllReduce(buf(4, device.Type(pick(int(device.F64), int(device.I64)))))
				}},
			{"device", "comm: all-reduce of a buffer on cpu: nccl takes those of cuda 1 (emulated GPU) on rank 1",
				func() error { return g.AllReduce(on[odd]) }},
			{"root", "broadcast of 4 float32 from rank 2 on rank 1",
				func() error { return g.Bcast(buf(4, device.F32), pick(0, 2)) }},
			{"counts", "all-gather of [2 2 2] float32 on ranks 0 and 2, all-gather of [3 2 1] float32 on rank 1", func() error {
				return g.AllGather(buf(6, device.F32), buf(2, device.F32), []int{pick(2, 3), 2, pick(2, 1)})
			}},
			{"kind", "all-reduce of 6 float32 on rank 1", func() error {
				if odd {
					return g.AllReduce(buf(6, device.F32))
				}
				return g.AllGather(buf(6, device.F32), buf(2, device.F32), []int{2, 2, 2})
			}},
			{"split", "comm: split with color -1 on rank 1", func() error {
				_, err := g.Split(pick(0, -1), 0)
				return err
			}},
			{"started", "the ranks do not agree", func() error {
				r, err := g.StartAllReduce(on[odd])
				if err != nil {
					return err
				}
				return r.Wait()
			}},
		} {
			err := c.call()
			if err == nil || !odd && !strings.Contains(err.Error(), c.others) {
				return fmt.Errorf("%s: %v, want %s", c.what, err, c.others)
			}
		}
		// The ranks are in step, and the card has come to no harm.
		x := buf(4, device.F32)
		if err := g.AllReduce(x); err != nil {
			return err
		}
		r, err := g.StartAllReduce(x)
		if err != nil {
			return err
		}
		return r.Wait()
	}))
}

// A message that does not fit, or of the wrong device, is an error of both ends;
// one that fits goes its way meanwhile.
func TestMessagesThatDoNotFit(t *testing.T) {
	devices := cards(t, driver.CUDA, 2)
	must(t, ranks(devices, 2, func(g *nccl.Group, d *gpu.Device) error {
		buf := func(n int) device.Buf {
			b, err := d.Alloc(n, device.F32)
			if err != nil {
				panic(err)
			}
			return b
		}
		host := device.Wrap(device.NewHost(1), make([]float32, 4))
		other := 1 - g.Rank()
		for _, c := range []struct {
			send, recv [2]device.Buf // by rank
			want       [2]string
		}{
			{[2]device.Buf{buf(4), buf(7)}, [2]device.Buf{buf(7), buf(5)},
				[2]string{"rank 1 does not take the 4 float32 of rank 0", "waits for 5 float32 from rank 0, which sends 4 float32"}},
			{[2]device.Buf{host, buf(7)}, [2]device.Buf{buf(7), buf(4)},
				[2]string{"message of a buffer on cpu", "which cannot send"}},
			{[2]device.Buf{buf(4), buf(7)}, [2]device.Buf{buf(7), host},
				[2]string{"does not take the 4 float32", "message of a buffer on cpu"}},
		} {
			me := g.Rank()
			if me == 1 {
				if err := device.Upload(c.send[1], []float32{1, 2, 3, 4, 5, 6, 7}); err != nil {
					return err
				}
			}
			err := g.SendRecv(c.send[me], other, c.recv[me], other)
			if err == nil || !strings.Contains(err.Error(), c.want[me]) {
				return fmt.Errorf("%v, want %s", err, c.want[me])
			}
			if me == 0 {
				got := make([]float32, 7)
				if err := d.Copy(device.Wrap(device.NewHost(1), got), c.recv[0]); err != nil || got[6] != 7 {
					return fmt.Errorf("the message that fits: %v, %v", got, err)
				}
			}
		}
		return nil
	}))
}

// A card that failed on one rank is an error of all.
func TestFailedCard(t *testing.T) {
	devices := cards(t, driver.CUDA, 2)
	must(t, commtest.Ranks(2, func(control comm.Comm) error {
		d := devices[control.Rank()]
		g, err := nccl.New(control, d, nccl.Options{})
		if err != nil {
			return err
		}
		x, err := d.Alloc(10, device.F32)
		if err != nil {
			return err
		}
		if control.Rank() == 1 {
			d.Context().Fail(errors.New("the card is on fire"))
		}
		if err := g.AllReduce(x); err == nil || !strings.Contains(err.Error(), "the card is on fire") {
			return fmt.Errorf("all-reduce: %v", err)
		}
		r, err := g.StartAllReduce(x)
		if err == nil {
			err = r.Wait()
		}
		if err == nil {
			return errors.New("started all-reduce: no error")
		}
		if err := g.SendRecv(x, 1-control.Rank(), x, 1-control.Rank()); err == nil {
			return errors.New("message: no error")
		}
		return nil
	}))
}
