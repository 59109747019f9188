package comm_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
)

// A communicator that counts is one like any other.
func TestCountedConformance(t *testing.T) {
	commtest.Run(t, func(ranks int, body func(c comm.Comm) error) error {
		return commtest.Ranks(ranks, func(c comm.Comm) error {
			counted, _ := comm.Count(c)
			return body(counted)
		})
	}, 1, 3)
}

func TestCount(t *testing.T) {
	err := commtest.Ranks(4, func(world comm.Comm) error {
		c, n := comm.Count(world)
		h := device.NewHost(1)
		f32 := func(n int) device.Buf { return device.Wrap(h, make([]float32, n)) }
		next, before := (c.Rank()+1)%4, (c.Rank()+3)%4
		pair, err := c.Split(c.Rank()/2, 0)
		if err != nil {
			return err
		}
		alone, err := c.Split(c.Rank(), 0)
		if err != nil {
			return err
		}
		var out device.Buf
		to := comm.None
		if c.Rank() == 0 {
			out, to = f32(6), 1
		}
		var in device.Buf
		from := comm.None
		if c.Rank() == 1 {
			in, from = f32(6), 0
		}
		sent := map[int]int64{0: 24}[c.Rank()]
		for _, call := range []func() error{
			func() error { return c.AllReduce(f32(10), comm.Sum) },
			func() error { return c.AllReduce(device.Wrap(h, make([]complex128, 2)), comm.Sum) },
			func() error { return pair.AllReduce(f32(1), comm.Max) },
			func() error { return alone.AllReduce(f32(1000), comm.Sum) },
			func() error { return alone.Host().Barrier() },
			func() error { return start(c, f32(7)) },
			func() error { return c.Reduce(f32(3), comm.Sum, 2) },
			func() error { return c.Bcast(f32(4), 2) },
			func() error { return c.AllGather(f32(8), f32(2), []int{2, 2, 2, 2}) },
			func() error { return c.ReduceScatter(f32(2), f32(8), []int{2, 2, 2, 2}, comm.Sum) },
			func() error { return c.SendRecv(f32(5), next, f32(5), before) },
			func() error { return c.SendRecv(out, to, in, from) },
			func() error { return c.(comm.OneSided).Accumulate(f32(9)) },
			func() error { return c.Host().AllReduce([]float64{1, 2}, comm.Sum) },
			func() error { _, err := c.Host().Bcast(make([]byte, 3*c.Rank()), 3); return err },
			func() error { _, err := c.Host().AllGather(make([]byte, c.Rank())); return err },
			func() error { _, err := c.Host().Agree(1); return err },
			func() error { return pair.Host().Barrier() },
		} {
			if err := call(); err != nil {
				return err
			}
		}
		buffers, host := map[string]comm.Tally{
			"AllReduce":      {Calls: 3, Bytes: 40 + 32 + 4},
			"StartAllReduce": {Calls: 1, Bytes: 28},
			"Reduce":         {Calls: 1, Bytes: 12},
			"Bcast":          {Calls: 1, Bytes: 16},
			"AllGather":      {Calls: 1, Bytes: 32},
			"ReduceScatter":  {Calls: 1, Bytes: 32},
			"SendRecv":       {Calls: 2, Bytes: 20 + sent},
			"Accumulate":     {Calls: 1, Bytes: 36},
		}, map[string]comm.Tally{
			"AllReduce": {Calls: 1, Bytes: 16},
			"Bcast":     {Calls: 1, Bytes: 9},
			"AllGather": {Calls: 1, Bytes: 6},
			"Agree":     {Calls: 1, Bytes: 8},
			"Barrier":   {Calls: 1},
		}
		if got := n.Buffers(); !maps.Equal(got, buffers) {
			return fmt.Errorf("buffers %v, want %v", got, buffers)
		}
		if got := n.Host(); !maps.Equal(got, host) {
			return fmt.Errorf("host %v, want %v", got, host)
		}
		if n.Reset(); len(n.Buffers())+len(n.Host()) > 0 {
			return fmt.Errorf("something is left after a reset")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func start(c comm.Comm, x device.Buf) error {
	r, err := c.StartAllReduce(x, comm.Sum)
	if err != nil {
		return err
	}
	return r.Wait()
}
