package kirchhoff

import (
	"context"
	"math"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
)

// slack makes bounds hold for sums in float32 of as many terms as a box has points.
const slack = 1.01

// peak returns the largest weight that p's operator may give a sample: the largest
// b_s b_r, times the largest |p_s + p_r| in 3-D, of any trace and box of tiles. It
// follows from the geometry alone, so it is the same however traces and slabs are
// shared out, if the largest over all shares is taken.
func peak(ctx context.Context, p *Problem, t *tiling) (float64, error) {
	most := slack
	if p.T0 > 0 {
		most *= 3 // |1 − w| + |w| for times before the first sample, see the package comment
	}
	if !p.Dynamic {
		return most, nil
	}
	if p.Grid.Dim() == 3 {
		most *= 2
	}
	b := make([][]float64, p.Positions.Len()) // largest in each box, by place
	w := newWeights(p)
	places := p.usedPlaces()
	err := parallel(ctx, p.threads(), len(places), func(_, i int) (err error) {
		b[places[i]], err = w.largest(places[i], t)
		return err
	})
	if err != nil {
		return 0, err
	}
	largest := make([]float64, len(t.boxes))
	err = parallel(ctx, p.threads(), len(t.boxes), func(_, box int) error {
		for i, s := range p.Positions.Source {
			largest[box] = max(largest[box], b[s][box]*b[p.Positions.Receiver[i]][box])
		}
		return nil
	})
	at := 0.0
	for _, v := range largest {
		at = max(at, v)
	}
	return most * at, err
}

// largest returns a bound on the spreading |b| of a place in each box. Where given
// factors are no number the result of an application will tell.
func (w *weights) largest(place int, t *tiling) ([]float64, error) {
	out := make([]float64, len(t.boxes))
	if w.p.Amplitude == nil {
		for i, b := range t.boxes {
			out[i] = w.decay(b.distance(w.p.Grid, w.p.Positions.At(place)))
		}
		return out, nil
	}
	given := make([]float64, w.p.Grid.Len())
	if err := w.spreading(given, place); err != nil {
		return nil, err
	}
	given = given[t.first:]
	for i, b := range t.boxes {
		for tile := b.tile; tile < t.end(i); tile++ {
			for _, n := range t.slots(tile) {
				if v := math.Abs(given[source(n)]); v > out[i] && !math.IsInf(v, 0) {
					out[i] = v
				}
			}
		}
	}
	return out, nil
}

// distance is the least distance, in m, from a place to the box that holds b's points.
func (b box) distance(g grid.Grid, at []float64) float64 {
	sum := 0.0
	for a, x := range at {
		axis := a + 3 - g.Dim()
		d := max(0, g.Coord(a, b.lo[axis])-x, x-g.Coord(a, b.hi[axis]-1))
		sum += d * d
	}
	return math.Sqrt(sum)
}

// Peak implements dist.Pieced. The image's share of the weights, 2/v, is not in it.
func (w *workspace) Peak() float64 { return w.peak }

// Bound implements dist.Pieced. In the adjoint it returns, for each shot (neighbouring
// traces of one source place), the sum of the largest samples of its correlated
// traces; in the forward, for each slab of SlabPoints, the sum of the image's
// absolute values times 2/v. What it finds out about the adjoint's source is kept for
// Begin: if that comes next, the source must be as it was.
func (c *CPU) Bound(d dist.Direction, src device.Buf) ([]float64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := device.Slice[float32](src)
	if d == dist.Forward {
		return c.boundImage(x), nil
	}
	largest := make([]float64, c.p.NumTraces())
	if err := c.correlateAll(context.Background(), x, largest); err != nil {
		return nil, err
	}
	c.ready = x
	return c.shots(largest), nil
}

// Bound implements dist.Pieced, as CPU.Bound does.
func (r *Recompute) Bound(d dist.Direction, src device.Buf) ([]float64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := device.Slice[float32](src)
	if d == dist.Forward {
		return r.boundImage(x), nil
	}
	row := make([]float32, r.threads*r.stride)
	largest := make([]float64, r.p.NumTraces())
	err := parallel(context.Background(), r.threads, len(largest), func(worker, trace int) error {
		to := row[worker*r.stride : worker*r.stride+r.p.NT]
		r.correlateTrace(worker, to, x, trace)
		largest[trace] = r.isa.Largest(to)
		return nil
	})
	return r.shots(largest), err
}

// shots adds up the numbers of each shot's traces.
func (w *workspace) shots(trace []float64) []float64 {
	var out []float64
	for i, v := range trace {
		if i == 0 || w.p.Positions.Source[i] != w.p.Positions.Source[i-1] {
			out = append(out, 0)
		}
		out[len(out)-1] += v
	}
	return out
}

func (w *workspace) boundImage(image []float32) []float64 {
	size := SlabPoints(w.p.Grid.Dim()) * w.p.plane()
	var out []float64
	for lo := 0; lo < len(image); lo += size {
		sum := 0.0
		for i := lo; i < min(lo+size, len(image)); i++ {
			v := image[i]
			if w.scale != nil {
				v *= w.scale[i]
			}
			sum += math.Abs(float64(v))
		}
		out = append(out, sum)
	}
	return out
}
