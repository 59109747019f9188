package kirchhoff

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// closed has traveltimes in closed form: at a distance d from a place t² = dᵀ M d, with M =
// 1/h² + (1/v² − 1/h²) a aᵀ by the place's role. The waves run with v along the axis a and with
// h across.
type closed struct {
	g    grid.Grid
	v, h [2]float64 // m/s
	axis [3]float64
}

// twoSpeeds are those of converted waves.
func twoSpeeds(g grid.Grid) closed {
	return closed{g: g, v: [2]float64{2000, 1150}, h: [2]float64{2000, 1150}, axis: [3]float64{0, 0, 1}}
}

// elliptic is an anisotropic medium whose axis leans.
func elliptic(g grid.Grid) closed {
	c := closed{g: g, v: [2]float64{1800, 1800}, h: [2]float64{2400, 2400}}
	sin, cos := math.Sincos(0.4)
	if c.axis = [3]float64{0.6 * sin, 0.8 * sin, cos}; g.Dim() == 2 {
		c.axis = [3]float64{sin, 0, cos}
	}
	return c
}

func (c closed) method() traveltime.Method { return traveltime.NewUnequal(c, c.rays) }

func (c closed) slowest() float64 { return min(c.v[0], c.v[1], c.h[0], c.h[1]) }

func (c closed) Name() string       { return "closed" }
func (c closed) Grid() grid.Grid    { return c.g }
func (c closed) Domain() *grid.Grid { return nil }

func (c closed) ScratchBytes(*survey.Positions, []int, traveltime.Options) int64 { return 0 }

// number is 0 for sources and 1 for receivers.
func number(role survey.Role) int {
	if role == survey.AtReceiver {
		return 1
	}
	return 0
}

// times returns v/h² + (1/v² − 1/h²) (a·v) a, and with inverse the v that it is of.
func (c closed) times(v [3]float64, role survey.Role, inverse bool) (out [3]float64) {
	h, along, power := c.h[number(role)], c.v[number(role)], -2.0
	if inverse {
		power = 2
	}
	dot := v[0]*c.axis[0] + v[1]*c.axis[1] + v[2]*c.axis[2]
	for a := range v {
		out[a] = math.Pow(h, power)*v[a] + (math.Pow(along, power)-math.Pow(h, power))*dot*c.axis[a]
	}
	return out
}

// slowness is ∇t at a distance d, and t.
func (c closed) slowness(d [3]float64, role survey.Role) (p [3]float64, t float64) {
	p = c.times(d, role, false)
	t = math.Sqrt(p[0]*d[0] + p[1]*d[1] + p[2]*d[2])
	for a := range p {
		p[a] /= t
	}
	return p, t
}

// away is how far point x lies from a place, along x, y and z.
func away(x, at []float64) (d [3]float64) {
	last := len(x) - 1
	d[2] = x[last] - at[last]
	for a := range last {
		d[a] = x[a] - at[a]
	}
	return d
}

