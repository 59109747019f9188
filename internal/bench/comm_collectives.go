package bench

import (
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// collective is one operation that can be timed. Those in place work on out,
// which then begins as a copy of in.
type collective struct {
	name    string
	root    int
	result  result
	bus     func(n float64) float64 // bus bandwidth over algorithm bandwidth on n ranks
	offered func(c comm.Comm) bool  // nil: by every communicator
	run     func(c comm.Comm, out, in device.Buf, counts []int) error
}

// by tells whether a communicator has it.
func (o collective) by(c comm.Comm) bool { return o.offered == nil || o.offered(c) }

// result is what out holds afterwards.
type result uint8

const (
	sums     result = iota // the sum of all ranks' arrays, in place
	copies                 // the root's array, in place
	gathered               // the parts that the ranks brought, one behind the other
)

// On n ranks each element of an all-reduce takes at least 2(n−1) transfers, of an
// all-gather n−1, spread over n ranks that all send at once; all of a broadcast
// leaves the root, unless it is alone.
func bothWays(n float64) float64 { return 2 * (n - 1) / n }
func oneWay(n float64) float64   { return (n - 1) / n }
func fromRoot(n float64) float64 { return min(1, n-1) }

var collectives = []collective{
	{name: "all-reduce", root: comm.None, result: sums, bus: bothWays,
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error { return c.AllReduce(out) }},
	{name: "start-all-reduce", root: comm.None, result: sums, bus: bothWays,
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error {
			r, err := c.StartAllReduce(out)
			if err != nil {
				return err
			}
			return r.Wait()
		}},
	{name: "accumulate", root: comm.None, result: sums, bus: bothWays,
		offered: func(c comm.Comm) bool { _, ok := c.(comm.OneSided); return ok },
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error {
			return c.(comm.OneSided).Accumulate(out)
		}},
	{name: "all-gather", root: comm.None, result: gathered, bus: oneWay,
		run: func(c comm.Comm, out, in device.Buf, counts []int) error { return c.AllGather(out, in, counts) }},
	{name: "broadcast", root: 0, result: copies, bus: fromRoot,
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error { return c.Bcast(out, 0) }},
}
