package dist_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// reaching is a band matrix on a number of ranks. Each rank has some rows, holds a part of
// the image and reaches more of it: all columns in which its rows are not zero.
type reaching struct {
	whole       [][]float64
	starts      []int // columns at which units begin, and their number
	rows        []int // at which the ranks' rows begin, and their number
	held, reach [][2]int
}

// newReaching draws one. Some ranks may hold nothing.
func newReaching(r *rand.Rand, ranks int) *reaching {
	p := &reaching{starts: []int{0}}
	for range 1 + r.IntN(9) {
		p.starts = append(p.starts, p.starts[len(p.starts)-1]+1+r.IntN(5))
	}
	units := len(p.starts) - 1
	cuts := []int{0, units}
	p.rows = []int{0, 4 * ranks}
	for i := range ranks - 1 {
		cuts, p.rows = append(cuts, r.IntN(units+1)), append(p.rows, 4*i+4)
	}
	slices.Sort(cuts)
	slices.Sort(p.rows)
	p.whole = Random(r.Uint64(), 4*ranks, p.starts[units])
	for rank := range ranks {
		lo, hi := cuts[rank], cuts[rank+1]
		p.held = append(p.held, [2]int{p.starts[lo], p.starts[hi]})
		lo, hi = max(0, lo-r.IntN(4)), min(units, hi+r.IntN(4))
		p.reach = append(p.reach, [2]int{p.starts[lo], p.starts[hi]})
		for _, row := range p.whole[p.rows[rank]:p.rows[rank+1]] {
			for i := range row {
				if i < p.starts[lo] || i >= p.starts[hi] {
					row[i] = 0
				}
			}
		}
	}
	return p
}

// of are the elements at which units begin from lo to hi.
func (p *reaching) of(lo, hi int) (units []int) {
	for _, at := range p.starts {
		if at >= lo && at <= hi {
			units = append(units, at)
		}
	}
	return units
}

// between are the numbers [lo, hi) of a range.
func between(r [2]int) (list []int) {
	for i := r[0]; i < r[1]; i++ {
		list = append(list, i)
	}
	return list
}

func shifted(list []int, by int) []int {
	out := []int{}
	for _, v := range list {
		out = append(out, v-by)
	}
	return out
}

// on is the operator on this rank.
func (p *reaching) on(c comm.Comm, t device.Type, o dist.LiftOptions, change func(*Matrix)) (op dist.Operator, err error) {
	layout := func(n int, part [2]int, units []int) *dist.Layout {
		l := dist.Local(t, n)
		l.Off, l.N, l.Units = part[0], part[1]-part[0], shifted(units, part[0])
		l.Shards = c
		return l
	}
	me := c.Rank()
	held, reach := p.held[me], p.reach[me]
	rows := [2]int{p.rows[me], p.rows[me+1]}
	inside := p.of(reach[0], reach[1])
	o.Reach = &dist.Reach{Off: reach[0], N: reach[1] - reach[0], Units: inside, Sums: shifted(inside, reach[0])}
	units := p.of(held[0], held[1])
	image := layout(len(p.whole[0]), held, units[:len(units)-1])
	data := layout(len(p.whole), rows, between(rows))
	k := Block(p.whole, data, layout(len(p.whole[0]), reach, inside[:len(inside)-1]), 1, 1)
	change(k)
	return dist.LiftWith(o, image, data, k)
}

// An operator whose ranks reach what others hold is the whole operator, and exact sums have
// the bits of one rank.
func TestReach(t *testing.T) {
	for seed := range uint64(12) {
		ranks := 1 + int(seed)%5
		for _, exact := range []bool{true, false} {
			for _, overlap := range []bool{true, false} {
				element := []device.Type{device.F32, device.F64}[seed%2]
				p := newReaching(rand.New(rand.NewPCG(seed, 4)), ranks)
				x, y := vector(seed, len(p.whole[0])), vector(seed+100, len(p.whole))
				var alone, many [2][]float64
				o := dist.LiftOptions{Exact: exact, Overlap: overlap}
				run := func(p *reaching, ranks int, to *[2][]float64) {
					t.Helper()
					must(t, commtest.Ranks(ranks, func(c comm.Comm) error {
						op, err := p.on(c, element, o, func(*Matrix) {})
						if err != nil {
							return err
						}
						if e, err := dist.DotTest(ctx, device.NewHost(1), op, seed); err != nil || !(e < 1e-6) {
							return fmt.Errorf("dot test %g, %v", e, err)
						}
						results, err := both(op, x, y)
						if err == nil && c.Rank() == 0 {
							*to = results
						}
						return err
					}))
				}
				one := *p
				one.rows, one.held = []int{0, len(p.whole)}, [][2]int{{0, len(p.whole[0])}}
				one.reach = one.held
				run(&one, 1, &alone)
				run(p, ranks, &many)
				dense := [2][]float64{make([]float64, len(y)), make([]float64, len(x))}
				for i, row := range p.whole {
					for j, a := range row {
						dense[0][i] += a * x[j]
						dense[1][j] += a * y[i]
					}
				}
				for d := range dense {
					for i, want := range dense[d] {
						if math.Abs(many[d][i]-want) > 1e-4 {
							t.Fatalf("seed %d, %s: element %d is %v, want %v", seed, dist.Direction(d), i, many[d][i], want)
						}
					}
					if exact && !slices.Equal(alone[d], many[d]) {
						t.Fatalf("seed %d, %s: %d ranks have other bits than one", seed, dist.Direction(d), ranks)
					}
				}
			}
		}
	}
}