func (c closed) Solve(ctx context.Context, p *survey.Positions, places []int, opt traveltime.Options, sink func(int, traveltime.Field) error) error {
	x := make([]float64, c.g.Dim())
	for _, place := range places {
		w, b := opt.Window(c.g, place), traveltime.Branch{}
		part := w.Grid(c.g)
		for i := range part.Len() {
			part.Point(x, i)
			d, t := away(x, p.At(place)), 0.0
			if d != [3]float64{} {
				_, t = c.slowness(d, p.Role[place])
			}
			b.Time = append(b.Time, t)
		}
		if err := sink(place, traveltime.Field{Window: w, Branches: []traveltime.Branch{b}}); err != nil {
			return err
		}
		if opt.Progress != nil {
			opt.Progress()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (c closed) rays(role survey.Role, slowness [][]float64, _ traveltime.Window) {
	last := len(slowness) - 1
	for i := range slowness[0] {
		var p [3]float64
		p[2] = slowness[last][i]
		for a := range last {
			p[a] = slowness[a][i]
		}
		d := c.times(p, role, true)
		slowness[last][i] = d[2]
		for a := range last {
			slowness[a][i] = d[a]
		}
	}
}

// unequalProblem is a spread over a grid, with times of one of the media in closed form.
func unequalProblem(t *testing.T, dim int, media func(grid.Grid) closed) (*Problem, closed) {
	p := fixedSpread(t, []int{81, 61}, 10, [2]int{3, 1}, [2]int{4, 1}, 400, true)
	if dim == 3 {
		p = fixedSpread(t, []int{26, 21, 31}, 10, [2]int{2, 1}, [2]int{2, 2}, 300, true)
	}
	m := media(p.Grid)
	p.Times, p.Slowest, p.Velocity = m.method(), m.slowest(), nil
	return p, m
}

// TestUnequalClosedForm: dip, opening angle and weight of pairs are those of the slownesses in
// closed form, and differ from what unit vectors would give.
func TestUnequalClosedForm(t *testing.T) {
	for dim := 2; dim <= 3; dim++ {
		for name, media := range map[string]func(grid.Grid) closed{"converted": twoSpeeds, "elliptic": elliptic} {
			p, m := unequalProblem(t, dim, media)
			p.DipLimit, p.Opening = []float64{179, 180}, Window{Fall0: 179, Fall1: 180}
			e, err := NewReference(t.Context(), p, Work{})
			if err != nil {
				t.Fatal(err)
			}
			r, w, x := e.(*referenceEngine).images[0], newWeights(p), make([]float64, dim)
			var worst, unit struct{ dip, opening, weight float64 }
			for trace := range p.NumTraces() {
				s, rec := p.Positions.Source[trace], p.Positions.Receiver[trace]
				for i := range p.Grid.Len() {
					if p.Grid.Point(x, i); x[dim-1] < 100 || edge(p.Grid, x) {
						continue // differences are coarse near the places and one-sided at the edges
					}
					ds, dr := away(x, p.Positions.At(int(s))), away(x, p.Positions.At(int(rec)))
					ps, ts := m.slowness(ds, survey.AtSource)
					pr, tr := m.slowness(dr, survey.AtReceiver)
					dip, opening := math.Acos((ps[2]+pr[2])/sum(ps, pr)), math.Acos((ps[0]*pr[0]+ps[1]*pr[1]+ps[2]*pr[2])/(length(ps)*length(pr)))
					gotDip, gotOpening := r.angles(int(s), int(rec), i)
					worst.dip = max(worst.dip, math.Abs(gotDip-dip))
					worst.opening = max(worst.opening, math.Abs(gotOpening-opening))
					otherDip, _ := angles3(scaled3(ps, 1/length(ps)), scaled3(pr, 1/length(pr)))
					unit.dip = max(unit.dip, math.Abs(otherDip-dip))
					if k, _, a := r.at(trace, i, pairing{}); k >= 0 {
						want := sum(ps, pr) * w.spreadingAt(length(ds)) * w.spreadingAt(length(dr))
						worst.weight = max(worst.weight, math.Abs(a/want-1))
						unit.weight = max(unit.weight, math.Abs(2*math.Cos(opening/2)/2000/sum(ps, pr)-1))
					} else if ts+tr < float64(p.NT-2)*p.DT {
						t.Fatalf("trace %d, point %d has no weight", trace, i)
					}
				}
			}
			t.Logf("%s in %d-D: dips to %.1e radians, opening angles to %.1e, weights to %.1e; unit vectors are off by %.1e radians and %.1e", name, dim, worst.dip, worst.opening, worst.weight, unit.dip, unit.weight)
			if !(worst.dip < 3e-3) || !(worst.opening < 4e-3) || !(worst.weight < 4e-3) {
				t.Errorf("%s in %d-D: dips are off by %.1e radians, opening angles by %.1e, weights by %.1e of themselves", name, dim, worst.dip, worst.opening, worst.weight)
			}
			if unit.dip < 0.03 || unit.weight < 0.1 {
				t.Errorf("%s in %d-D: unit vectors would do, with dips off by %.1e radians and weights by %.1e", name, dim, unit.dip, unit.weight)
			}
		}
	}
}

// edge reports whether x lies on the edge of g.
func edge(g grid.Grid, x []float64) bool {
	for a := range x {
		if x[a] == g.Origin[a] || x[a] == g.End(a) {
			return true
		}
	}
	return false
}

func length(v [3]float64) float64 { return sum(v, [3]float64{}) }

func scaled3(v [3]float64, by float64) [3]float64 { return [3]float64{by * v[0], by * v[1], by * v[2]} }

// TestUnequalConformance: every engine agrees with the reference and is adjoint to rounding.
func TestUnequalConformance(t *testing.T) {
	for i, c := range trials() {
		if i%2 == 0 && c.limits == 0 || c.weights == 0 && c.limits == 0 {
			continue
		}
		c.unequal, c.rays, c.arrivals = 1+i%5%2, false, 0 // the closed forms do not spread
		t.Run(c.String(), func(t *testing.T) { c.conforms(t, uint64(i)) })
	}
}

// TestUnequalShares: exact sums have the same bits however shots and slabs are shared out, with
// tables that are kept or made anew.
func TestUnequalShares(t *testing.T) {
	nonzero := 0
	for i, c := range []trial{{dim: 2, weights: 2, limits: 3, irregular: true, unequal: 1}, {dim: 2, weights: 1, aperture: 2, unequal: 2},
		{dim: 3, weights: 1, limits: 2, antialias: true, unequal: 2}, {dim: 3, limits: 1, gaps: true, unequal: 1}, {dim: 3, weights: 2, t0: 0.0713, unequal: 2}} {
		p := c.problem(t, uint64(11+i))
		nonzero += exactEverywhere(t, p, 2e-5, uint64(i), layout{3, 1, 2, 0}, layout{2, 2, 1, 0}, layout{2, 1, 2, 40})
	}
	if nonzero == 0 {
		t.Error("no image has a value")
	}
}

// TestEqualSpeeds: with one speed the weights of unequal slownesses are the ordinary ones, but
// for what central differences miss of |∇t|, which falls with the square of the distance.
func TestEqualSpeeds(t *testing.T) {
	for dim := 2; dim <= 3; dim++ {
		p, _ := unequalProblem(t, dim, twoSpeeds)
		q := *p
		analytic, err := traveltime.NewAnalytic(2000, p.Grid)
		if err != nil {
			t.Fatal(err)
		}
		p.Times, p.Slowest = traveltime.NewUnequal(analytic, nil), 2000
		q.Times, q.Velocity = analytic, slices.Repeat([]float64{2000}, p.Grid.Len())
		p.AngleLimit, q.AngleLimit = []float64{50, 60}, []float64{50, 60}
		ours, err := NewReference(t.Context(), p, Work{})
		if err != nil {
			t.Fatal(err)
		}
		ordinary, err := NewReference(t.Context(), &q, Work{})
		if err != nil {
			t.Fatal(err)
		}
		worst, counted, x := make([]float64, p.Grid.Shape[dim-1]), 0, make([]float64, dim)
		for trace := range p.NumTraces() {
			for i := range p.Grid.Len() {
				iz := i % p.Grid.Shape[dim-1]
				_, _, a := ours.(*referenceEngine).images[0].at(trace, i, pairing{})
				k, _, b := ordinary.(*referenceEngine).images[0].at(trace, i, pairing{})
				if p.Grid.Point(x, i); k < 0 || edge(p.Grid, x) {
					continue
				}
				counted++
				worst[iz] = max(worst[iz], math.Abs(a/b-1))
			}
		}
		t.Logf("%d-D: weights differ by %.1e at a depth of 5 cells, %.1e at 10, %.1e at 20", dim, worst[5], worst[10], worst[20])
		if counted < p.Grid.Len() || !(worst[10] < 4e-3) || !(worst[20] < 1.2e-3) {
			t.Errorf("%d-D: of %d pairs weights differ by %.1e at a depth of 10 cells, %.1e at 20", dim, counted, worst[10], worst[20])
		}
	}
}

// TestUnequalAngleLimit: the angle limit is one of rays, which run straight from their place, and
// not of slownesses.
func TestUnequalAngleLimit(t *testing.T) {
	for dim := 2; dim <= 3; dim++ {
		p, m := unequalProblem(t, dim, elliptic)
		p.AngleLimit = []float64{40, 40}
		w, x, other := newWeights(p), make([]float64, dim), 0
		s := newSlowness(p, func() []float64 { return make([]float64, p.Grid.Len()) })
		err := p.Arrivals(t.Context(), p.usedPlaces(), traveltime.Options{}, func(place, _ int, window traveltime.Window, arrival traveltime.Branch) error {
			if err := w.fillFrom(&s, place, window, arrival); err != nil {
				return err
			}
			for i, b := range s.amp {
				if p.Grid.Point(x, i); x[dim-1] < 50 || edge(p.Grid, x) {
					continue
				}
				d := away(x, p.Positions.At(place))
				angle := math.Acos(d[2]/length(d)) * 180 / math.Pi
				slowness, _ := m.slowness(d, p.Positions.Role[place])
				if (math.Acos(slowness[2]/length(slowness))*180/math.Pi < 40) != (angle < 40) {
					other++
				}
				if math.Abs(angle-40) > 1 && (b > 0) != (angle < 40) {
					t.Fatalf("%d-D: place %d, point %v: amplitude %g of a ray at %.1f degrees", dim, place, x, b, angle)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if other < 20 {
			t.Errorf("%d-D: slownesses lie outside where rays do but for %d points", dim, other)
		}
	}
}

// TestUnequalPeak: no weight exceeds the peak, from which exact sums take their quantum, though
// differences of times at the edges of the grid and beside points that no ray reaches are larger
// than any slowness.
func TestUnequalPeak(t *testing.T) {
	for dim := 2; dim <= 3; dim++ {
		p := trial{dim: dim, weights: 1, gaps: true, unequal: 1}.problem(t, 6)
		one := slices.Repeat([]float64{1}, p.Grid.Len())
		p.Amplitude = func(int) ([]float64, error) { return one, nil }
		plan, err := NewPlan(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewReference(t.Context(), p, Work{})
		if err != nil {
			t.Fatal(err)
		}
		r, most, steepest := e.(*referenceEngine).images[0], 0.0, 0.0
		for trace := range p.NumTraces() {
			for i := range p.Grid.Len() {
				if k, _, a := r.at(trace, i, pairing{}); k >= 0 {
					most = max(most, a*p.Slowest)
				}
			}
		}
		for _, place := range p.usedPlaces() {
			for i := range p.Grid.Len() {
				v := length(r.slow[place].direction(i))
				if steepest = max(steepest, v); v > excess*(1+1e-12) {
					t.Fatalf("%d-D: place %d, point %d: length %g", dim, place, i, v)
				}
			}
		}
		if !(most <= plan.Peak) || most < 0.7*plan.Peak || steepest < excess*(1-1e-12) {
			t.Errorf("%d-D: the largest weight is %g, the peak %g, the longest vector %g", dim, most, plan.Peak, steepest)
		}
	}
}

// TestUnequalNeedsASpeed: without a speed, tables have no scale.
func TestUnequalNeedsASpeed(t *testing.T) {
	for _, slowest := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		p := trial{dim: 2, weights: 1, unequal: 1}.problem(t, 3)
		p.Slowest = slowest
		want := fmt.Sprintf("slowest velocity is %g m/s", slowest)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
