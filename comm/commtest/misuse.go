package commtest

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// misuse makes calls that are wrong on all ranks. Each must be an error on each
// rank, with nothing sent: afterwards the ranks are in step.
func misuse(c comm.Comm) error {
	n := c.Size()
	x, z := buffer(device.F32, 0, 0, n), buffer(device.C64, 0, 0, n)
	one := buffer(device.F32, 0, 0, 1)
	ones := fill(n, func(int) int { return 1 })
	negative := fill(n+2, func(int) int { return 1 })
	negative[n+1] = -1
	unknown := comm.Min + 1
	scatter := func(dst, src device.Buf, counts []int, op comm.Op) func() error {
		return func() error { return c.ReduceScatter(dst, src, counts, op) }
	}
	gather := func(dst, src device.Buf, counts []int) func() error {
		return func() error { return c.AllGather(dst, src, counts) }
	}
	send := func(out device.Buf, to int, in device.Buf, from int) func() error {
		return func() error { return c.SendRecv(out, to, in, from) }
	}
	start := func(x device.Buf, op comm.Op) func() error {
		return func() error { _, err := c.StartAllReduce(x, op); return err }
	}
	for _, wrong := range []struct {
		what string
		call func() error
	}{
		{"all-reduce: max of complex", func() error { return c.AllReduce(z, comm.Max) }},
		{"all-reduce: unknown operation", func() error { return c.AllReduce(x, unknown) }},
		{"start: min of complex", start(z, comm.Min)},
		{"start: unknown operation", start(x, unknown)},
		{"reduce: max of complex", func() error { return c.Reduce(z, comm.Max, 0) }},
		{"reduce: negative root", func() error { return c.Reduce(x, comm.Sum, -1) }},
		{"reduce: root beyond", func() error { return c.Reduce(x, comm.Sum, n) }},
		{"all-gather: too many counts", gather(x, one, append([]int{0}, ones...))},
		{"all-gather: negative count", gather(x, one, negative)},
		{"all-gather: counts and whole", gather(x.Slice(0, n-1), one, ones)},
		{"all-gather: counts and part", gather(x, x.Slice(0, 0), ones)},
		{"all-gather: two types", gather(z, one, ones)},
		{"reduce-scatter: too many counts", scatter(one, x, append([]int{0}, ones...), comm.Sum)},
		{"reduce-scatter: counts and whole", scatter(one, x.Slice(0, n-1), ones, comm.Sum)},
		{"reduce-scatter: counts and part", scatter(x.Slice(0, 0), x, ones, comm.Sum)},
		{"reduce-scatter: two types", scatter(one, z, ones, comm.Sum)},
		{"reduce-scatter: max of complex", scatter(z.Slice(0, 1), z, ones, comm.Max)},
		{"reduce-scatter: unknown operation", scatter(one, x, ones, unknown)},
		{"send: rank beyond", send(one, n, nil, comm.None)},
		{"receive: rank beyond", send(nil, comm.None, one, n)},
		{"send: negative rank", send(one, -2, nil, comm.None)},
		{"send: no buffer", send(nil, 0, nil, comm.None)},
		{"receive: buffer from no rank", send(nil, comm.None, one, comm.None)},
		{"host all-reduce: unknown operation", func() error { return c.Host().AllReduce([]float64{1}, unknown) }},
	} {
		if wrong.call() == nil {
			return fmt.Errorf("%s: no error", wrong.what)
		}
	}
	return agree(c)
}
