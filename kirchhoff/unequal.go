package kirchhoff

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// The slownesses of two rays at a point differ, for example, in anisotropic media and for converted
// waves. The reflector's normal then lies along the sum of their true slowness vectors p. Tables then
// hold u = c p instead of unit vectors, c one speed, in three components in 2-D too.

// unequal reports whether weights are of such slownesses.
func unequal(p *Problem) bool { return p.Directed() && traveltime.Unequal(p.Times) }

// angular reports whether slownesses holds the angles of rays instead of vectors.
func angular(p *Problem) bool { return p.Grid.Dim() == 2 && !unequal(p) }

func checkUnequal(p *Problem) error {
	if unequal(p) && (!(p.Slowest > 0) || math.IsInf(p.Slowest, 0)) {
		return fmt.Errorf("kirchhoff: the slowest velocity is %g m/s, must be positive for weights of unequal slownesses (%s)", p.Slowest, p.Times.Name())
	}
	return nil
}

// vectors finishes s, which holds b and ∇t at n points of a window: b is tapered by the angles
// of the rays and ∇t becomes u. No slowness exceeds 1/c, so what is longer than differences of
// times explain comes of points that no ray reaches. It is cut, so that weights have a bound.
func (w *weights) vectors(s *slowness, place int, window traveltime.Window, n int) {
	var p, ray [3][]float64
	for a := range p {
		p[a] = s.unit[a][:n]
	}
	ray = p
	if w.p.Dynamic {
		for a := range ray {
			ray[a] = s.ray[a][:n]
			copy(ray[a], p[a])
		}
		traveltime.Rays(w.p.Times, w.p.Positions.Role[place], w.axes(ray), window)
	}
	c := w.p.Slowest
	for i := range n {
		x, y, z := p[0][i], p[1][i], p[2][i]
		norm := math.Sqrt(x*x + y*y + z*z)
		if !(norm > 0) || math.IsInf(norm, 0) { // no direction, or a neighbour is unreachable
			p[0][i], p[1][i], p[2][i], s.amp[i] = 0, 0, 0, 0
			continue
		}
		s.amp[i] *= w.taperAngle(math.Atan2(math.Hypot(ray[0][i], ray[1][i]), ray[2][i]))
		scale := min(c, excess/norm)
		p[0][i], p[1][i], p[2][i] = scale*x, scale*y, scale*z
	}
}

// Vectors says what vectors tables hold: ∇t times speed, in m/s, but cut to the length longest.
// Zeros stand for unit vectors.
func (l *Plan) Vectors() (speed, longest float64) {
	if !unequal(&l.Problem) {
		return 0, 0
	}
	return l.Problem.Slowest, excess
}

// hostTapers reports whether amplitudes fall with angles of rays that only the host knows.
func hostTapers(p *Problem) bool { return p.Dynamic && unequal(p) }

// axes are the components of v along the axes of the grid: without y in 2-D.
func (w *weights) axes(v [3][]float64) [][]float64 {
	if w.p.Grid.Dim() == 2 {
		return [][]float64{v[0], v[2]}
	}
	return v[:]
}
