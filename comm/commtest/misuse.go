package commtest

import (
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// misuse makes wrong calls on all ranks. Each must return an error on every rank and send
// nothing, so that the ranks are still in step afterwards.
func misuse(c comm.Comm) {
	n := c.Size()
	x, z := buffer(device.F32, 0, 0, n), buffer(device.F64, 0, 0, n)
	one := buffer(device.F32, 0, 0, 1)
	ones := fill(n, func(int) int { return 1 })
	negative := fill(n+2, func(int) int { return 1 })
	negative[n+1] = -1
	gather := func(dst, src device.Buf, counts []int) func() error {
		return func() error { return c.AllGather(dst, src, counts) }
	}
	send := func(out device.Buf, to int, in device.Buf, from int) func() error {
		return func() error { return c.SendRecv(out, to, in, from) }
	}
	for _, wrong := range []struct {
		what string
		call func() error
	}{
		{"all-gather: too many counts", gather(x, one, append([]int{0}, ones...))},
		{"all-gather: negative count", gather(x, one, negative)},
		{"all-gather: counts and whole", gather(x.Slice(0, n-1), one, ones)},
		{"all-gather: counts and part", gather(x, x.Slice(0, 0), ones)},
		{"all-gather: two types", gather(z, one, ones)},
		{"send: rank beyond", send(one, n, nil, comm.None)},
		{"receive: rank beyond", send(nil, comm.None, one, n)},
		{"send: negative rank", send(one, -2, nil, comm.None)},
		{"send: no buffer", send(nil, 0, nil, comm.None)},
		{"receive: buffer from no rank", send(nil, comm.None, one, comm.None)},
		{"host all-reduce: unknown operation", func() error { return c.Host().AllReduce([]float64{1}, comm.Max+1) }},
	} {
		if wrong.call() == nil {
			failf("%s: no error", wrong.what)
		}
	}
	agree(c)
}
