package traveltime

import (
	"math"
	"math/cmplx"
	"slices"
	"sync"
)

// arrival is one arrival at a point.
type arrival struct {
	t, b    float64 // s; as Spreading
	unbound float64 // b without the bound at caustics; 0 beyond a fold, where no ray comes
	takeoff float64
	p       [3]float64
	turns   int
}

// At a cusp a wavefront folds, and behind it two outer arrivals come with one between that has turned once more. Waves
// do not see a fold that is finer than they are: where the three come within a small part of a period there is one, of the
// amplitude and phase of Pearcey's integral
//
//	I = ∫ exp(−i φ) ds,  φ = s⁴/4 − ε s²/2 − x s,
//
// whose points of constant phase are the three arrivals (Pearcey 1946, The structure of an electromagnetic field in the
// neighbourhood of a cusp of a caustic, Phil. Mag. 37; Connor and Farrelly 1981, Theory of cusped rainbows, J. Chem. Phys. 75,
// for the integral in terms of them). The time of each, against that of the middle one, times ω says what ε and x are;
// the outer arrival that is farther off says how large I is, since the middle may come to a fold with the other.

// cuspPhase is by how much, in radians, the first of three arrivals may come before the middle one, so that they are
// one arrival.
const cuspPhase = 0.5

// cuspLeast is the least of such phases that counts: times are not known better.
const cuspLeast = 1e-3

// cuspSteps is the number of intervals of cuspTable along each axis.
const cuspSteps = 16

// cuspTable is I over what the outer arrival that is farther from the middle one makes of it: its modulus and
// argument. The first index is the fourth root of its phase over cuspPhase, the second the square root of that of the
// other outer one over it, both times cuspSteps.
type cuspTable [cuspSteps + 1][cuspSteps + 1][2]float64

var cusps = sync.OnceValue(func() *cuspTable {
	c := new(cuspTable)
	for i := range c {
		for j := range c[i] {
			u, v := float64(i)/cuspSteps, float64(j)/cuspSteps
			c[i][j][0], c[i][j][1] = cusp(cuspPhase*u*u*u*u, v*v)
		}
	}
	return c
})

// cusp is an entry of cuspTable: for the phase of the farther outer arrival, and the share of it that the nearer one has.
func cusp(phase, share float64) (modulus, argument float64) {
	phase = max(phase, 1e-9)
	// The points of constant phase for ε = 1 are 2/√3 cos(θ/3 + 2πk/3) for x = 2/√27 cos θ. The share grows with θ.
	at := func(theta float64) (x, far, near, s float64) {
		x = 2 / math.Sqrt(27) * math.Cos(theta)
		phi := func(k float64) (float64, float64) {
			s := 2 / math.Sqrt(3) * math.Cos(theta/3+2*math.Pi*k/3)
			return s*s*s*s/4 - s*s/2 - x*s, s
		}
		a, s := phi(0)
		b, _ := phi(1)
		c, _ := phi(2) // the middle one
		return x, c - a, c - b, s
	}
	lo, hi := 0.0, math.Pi/2
	for range 60 {
		if _, far, near, _ := at((lo + hi) / 2); near < share*far {
			lo = (lo + hi) / 2
		} else {
			hi = (lo + hi) / 2
		}
	}
	x, far, _, s := at((lo + hi) / 2)
	e := math.Sqrt(phase / far)
	x, s = x*e*math.Sqrt(e), s*math.Sqrt(e)
	outer := math.Sqrt(2 * math.Pi / (3*s*s - e))
	i := pearcey(e, x) * cmplx.Exp(complex(0, s*s*s*s/4-e*s*s/2-x*s+math.Pi/4))
	return cmplx.Abs(i) / outer, cmplx.Phase(i)
}

// pearcey is I, by the trapezoidal rule along the line on which its integrand falls as exp(−r⁴/4).
func pearcey(e, x float64) complex128 {
	const end, n = 5.0, 250
	turn := cmplx.Exp(complex(0, -math.Pi/8))
	sum := complex(0, 0)
	for k := -n; k <= n; k++ {
		s := turn * complex(end*float64(k)/n, 0)
		sum += cmplx.Exp(complex(0, -1) * (s*s*s*s/4 - complex(e/2, 0)*s*s - complex(x, 0)*s))
	}
	return sum * turn * complex(end/n, 0)
}

