package traveltime

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"
)

// TestJoinCusps holds what becomes of three arrivals to Pearcey's integral, and lists that are no cusp to what they were.
func TestJoinCusps(t *testing.T) {
	const omega = 40.0
	period := 2 * math.Pi / omega
	if at, want := cmplx.Abs(pearcey(0, 0)), 2*math.Gamma(1.25)*math.Sqrt2; math.Abs(at-want) > 1e-9 {
		t.Errorf("at a cusp Pearcey's integral is %g, want %g", at, want)
	}
	// arrivals are the points of constant phase of the integral, their slowness the change of their phase with x.
	arrivals := func(e, x float64) (list []arrival) {
		theta := math.Acos(x / (2 * math.Pow(e/3, 1.5)))
		for k := range 3 {
			s := 2 * math.Sqrt(e/3) * math.Cos(theta/3+2*math.Pi*float64(k)/3)
			b := math.Sqrt(2 * math.Pi / math.Abs(3*s*s-e))
			a := arrival{t: (s*s*s*s/4 - e*s*s/2 - x*s) / omega, b: b, unbound: b, takeoff: 0.1, p: [3]float64{-0.01 * s, 1}}
			if k == 2 {
				a.turns = 1
			}
			list = append(list, a)
		}
		return list
	}
	field := func(list []arrival) (sum complex128) {
		for _, a := range list {
			sum += complex(a.b, 0) * cmplx.Exp(complex(0, -omega*a.t-math.Pi/4+math.Pi/2*float64(a.turns)))
		}
		return sum
	}
	for _, e := range []float64{0.1, 0.4, 0.9, 1.1} {
		for _, share := range []float64{0, 0.4, -0.7, 0.9} {
			x := share * 2 * math.Pow(e/3, 1.5)
			list := arrivals(e, x)
			late := omega * (list[2].t - min(list[0].t, list[1].t))
			list = joinCusps(list, period)
			want := pearcey(e, x)
			if (len(list) == 1) != (late < cuspPhase) {
				t.Errorf("ε %g, x %g: %d arrivals, the first %g radians before the middle one", e, x, len(list), late)
			}
			if len(list) > 1 {
				continue
			}
			if off := cmplx.Abs(field(list)-want) / cmplx.Abs(want); off > 0.01 || list[0].turns != 0 {
				t.Errorf("ε %g, x %g: the arrival is off by %g of Pearcey's integral, %d turns", e, x, off, list[0].turns)
			}
		}
	}
	// The opposite sign: the middle one comes first and has turned less.
	mirrored := arrivals(0.5, 0.1)
	for k := range mirrored {
		mirrored[k].t, mirrored[k].turns = -mirrored[k].t, 3-mirrored[k].turns
	}
	if list := joinCusps(mirrored, period); len(list) != 1 || list[0].turns != 3 {
		t.Errorf("a cusp of the opposite sign: %v, want one arrival of three turns", list)
	} else if want := pearcey(0.5, 0.1); math.Abs(cmplx.Abs(want)-list[0].b) > 0.01*cmplx.Abs(want) {
		t.Errorf("a cusp of the opposite sign: b is %g, want %g", list[0].b, cmplx.Abs(want))
	}
	apart := arrivals(4, 0)
	parted := arrivals(0.5, 0)
	parted[2].p = [3]float64{1, 0}
	plain := arrivals(0.5, 0)
	plain[2].turns = 0
	for name, list := range map[string][]arrival{"far apart": apart, "of another direction": parted, "of no turn": plain, "two": arrivals(0.5, 0)[:2]} {
		if got := joinCusps(append([]arrival(nil), list...), period); fmt.Sprint(got) != fmt.Sprint(list) {
			t.Errorf("arrivals %s: %v, want them as they were, %v", name, got, list)
		}
	}
	together := arrivals(0.5, 0)
	for k := range together {
		together[k].t = 1
	}
	if got := joinCusps(together, period); len(got) != 1 || math.Abs(got[0].t-1) > period/8 || got[0].b < 0.3*together[0].b {
		t.Errorf("arrivals at one time: %v, want one of about that time", got)
	}
	if got := joinCusps(arrivals(0.5, 0), 0); len(got) != 3 {
		t.Errorf("waves of no period: %d arrivals, want 3", len(got))
	}
	// Others keep their place by strength.
	list := append([]arrival{{t: 9, b: 100}}, arrivals(0.4, 0.05)...)
	list = append(list, arrival{t: 8, b: 0.001})
	if got := joinCusps(list, period); len(got) != 3 || got[0].b != 100 || got[2].b != 0.001 {
		t.Errorf("with others: %v, want the strongest first and the weakest last", got)
	}
}
