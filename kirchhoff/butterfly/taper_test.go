package butterfly

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// TestTaper: the products of a pair that the taper crosses add up to the aperture's weight of every
// trace at every point, as near as their share of the tolerance.
func TestTaper(t *testing.T) {
	p := carpet(t, 8, 25, 700, []int{64, 32, 16})
	p.Aperture, p.ApertureTaper = []float64{450, 340}, []float64{80, 80}
	const tolerance = 1e-2
	o, _ := outline(p, kirchhoff.Outline(p), NewClusters(p, tolerance), tolerance)
	tapered := 0
	for i, list := range o.pairs {
		w := o.windows[i]
		for _, at := range list {
			if !at.full() {
				tapered++
			}
			if e := o.weightsOff(w, at.block, at.reach); e > shareTaper*tolerance {
				t.Errorf("window %v, block %d: weights off by %.2e, of %d terms", w.lo, at.number, e, len(at.terms))
			}
		}
	}
	if tapered == 0 {
		t.Error("no pair has a taper")
	}
}

// weightsOff is the rms error of the terms of a pair, relative to the weights, for each 19th trace.
func (o *Operator) weightsOff(w *window, b *block, r *reach) float64 {
	p, all := &o.problem, &patchOf{n: w.n}
	sums := map[int][]float32{}
	for i := 0; i < len(b.traces); i += 19 {
		sums[i] = make([]float32, w.len())
	}
	for _, term := range r.terms {
		ones := make([]float32, w.len())
		for i := range ones {
			ones[i] = 1
		}
		weights := o.taper(b, r, term)
		weights.weigh(ones, all)
		for i, sum := range sums {
			v := float32(1)
			if weights != nil {
				v = weights.traces[b.slots[i]]
			}
			for k, x := range ones {
				sum[k] += v * x
			}
		}
	}
	diff, norm := 0.0, 0.0
	for i, sum := range sums {
		trace := b.traces[i]
		s, e := p.Positions.At(int(p.Positions.Source[trace])), p.Positions.At(int(p.Positions.Receiver[trace]))
		for k, got := range sum {
			x, y := w.lo[0]+k/w.n[2]/w.n[1], w.lo[1]+k/w.n[2]%w.n[1]
			want := tapered(p.Grid.Coord(0, x)-0.5*(s[0]+e[0]), p.Aperture[0], p.ApertureTaper[0]) *
				tapered(p.Grid.Coord(1, y)-0.5*(s[1]+e[1]), p.Aperture[1], p.ApertureTaper[1])
			diff += (float64(got) - want) * (float64(got) - want)
			norm += want * want
		}
	}
	return math.Sqrt(diff / norm)
}
