package kirchhoff

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Limits of dip and opening angle cut off many pairs of a trace and a box in the whole
// box. The directions of each place's rays in parts of a box are known to lie in cones, and
// so the kernels need not visit such pairs. Angles are compared by chords: unit vectors that
// make an angle of x lie 2 sin ½x apart.

// cone says that the directions of a place's rays, unit vectors, lie within spread of axis,
// a vector that may be shorter. For unequal slownesses it holds the vectors u, of any length.
// The zero cone holds none.
type cone struct {
	axis   [3]float32
	spread float32
}

// stretch is the number of successive tiles of a box that share a cone. Boxes have 64 tiles
// or less. Both rays turn alike along a box, so one cone of it all would say little about
// the angle between them.
const stretch = 4

// cones hold the rays of a place at all points of a box where it counts.
type cones [64 / stretch]cone

// rounding bounds the rounding errors of directions and angles in kernels.
const rounding = 1e-5

// rays are the least and the largest direction of some rays in the tables:
// the angle, or each component of a vector.
type rays struct{ lo, hi [3]float64 }

// noRays is the range of no rays.
func noRays() (r rays) {
	for f := range r.lo {
		r.lo[f], r.hi[f] = math.Inf(1), math.Inf(-1)
	}
	return r
}

// add adds x of number f.
func (r *rays) add(f int, x float64) {
	if x < r.lo[f] {
		r.lo[f] = x
	}
	if x > r.hi[f] {
		r.hi[f] = x
	}
}

// cone is one that holds the rays, given by angles or by vectors.
func (r *rays) cone(angles bool) (c cone) {
	if r.lo[0] > r.hi[0] {
		return c
	}
	if angles {
		half := 0.5 * (r.hi[0] - r.lo[0])
		sin, cos := math.Sincos(r.lo[0] + half)
		return cone{axis: [3]float32{float32(sin), 0, float32(cos)}, spread: float32(chord(half) + rounding)}
	}
	sum := 0.0
	for a := range c.axis {
		half := 0.5 * (r.hi[a] - r.lo[a])
		c.axis[a] = float32(r.lo[a] + half)
		sum += half * half
	}
	c.spread = float32(math.Sqrt(sum) + rounding)
	return c
}

// zeros says where the windows of pairs are 0: below the chord near and from far on
// between the rays, and from steep on between a reflector's normal and the vertical.
type zeros struct {
	near, far, steep float64
	unequal          bool
}

// zerosOf returns the zeros of the windows of o.
func zerosOf(o *simd.Operator) (z zeros) {
	z.unequal = o.Unequal
	z.near, z.far = ends(o.Opening)
	_, z.steep = ends(o.Dip)
	return z
}

// ends are the chords of the angles up to which, and from which on, w is 0. Without such angles
// they are out of reach.
func ends(w simd.Window) (lo, hi float64) {
	lo, hi = -1, 3
	if w.Rise != 0 {
		lo = chord(float64(w.Rise1) - 1/float64(w.Rise))
	}
	if w.Fall != 0 {
		hi = chord(float64(w.Fall0) + 1/float64(w.Fall))
	}
	return lo, hi
}

// chord is the distance of two unit vectors that make an angle of x radians.
func chord(x float64) float64 { return 2 * math.Sin(0.5*min(max(x, 0), math.Pi)) }

// cut reports whether windows are 0 for a pair of places in a whole box.
func (z *zeros) cut(s, r *cones) bool {
	for i := range s {
		if s[i].spread != 0 && r[i].spread != 0 && !z.apart(&s[i], &r[i]) {
			return false
		}
	}
	return true
}

// apart reports whether windows are 0 for all pairs of rays in two cones.
func (z *zeros) apart(s, r *cone) bool {
	spread, sum, gap := float64(s.spread+r.spread), 0.0, 0.0
	for a := range s.axis {
		x, y := float64(s.axis[a]), float64(r.axis[a])
		sum += (x + y) * (x + y)
		gap += (x - y) * (x - y)
	}
	sum, gap = math.Sqrt(sum), math.Sqrt(gap)
	lo, hi := gap-spread, gap+spread
	if z.unequal {
		lo, hi = chords(s, r)
	}
	if lo >= z.far || hi <= z.near {
		return true
	}
	// p_s + p_r lies within spread of the axes' sum, so their directions differ by
	// asin(spread/sum) at most.
	sin := spread / sum
	if !(sin < 1) {
		return false
	}
	down := (float64(s.axis[2]) + float64(r.axis[2])) / sum
	return math.Sqrt(max(0, 2-2*down))-math.Sqrt(2-2*math.Sqrt(1-sin*sin)) >= z.steep
}

// chords bound the chord of the angle between two vectors of any length in two cones. A vector
// within spread of an axis makes an angle of asin(spread/|axis|) with it at most.
func chords(s, r *cone) (lo, hi float64) {
	_, angle := angles3(s.vector(), r.vector())
	wide := s.half() + r.half()
	return chord(angle - wide), chord(angle + wide)
}

// half is the largest angle between the axis and a vector in the cone.
func (c *cone) half() float64 {
	v := c.vector()
	if sin := float64(c.spread) / math.Sqrt(v[0]*v[0]+v[1]*v[1]+v[2]*v[2]); sin < 1 {
		return math.Asin(sin)
	}
	return math.Pi
}

func (c *cone) vector() [3]float64 {
	return [3]float64{float64(c.axis[0]), float64(c.axis[1]), float64(c.axis[2])}
}
