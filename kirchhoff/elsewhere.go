package kirchhoff

import (
	"context"
	"slices"
)

// Elsewhere sums some pairs of a trace and a box of image points in the place of an engine, in another
// way. Whatever it sums has the aperture's full weight and no other.
type Elsewhere interface {
	// Sums reports whether the traces from a source to a receiver, both numbers of places in the
	// problem's Positions, are summed here at the points of a box, its number in Plan.Boxes. It is
	// called often and concurrently, and must always say the same of a pair.
	Sums(source, receiver int32, box int) bool

	// Forward hands the traces of an image, [tile][64], to add, each once at most. They are
	// [Plan.Samples] and not yet convolved with the wavelet. Up to Problem.Threads workers call it
	// at once.
	Forward(ctx context.Context, image []float32, add func(worker, trace int, u []float32)) error
	// Adjoint adds the image of the traces to sums, [tile][64]. load sets to, [Plan.Samples], to a trace
	// that is correlated with the wavelet. With a quantum other than 0 sums are exact, see
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

// forwardElsewhere adds to the data what is summed elsewhere of the image in tiles.
func (k *kernel) forwardElsewhere(ctx context.Context, data []float32) error {
	if k.Own.Elsewhere == nil {
		return nil
	}
	return k.Own.Elsewhere.Forward(ctx, k.image32.S, func(worker, trace int, u []float32) {
		copy(k.crossings[worker].trace, u)
		k.addTrace(worker, data, trace)
	})
}

// adjointElsewhere adds to the sums of all tiles what is summed elsewhere of the data.
func (k *kernel) adjointElsewhere(ctx context.Context, data []float32, quantum float64) error {
	if k.Own.Elsewhere == nil {
		return nil
	}
	return k.Own.Elsewhere.Adjoint(ctx, k.image64.S, quantum, func(worker, trace int, to []float32) {
		if k.kept != nil { // the lists of all traces, which have just correlated them
			copy(to, k.kept.rows.S[trace*k.kept.op.Pitch():])
			return
		}
		k.correlateTrace(worker, to, k.row(data, trace))
	})
}

// renumbered is an Elsewhere for positions that hold some places of others.
type renumbered struct {
	Elsewhere
	from []int32 // number of each place in the others
}

func (r renumbered) Sums(source, receiver int32, box int) bool {
	return r.Elsewhere.Sums(r.from[source], r.from[receiver], box)
}

// coverHere returns, for each box, the places of the traces that count there and are not summed
// elsewhere, ascending.
func coverHere(p *Problem, t *Tiling) [][]int32 {
	out := make([][]int32, len(t.Boxes))
	if len(out) == 0 {
		return out
	}
	columns, tapers := t.columns(), p.tapers()
	near := make([]columnRange, p.NumTraces())
	for i, source := range p.Positions.Source {
		near[i] = p.inside(&tapers, &columns, source, p.Positions.Receiver[i])
	}
	wide := len(columns[1])
	deep := len(out) / (len(columns[0]) * wide)
	used := make([]bool, p.Positions.Len())
	for box := range out {
		x, y := int32(box/deep/wide), int32(box/deep%wide)
		for i, source := range p.Positions.Source {
			r, receiver := &near[i], p.Positions.Receiver[i]
			inside := r.lo[0] <= x && x < r.hi[0] && r.lo[1] <= y && y < r.hi[1]
			if inside && !p.Elsewhere.Sums(source, receiver, box) {
				used[source], used[receiver] = true, true
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
