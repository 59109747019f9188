package bench

import (
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// collective is one operation that can be timed. Those in place work on out,
// which then begins as a copy of in.
type collective struct {
	name    string
	redop   string
	root    int
	result  result
	dealt   bool                    // each rank brings a part of the whole array
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
	gathered               // the ranks' parts behind each other
)

// On n ranks each element of an all-reduce takes at least 2(n−1) transfers, of an
// all-gather n−1, spread over n ranks that all send at once; all of a broadcast
// leaves the root.
func bothWays(n float64) float64 { return 2 * (n - 1) / n }
func oneWay(n float64) float64   { return (n - 1) / n }
func fromRoot(n float64) float64 {
	if n == 1 {
		return 0 // nothing leaves
	}
	return 1
}

var collectives = []collective{
	{name: "all-reduce", redop: "sum", root: comm.None, result: sums, bus: bothWays,
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error { return c.AllReduce(out) }},
	{name: "start-all-reduce", redop: "sum", root: comm.None, result: sums, bus: bothWays,
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error {
			r, err := c.StartAllReduce(out)
			if err != nil {
				return err
			}
			return r.Wait()
		}},
	{name: "accumulate", redop: "sum", root: comm.None, result: sums, bus: bothWays,
		offered: func(c comm.Comm) bool { _, ok := c.(comm.OneSided); return ok },
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error {
			return c.(comm.OneSided).Accumulate(out)
		}},
	{name: "all-gather", redop: "none", root: comm.None, result: gathered, dealt: true, bus: oneWay,
		run: func(c comm.Comm, out, in device.Buf, counts []int) error { return c.AllGather(out, in, counts) }},
	{name: "broadcast", redop: "none", root: 0, result: copies, bus: fromRoot,
		run: func(c comm.Comm, out, _ device.Buf, _ []int) error { return c.Bcast(out, 0) }},
}
