package kirchhoff

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Directed reports whether weights differ from point to point, as they do with the rays' directions: with
// Dynamic, or limits of dip or opening angle. With several branches they say which arrivals there are.
func (p *Problem) Directed() bool { return p.Dynamic || p.limited() || p.several() }

// weights computes the factors of the weight that belong to one place. Without
// Dynamic an amplitude is 1, or 0 where a ray has no direction.
type weights struct {
	p *Problem
	Fading
}

// Fading says how the weight of a place falls with the distance and the angle of a ray, see
// the package comment: by ε, and from the angle Lo to Hi by Taper.
type Fading struct {
	Stabiliser float64 // ε, m
	Lo, Hi     float64 // radians
	Taper      [21]float64
}

// Fading returns that of the problem.
func (p *Problem) Fading() Fading {
	w := Fading{Hi: 1000 * math.Pi / 180}
	if !p.Dynamic {
		w.Lo, w.Hi = math.Inf(1), math.Inf(1)
	} else if p.AngleLimit != nil {
		w.Lo, w.Hi = p.AngleLimit[0]*math.Pi/180, p.AngleLimit[1]*math.Pi/180
	}
	s, r := MaxDistance(p.Grid, p.Positions)
	w.Stabiliser = 0.01 * (cmp.Or(p.MaxDistance[0], s) + cmp.Or(p.MaxDistance[1], r))
	w.Taper[0] = 1
	for j := 1; j <= 20; j++ {
		w.Taper[j] = 0.5 - 0.5*math.Cos(math.Pi*float64(20-j)/19)
	}
	return w
}

func newWeights(p *Problem) *weights { return &weights{p, p.Fading()} }

// taperAngle returns the taper at an angle of a radians from the vertical.
func (w *weights) taperAngle(a float64) float64 { return w.taperBetween(math.Abs(a), w.Lo, w.Hi) }

// taperBetween returns the taper that starts at lo and cuts at hi.
func (w *weights) taperBetween(a, lo, hi float64) float64 {
	if !(a < hi) { // a NaN is dropped
		return 0
	}
	if a >= lo {
		return w.Taper[min(20, int(20*(a-lo)/(hi-lo)))]
	}
	return 1
}

// slowness holds the inputs of the weights from one place, at every image point.
type slowness struct {
	amp   []float64    // b · taper; zero where the place drops the pair
	angle []float64    // 2-D: a, radians
	unit  [3][]float64 // 3-D: ∇t/|∇t|; 2-D: scratch; of unequal slownesses c ∇t in both
	ray   [3][]float64 // of unequal slownesses: scratch for the directions of rays
}

// newSlowness makes a slowness from arrays that take returns, zeroed.
func newSlowness(p *Problem, take func() []float64) (s slowness) {
	s.amp = take()
	vectors := p.Grid.Dim()
	if angular(p) {
		s.angle = take()
	} else {
		vectors = 3
	}
	for a := range vectors {
		s.unit[a] = take()
		if unequal(p) && p.Dynamic {
			s.ray[a] = take()
		}
	}
	return s
}

// fillFrom fills s from an arrival of a place, at the points of a window.
func (w *weights) fillFrom(s *slowness, place int, window traveltime.Window, b traveltime.Branch) error {
	g := window.Grid(w.p.Grid)
	n, dim := g.Len(), g.Dim()
	if err := w.spreading(s.amp[:n], place, window, b); err != nil {
		return err
	}
	grad := slices.Clone(s.unit[:dim])
	if unequal(w.p) {
		grad = w.axes(s.unit)
	}
	for a := range grad {
		grad[a] = grad[a][:n]
	}
	fillGradient(grad, b, g)
	if unequal(w.p) {
		w.vectors(s, place, window, n)
		return nil
	}
	if dim == 2 {
		for i := range n {
			s.angle[i] = math.Atan2(grad[0][i], grad[1][i])
			s.amp[i] *= w.taperAngle(s.angle[i])
		}
		return nil
	}
	for i := range n {
		x, y, z := grad[0][i], grad[1][i], grad[2][i]
		norm := math.Sqrt(x*x + y*y + z*z)
		if !(norm > 0) || math.IsInf(norm, 0) { // no direction, or a neighbour is unreachable
			grad[0][i], grad[1][i], grad[2][i], s.amp[i] = 0, 0, 0, 0
			continue
		}
		grad[0][i], grad[1][i], grad[2][i] = x/norm, y/norm, z/norm
		s.amp[i] *= w.taperAngle(math.Acos(min(1, max(-1, z/norm))))
	}
	return nil
}

