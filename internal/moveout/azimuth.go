package moveout

import (
	"math"
	"math/cmplx"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Sectors are gathers by offset and azimuth.
type Sectors struct {
	Azimuths []float64 // centres of n equal sectors of 180 degrees, degrees from north towards east

	// Panel reads the gather of a column, [offsets, sectors, nz], Light how strongly traces light each of its classes; nil: not
	// known.
	Panel, Light func(column int) ([]float32, error)
}

// LeastSectors is the number of sectors that tells an ellipse.
const LeastSectors = 3

// Ellipse is how the velocity of moveout changes with azimuth.
type Ellipse struct {
	Fast      float64 // azimuth in which it is largest, degrees from north towards east, in [0, 180)
	Percent   float64 // (largest − least) / mean, %
	Deviation float64 // standard error of Percent
}

// unknown is the ellipse of a pick whose classes do not tell it.
var unknown = Ellipse{Deviation: 100}

// surely is the number of standard errors above which an anisotropy is taken for one.
const surely = 3

// resolved reports whether the ellipse is told from a circle.
func (e Ellipse) resolved() bool { return e.Percent > surely*e.Deviation }

// FitEllipses fits the ellipses of picks that a scan of g with the same options found. Reflections of each class are measured as
// by Shift.
func FitEllipses(g *Gathers, s Sectors, o Options, picks []Pick) error {
	by := *g
	by.Panel, by.Light, by.Midpoints = s.Panel, s.Light, nil
	by.weights = make([][]float32, g.columns())
	n := len(s.Azimuths)
	by.Offsets = nil
	for _, x := range g.Offsets {
		by.Offsets = append(by.Offsets, slices.Repeat([]float64{x}, n)...)
	}
	least := g.Grid.Spacing[g.Grid.Dim()-1] / fine / math.Sqrt(12)
	return by.eachPlace(o, picks, func(picks []Pick, column int, around []int, panels [][]float32) error {
		if err := by.weigh(column, o); err != nil {
			return err
		}
		for i := range picks {
			p := &picks[i]
			f := fit{pick: *p, least: least}
			classes, shifts := by.measure(*p, column, around, panels, o)
			for k, class := range classes {
				f.add(by.Offsets[class], s.Azimuths[class%n], n, shifts[k])
			}
			p.Ellipse = f.solve()
		}
		return nil
	})
}

// fit is the least-squares problem of one pick. The square of the slowness of normal moveout is an ellipse over the azimuth φ in
// any medium (Grechka and Tsvankin 1998, 3-D description of normal moveout in anisotropic inhomogeneous media, Geophysics 63,
// equation 8), and γ² goes with it:
//
//	z(x, φ)² = z0² + (a + b cos 2φ + c sin 2φ − 1) x²/c_0²,
//
// c_0 that of the curves. z0², a, b and c are unknown.
type fit struct {
	pick  Pick
	least float64   // standard error of a depth that is exact except for its steps, m or s
	rows  []float64 // [classes, 4]
	data  []float64 // [classes]
}

// add adds a class, one of n sectors, whose reflection lies shift deeper than on the curve. Cosines of a sector count with their
// mean over it, which is sin(π/n)/(π/n) of that at its centre.
func (f *fit) add(offset, azimuth float64, n int, shift float64) {
	z0, spread := f.pick.Z-f.pick.Datum, math.Pi/float64(n)
	u, z := math.Pow(offset/f.pick.Speed/z0, 2), 1+(f.pick.Moveout(offset)+shift)/z0
	sin, cos := math.Sincos(azimuth * math.Pi / 90)
	mean := math.Sin(spread) / spread
	f.rows = append(f.rows, 1, u, u*mean*cos, u*mean*sin)
	f.data = append(f.data, z*z+u)
}

// spare is the number of classes beyond the unknowns that a fit needs for its errors.
const spare = 4

// solve finds the ellipse.
func (f *fit) solve() Ellipse {
	n := len(f.data)
	if n < 4+spare {
		return unknown
	}
	a, y := mat.NewDense(n, 4, f.rows), mat.NewVecDense(n, f.data)
	normal, right := mat.NewSymDense(4, nil), mat.NewVecDense(4, nil)
	normal.SymOuterK(1, a.T())
	right.MulVec(a.T(), y)
	var factor mat.Cholesky
	if !factor.Factorize(normal) || factor.Cond() > 1e8 {
		return unknown
	}
	var m, left mat.VecDense
	var inverse mat.SymDense
	if factor.SolveVecTo(&m, right) != nil || factor.InverseTo(&inverse) != nil {
		return unknown
	}
	left.MulVec(a, &m)
	left.SubVec(&left, y)
	square := mat.Dot(&left, &left) / float64(n-4)
	square = max(square, math.Pow(2*f.least/(f.pick.Z-f.pick.Datum), 2)) // of z², over z0⁴
	mean, b, c := m.AtVec(1), m.AtVec(2), m.AtVec(3)
	size := math.Hypot(b, c)
	if !(mean > size) {
		return unknown
	}
	// γ² is least along the fast axis.
	sin, cos := math.Sincos(math.Atan2(c, b))
	variance := square * (cos*cos*inverse.At(2, 2) + 2*sin*cos*inverse.At(2, 3) + sin*sin*inverse.At(3, 3))
	fast, slow := 1/math.Sqrt(mean-size), 1/math.Sqrt(mean+size)
	return Ellipse{Fast: axis(complex(-b, -c)), Percent: 200 * (fast - slow) / (fast + slow), Deviation: min(unknown.Deviation, 100*math.Sqrt(variance)/mean)}
}

// axis is half the angle of z, degrees in [0, 180).
func axis(z complex128) float64 {
	return math.Mod(cmplx.Phase(z)*90/math.Pi+180, 180)
}

// vector has the length of the anisotropy and twice the angle of the axis, so that axes 90 degrees apart cancel.
func (e Ellipse) vector() complex128 { return cmplx.Rect(e.Percent, e.Fast*math.Pi/90) }

// Anisotropy sums up the ellipses of picks.
type Anisotropy struct {
	Ellipse         // which all picks have in common
	Picks   int     // that tell an ellipse
	Alone   int     // of them, whose own anisotropy is above three of its standard errors
	Typical float64 // the median of their standard errors, %
}

// Certain reports whether the common anisotropy is above three of its standard errors.
func (a Anisotropy) Certain() bool { return a.resolved() }

// AxisDeviation is the standard error of the common axis, degrees, where it is certain.
func (a Anisotropy) AxisDeviation() float64 { return a.Deviation / a.Percent * 90 / math.Pi }

// CombineEllipses finds what ellipses of picks have in common: the weighted median of each component of their vectors, with the
// inverse of variances as weights. Few far-off ones do not change it. Its standard error is the error
// of the median of a normal distribution with the median absolute deviation found, or with the errors
// of the picks if these are larger.
func CombineEllipses(picks []Pick) (a Anisotropy) {
	var parts [2][]float64
	var weights, deviations []float64
	sum := 0.0
	for _, p := range picks {
		e := p.Ellipse
		if e == unknown {
			continue
		}
		if e.resolved() {
			a.Alone++
		}
		v := e.vector()
		parts[0], parts[1] = append(parts[0], real(v)), append(parts[1], imag(v))
		weights, deviations = append(weights, 1/(e.Deviation*e.Deviation)), append(deviations, e.Deviation)
		sum += 1 / (e.Deviation * e.Deviation)
	}
	a.Ellipse, a.Picks = unknown, len(weights)
	if a.Picks == 0 {
		return a
	}
	ones := slices.Repeat([]float64{1}, a.Picks)
	a.Typical = median(deviations, ones)
	var center [2]float64
	var off []float64
	for i, part := range parts {
		center[i] = median(part, weights)
		for _, v := range part {
			off = append(off, math.Abs(v-center[i]))
		}
	}
	spread := median(off, slices.Repeat(ones, 2)) / distuv.UnitNormal.Quantile(0.75)
	v := complex(center[0], center[1])
	a.Percent, a.Fast = cmplx.Abs(v), axis(v)
	a.Deviation = math.Sqrt(math.Pi/2) * max(spread/math.Sqrt(float64(a.Picks)), 1/math.Sqrt(sum))
	return a
}

// median is the weighted median of a list of one value at least; it keeps their order.
func median(list, weights []float64) float64 {
	list, weights = slices.Clone(list), slices.Clone(weights)
	stat.SortWeighted(list, weights)
	return stat.Quantile(0.5, stat.Empirical, list, weights)
}