// vector draws the elements of a vector.
func vector(seed uint64, n int) []float64 { return Random(seed, 1, n)[0] }

// both is what an operator makes of an image, and its adjoint of data, each gathered. The
// second time finds what the first has left behind.
func both(op dist.Operator, x, y []float64) (out [2][]float64, err error) {
	for range 2 {
		for d, v := range [2][]float64{x, y} {
			from, to, apply := op.Domain(), op.Range(), op.Apply
			if d == 1 {
				from, to, apply = to, from, op.ApplyAdjoint
			}
			src, err := Vector(from, v)
			if err != nil {
				return out, err
			}
			dst, err := dist.NewVector(device.NewHost(1), to)
			if err != nil {
				return out, err
			}
			if err := apply(ctx, dst, src); err != nil {
				return out, err
			}
			if out[d], err = Whole(dst); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// Only ranks whose parts and reaches overlap send anything.
func TestReachSendsToNeighbours(t *testing.T) {
	p := &reaching{starts: []int{0, 10, 20, 30, 40}, rows: []int{0, 1, 2, 3, 4}, whole: Random(1, 4, 40)}
	for rank := range 4 {
		p.held = append(p.held, [2]int{10 * rank, 10*rank + 10})
		p.reach = append(p.reach, [2]int{max(0, 10*rank-10), 10*rank + 10}) // and what the rank before holds
	}
	must(t, commtest.Ranks(4, func(c comm.Comm) error {
		var times []dist.Times
		op, err := p.on(c, device.F32, dist.LiftOptions{Exact: true, Observe: func(t dist.Times) { times = append(times, t) }}, func(*Matrix) {})
		if err != nil {
			return err
		}
		if _, err := both(op, vector(1, 40), vector(2, 4)); err != nil {
			return err
		}
		// The forward sends 10 elements of 4 bytes to the rank after, the adjoint as many
		// sums of 8 bytes to the rank before.
		up, down := 1, 1
		if c.Rank() == 3 {
			up = 0
		}
		if c.Rank() == 0 {
			down = 0
		}
		for i, want := range [][2]int{{up, 40 * up}, {down, 80 * down}} {
			if got := times[i]; got.Pieces != want[0] || got.Bytes != int64(want[1]) {
				return fmt.Errorf("rank %d, %s: %d messages of %d bytes, want %v", c.Rank(), got.Direction, got.Pieces, got.Bytes, want)
			}
		}
		return nil
	}))
}

// What is lost on one rank is lost on all, and so is an error of a bound.
func TestReachOfNaN(t *testing.T) {
	p := newReaching(rand.New(rand.NewPCG(3, 4)), 3)
	must(t, commtest.Ranks(3, func(c comm.Comm) error {
		op, err := p.on(c, device.F64, dist.LiftOptions{Exact: true}, func(*Matrix) {})
		if err != nil {
			return err
		}
		x := vector(1, len(p.whole[0]))
		x[0] = math.NaN()
		out, err := both(op, x, vector(2, len(p.whole)))
		if err == nil && slices.ContainsFunc(out[0], func(v float64) bool { return !math.IsNaN(v) }) {
			err = fmt.Errorf("of an image with a NaN: %v", out[0])
		}
		return err
	}))
	errs := commtest.Ranks(3, func(c comm.Comm) error {
		op, err := p.on(c, device.F64, dist.LiftOptions{Exact: true}, func(m *Matrix) {
			if c.Rank() == 1 {
				m.BoundError = fmt.Errorf("no bound")
			}
		})
		if err != nil {
			return err
		}
		_, err = both(op, vector(1, len(p.whole[0])), vector(2, len(p.whole)))
		if err == nil {
			return fmt.Errorf("rank %d has no error", c.Rank())
		}
		return nil
	})
	must(t, errs)
}