// fillGradient sets grad to the gradient of an arrival on a grid: its own, or that of its times.
func fillGradient(grad [][]float64, b traveltime.Branch, g grid.Grid) {
	if b.Gradient == nil {
		traveltime.CentralGradient(grad, b.Time, g)
		return
	}
	for a := range grad {
		copy(grad[a], b.Gradient[a])
	}
}

// spreading fills amp with the geometrical spreading of an arrival of a place on a window, times
// the taper of the take-off angle; without Dynamic with 1.
func (w *weights) spreading(amp []float64, place int, window traveltime.Window, b traveltime.Branch) error {
	if err := w.fillSpreading(amp, place, window, b); err != nil {
		return err
	}
	if w.p.several() && spread(w.p) == traveltime.NoSpreading {
		for i, spreading := range b.Spreading {
			if amp[i] = math.Copysign(amp[i], spreading); spreading == 0 {
				amp[i] = 0
			}
		}
	}
	if !takeoff(w.p) {
		return nil
	}
	const radian = math.Pi / 180
	for i, a := range b.Takeoff {
		amp[i] *= w.taperBetween(a, w.p.TakeoffLimit[0]*radian, w.p.TakeoffLimit[1]*radian)
	}
	return nil
}

// fillSpreading fills amp with the given spreading if there is one, with that of the arrival's rays, or
// with that of distances.
func (w *weights) fillSpreading(amp []float64, place int, window traveltime.Window, b traveltime.Branch) error {
	if !w.p.Dynamic {
		for i := range amp {
			amp[i] = 1
		}
		return nil
	}
	given, err := given(w.p, place, window)
	if given != nil || err != nil {
		copy(amp, given)
		return err
	}
	if spread(w.p) != traveltime.NoSpreading {
		copy(amp, b.Spreading)
		return nil
	}
	w.fillDistances(amp, place, window)
	return nil
}

// fillDistances fills b with the spreading that follows from the distances to a place.
func (w *weights) fillDistances(b []float64, place int, window traveltime.Window) {
	g := window.Grid(w.p.Grid)
	at := w.p.Positions.At(place)
	last := g.Dim() - 1
	n := g.Shape[last]
	x := make([]float64, g.Dim())
	for row := 0; row < len(b); row += n {
		g.Point(x, row)
		across := 0.0
		for a := range last {
			across += (x[a] - at[a]) * (x[a] - at[a])
		}
		for k := range n {
			z := g.Coord(last, k) - at[last]
			b[row+k] = w.spreadingAt(math.Sqrt(across + z*z))
		}
	}
}

// given returns the given amplitudes of a place in a window, nil without such or without
// Dynamic.
func given(p *Problem, place int, window traveltime.Window) ([]float64, error) {
	if p.Amplitude == nil || !p.Dynamic {
		return nil, nil
	}
	given, err := p.Amplitude(place)
	if err != nil {
		return nil, fmt.Errorf("kirchhoff: amplitude of place %d: %w", place, err)
	}
	if n := p.Grid.Len(); len(given) != n {
		return nil, fmt.Errorf("kirchhoff: amplitude of place %d has %s, the image %d points", place, readable.Count(len(given), "value"), n)
	}
	if window == traveltime.Whole(p.Grid) {
		return given, nil
	}
	nz := p.Grid.Shape[p.Grid.Dim()-1]
	part := make([]float64, 0, window.Grid(p.Grid).Len())
	for column := range window.Columns(p.Grid) {
		part = append(part, given[column:column+nz]...)
	}
	return part, nil
}

// spreadingAt is the geometrical spreading at a distance of d metres.
func (w *weights) spreadingAt(d float64) float64 {
	if w.p.Grid.Dim() == 2 {
		return 1 / math.Sqrt(d+w.Stabiliser)
	}
	return 1 / (d + w.Stabiliser)
}
