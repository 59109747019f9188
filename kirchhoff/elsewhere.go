package kirchhoff

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Elsewhere sums some pairs of a trace and a box of image points in the place of an engine, in another
// way, with all their weights but for Plan.Scale.
type Elsewhere interface {
	// Sums reports whether the traces from a source to a receiver, both numbers of places in the
	// problem's Positions, are summed here at the points of a box, its number in Plan.Boxes. It is
	// called often and concurrently, and must say the same of a pair all through an application.
	Sums(source, receiver int32, box int) bool

	// Forward hands the traces of an image, [tile][64], to add, each once at most. They are [NT],
	// sampled as the data whatever Problem.Finer, band-limited and not yet convolved with the
	// wavelet's taps. Up to Problem.Threads workers call it at once.
	Forward(ctx context.Context, image []float32, add func(worker, trace int, u []float32)) error
	// Adjoint adds the image of the traces to sums, [tile][64]. load sets to, [NT], to a trace that is
	// correlated with the wavelet's taps. With a quantum other than 0 sums are exact, see
	// dist.Pieced: of units that depend on the whole problem alone, which a part of it has all of or
	// nothing. An error says that a unit is larger than MostElsewhere times the sum of the largest
	// samples of its traces.
	Adjoint(ctx context.Context, sums []float64, quantum float64, load func(worker, trace int, to []float32)) error
}

// MostElsewhere is how many times larger what is summed elsewhere may be than what linear
// interpolation makes of the same samples. The waves between samples may be larger than these.
const MostElsewhere = 16

// Renumbered returns e for positions that hold some places of those of e; from are their numbers there.
func Renumbered(e Elsewhere, from []int32) Elsewhere { return renumbered{e, from} }

// Switch is an Elsewhere that can be turned off between applications: the engine then sums all pairs itself.
// It must be off while the engine is made, which has tables for all pairs then.
type Switch struct {
	Elsewhere
	Off bool
}

// Sums implements Elsewhere.
func (s *Switch) Sums(source, receiver int32, box int) bool {
	return !s.Off && s.Elsewhere.Sums(source, receiver, box)
}

// Forward implements Elsewhere.
func (s *Switch) Forward(ctx context.Context, image []float32, add func(worker, trace int, u []float32)) error {
	if s.Off {
		return nil
	}
	return s.Elsewhere.Forward(ctx, image, add)
}

// Adjoint implements Elsewhere.
func (s *Switch) Adjoint(ctx context.Context, sums []float64, quantum float64, load func(worker, trace int, to []float32)) error {
	if s.Off {
		return nil
	}
	return s.Elsewhere.Adjoint(ctx, sums, quantum, load)
}

// forwardElsewhere adds to the data what is summed elsewhere of the image in tiles.
func (k *kernel) forwardElsewhere(ctx context.Context, data []float32) error {
	if k.Own.Elsewhere == nil {
		return nil
	}
	return k.Own.Elsewhere.Forward(ctx, k.image32.S, func(worker, trace int, u []float32) {
		k.exits[worker].convolve(k.isa, k.row(data, trace), u)
	})
}

// adjointElsewhere adds to the sums of all tiles what is summed elsewhere of the data.
func (k *kernel) adjointElsewhere(ctx context.Context, data []float32, quantum float64) error {
	if k.Own.Elsewhere == nil {
		return nil
	}
	return k.Own.Elsewhere.Adjoint(ctx, k.image64.S, quantum, func(worker, trace int, to []float32) {
		k.exits[worker].correlate(k.isa, to, k.row(data, trace))
	})
}

// exit is a thread's room for traces between the data and what is summed elsewhere.
type exit struct {
	forward, backward *Filter
	made, data        padded
}

func newExit(p *Problem, m *memory) (x exit) {
	taps := p.Taps()
	x.forward, x.backward = newFilters(taps.Samples, taps.Zero, p.NT)
	x.made, x.data = x.forward.padded(m, p.NT), x.backward.padded(m, p.NT)
	return x
}

// convolve adds what u becomes to a trace of the data.
func (x *exit) convolve(isa simd.ISA, to, u []float32) {
	copy(x.made.trace, u)
	x.forward.apply(isa, to, x.made, true)
}

// correlate sets to to a correlated trace of the data.
func (x *exit) correlate(isa simd.ISA, to, trace []float32) {
	copy(x.data.trace, trace)
	x.backward.apply(isa, to, x.data, false)
}

// renumbered is an Elsewhere for positions that hold some places of others.
type renumbered struct {
	Elsewhere
	from []int32 // number of each place in the others
}

func (r renumbered) Sums(source, receiver int32, box int) bool {
	return r.Elsewhere.Sums(r.from[source], r.from[receiver], box)
}

// here says which traces of a problem are not summed elsewhere in which boxes.
type here struct {
	*Problem
	near       []columnRange // of boxes, of each trace
	wide, deep int           // boxes along the last two axes
}

func newHere(p *Problem, t *Tiling) *here {
	columns, tapers := t.columns(), p.tapers()
	h := &here{Problem: p, near: make([]columnRange, p.NumTraces()), wide: len(columns[1]), deep: len(t.Boxes) / (len(columns[0]) * len(columns[1]))}
	for i, source := range p.Positions.Source {
		h.near[i] = p.inside(&tapers, &columns, source, p.Positions.Receiver[i])
	}
	return h
}

// sums reports whether a trace may count in a box and is not summed elsewhere.
func (h *here) sums(trace, box int) bool {
	r, x, y := &h.near[trace], int32(box/h.deep/h.wide), int32(box/h.deep%h.wide)
	return r.lo[0] <= x && x < r.hi[0] && r.lo[1] <= y && y < r.hi[1] &&
		!h.Elsewhere.Sums(h.Positions.Source[trace], h.Positions.Receiver[trace], box)
}

// tracesHere lists the traces of p, ascending, of which something may be summed here.
func tracesHere(p *Problem, t *Tiling) (list []int32) {
	all := count(p.NumTraces())
	if p.Elsewhere == nil || len(t.Boxes) == 0 {
		return all
	}
	h := newHere(p, t)
	return slices.DeleteFunc(all, func(trace int32) bool {
		for box := range t.Boxes {
			if h.sums(int(trace), box) {
				return false
			}
		}
		return true
	})
}

// coverHere returns, for each box, the places of the traces that count there and are not summed
// elsewhere, ascending.
func coverHere(p *Problem, t *Tiling) [][]int32 {
	out := make([][]int32, len(t.Boxes))
	if len(out) == 0 {
		return out
	}
	h, used := newHere(p, t), make([]bool, p.Positions.Len())
	for box := range out {
		for i, source := range p.Positions.Source {
			if h.sums(i, box) {
				used[source], used[p.Positions.Receiver[i]] = true, true
			}
		}
		for place, u := range used {
			if u {
				out[box] = append(out[box], int32(place))
			}
		}
		clear(used)
	}
	return out
}

// anywhere returns those of the places that have a table in some box.
func (c *cover) anywhere(places []int) []int {
	if c.places == nil {
		return places
	}
	has := make([]bool, c.all)
	for _, list := range c.places {
		for _, place := range list {
			has[place] = true
		}
	}
	return slices.DeleteFunc(places, func(place int) bool { return !has[place] })
}