// at interpolates the table.
func (c *cuspTable) at(phase, share float64) (modulus, argument float64) {
	u, v := cuspSteps*math.Sqrt(math.Sqrt(min(1, phase/cuspPhase))), cuspSteps*math.Sqrt(min(1, share))
	i, j := min(int(u), cuspSteps-1), min(int(v), cuspSteps-1)
	u, v = u-float64(i), v-float64(j)
	var out [2]float64
	for k := range out {
		out[k] = (1-u)*((1-v)*c[i][j][k]+v*c[i][j+1][k]) + u*((1-v)*c[i+1][j][k]+v*c[i+1][j+1][k])
	}
	return out[0], out[1]
}

// joinCusps makes one of each three arrivals of a cusp that come within cuspPhase for waves of a period in s; 0: of none.
// list is ordered by b, strongest first, and remains so.
func joinCusps(list []arrival, period float64) []arrival {
	for period > 0 && len(list) >= 3 {
		middle, a, b := findCusp(list, period)
		if middle < 0 {
			break
		}
		one := joinedCusp(list[middle], list[a], list[b], period)
		kept := list[:0]
		for k := range list {
			if k != middle && k != a && k != b {
				kept = append(kept, list[k])
			}
		}
		at, _ := slices.BinarySearchFunc(kept, one, func(a, b arrival) int {
			if a.b > b.b {
				return -1
			}
			return 1
		})
		list = slices.Insert(kept, at, one)
	}
	return list
}

// cuspSide is 1 if a wave that arrives as a is one of the outer ones of a cusp with the middle c for
// such waves, later and turned once more. It is −1 if the wave is an outer one of a cusp of the
// opposite sign, otherwise 0.
func cuspSide(c, a arrival, period float64) int {
	late := 2 * math.Pi / period * (c.t - a.t)
	switch {
	case c.unbound == 0 || a.unbound == 0:
		return 0
	case late >= 0 && late < cuspPhase && c.turns == (a.turns+1)&3:
		return 1
	case late <= 0 && -late < cuspPhase && a.turns == (c.turns+1)&3:
		return -1
	}
	return 0
}

// findCusp returns three arrivals of a cusp: the middle one, the outer one farther off in time and the other; or −1.
func findCusp(list []arrival, period float64) (middle, a, b int) {
	for c := range list {
		for a := range list {
			side := cuspSide(list[c], list[a], period)
			if a == c || side == 0 {
				continue
			}
			for b := range list {
				if b == a || b == c || cuspSide(list[c], list[b], period) != side {
					continue
				}
				if math.Abs(list[b].t-list[c].t) <= math.Abs(list[a].t-list[c].t) && between(list[c].p, list[a].p, list[b].p) {
					return c, a, b
				}
			}
		}
	}
	return -1, -1, -1
}

// between reports whether the slowness c lies between a and b, or nearly so.
func between(c, a, b [3]float64) bool {
	way, size := 0.0, 0.0
	for k := range c {
		way += (a[k] - c[k]) * (b[k] - c[k])
		size += c[k] * c[k]
	}
	return way <= 1e-4*size
}

// joinedCusp is the one arrival that waves make of three: the middle one of a cusp, the outer one farther off and the other.
func joinedCusp(c, a, a2 arrival, period float64) arrival {
	omega := 2 * math.Pi / period
	far, share := c.t-a.t, 1.0
	if far != 0 {
		share = (c.t - a2.t) / far
	}
	modulus, argument := cusps().at(max(cuspLeast, math.Abs(omega*far)), share)
	// The sum of the three, with what bounds them at folds, is never less.
	b := min(modulus*a.unbound, math.Hypot(a.b+a2.b, c.b))
	one := arrival{t: a.t - math.Copysign(argument, far)/omega, b: b, unbound: b, turns: a.turns}
	sum := a.b + a2.b + c.b
	one.takeoff = (a.b*a.takeoff + a2.b*a2.takeoff + c.b*c.takeoff) / sum
	long, want := 0.0, 0.0
	for k := range one.p {
		one.p[k] = (a.b*a.p[k] + a2.b*a2.p[k] + c.b*c.p[k]) / sum
		long += one.p[k] * one.p[k]
		want += a.p[k] * a.p[k]
	}
	for k := range one.p {
		one.p[k] *= math.Sqrt(want / long)
	}
	return one
}
