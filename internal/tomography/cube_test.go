package tomography

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

var block = grid.Grid{Origin: []float64{0, -100, 0}, Spacing: []float64{50, 50, 50}, Shape: []int{21, 23, 19}}

// The velocity of the block is top + rise z. The times of its waves are closed forms (Slotnick 1959, Lessons in seismic computing).
const top, rise = 1800.0, 0.7

func exact(from, to []float64, rise float64) float64 {
	square := 0.0
	for a := range from {
		square += math.Pow(from[a]-to[a], 2)
	}
	return math.Acosh(1+rise*rise*square/(2*(top+rise*from[2])*(top+rise*to[2]))) / rise
}

// blockTimes solves in the block with its velocity times a factor.
func blockTimes(t *testing.T, factor float64) traveltime.Method {
	t.Helper()
	m := traveltime.Medium{Grid: block, Slab: [2]int{0, block.Shape[0]}, Values: make([]float64, block.Len())}
	x := make([]float64, 3)
	for i := range m.Values {
		block.Point(x, i)
		m.Values[i] = factor * (top + rise*x[2])
	}
	m.Least, m.Greatest = factor*top, factor*(top+rise*block.End(2))
	e, err := traveltime.New("eikonal", traveltime.Spec{Image: block, Medium: m})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A row in 3-D, times what the velocity's rise changes, is the derivative of the closed form.
func TestRowsOfABlockAreDerivatives(t *testing.T) {
	t.Parallel()
	knots, err := NewKnots(block, []float64{200, 200, 50})
	if err != nil {
		t.Fatal(err)
	}
	// δ = −z / (top + rise z) for a change of one of the rise; the splines of these coefficients are it but for a fourth order.
	n := knots.Shape()
	delta := func(z float64) float64 { return -z / (top + rise*z) }
	c := make([]float64, knots.Len())
	for k := range c {
		z := knots.origin[2] + knots.spacing[2]*float64(k%n[2])
		c[k] = delta(z) - (delta(z+knots.spacing[2])-2*delta(z)+delta(z-knots.spacing[2]))/6
	}
	s := &survey.Survey{Dim: 3, Sources: []float64{210, 130, 25}, Receivers: []float64{210, 130, 25}, SourceIndex: []int32{0}, ReceiverIndex: []int32{0}}
	places, m := s.Distinct(true), blockTimes(t, 1)
	err = m.Solve(context.Background(), places, []int{0}, traveltime.Options{Gradient: true, Threads: 2}, func(_ int, f traveltime.Field) error {
		tr := newTracer(m, f.Branches[0], places.At(0), knots)
		for _, x := range []point{{800, 700, 800}, {100, 900, 500}, {220, 140, 850}, {900, -50, 300}} {
			r := tr.ray(x)
			if r.lost {
				t.Errorf("the ray from %v is lost", x)
			}
			got, time := 0.0, 0.0
			for i, k := range r.at {
				got += c[k] * r.value[i]
				time += r.value[i]
			}
			from := places.At(0)
			const h = 1e-4
			want := (exact(from, x[:], rise+h) - exact(from, x[:], rise-h)) / (2 * h)
			if math.Abs(got/want-1) > 0.01 || math.Abs(time/exact(from, x[:], rise)-1) > 0.01 {
				t.Errorf("from %v: ∂T/∂rise is %.6f, want %.6f; time %.5f s, want %.5f", x, got, want, time, exact(from, x[:], rise))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// carpet has sources and receivers on grids of the block's surface.
func carpet(sources, receivers float64) *survey.Survey {
	s := &survey.Survey{Dim: 3, Fixed: true}
	for x := 50.0; x < 1000; x += sources {
		for y := -50.0; y < 1000; y += sources {
			s.Sources = append(s.Sources, x, y, 0)
		}
	}
	for x := 25.0; x < 1000; x += receivers {
		for y := -75.0; y < 1000; y += receivers {
			s.Receivers = append(s.Receivers, x, y, 0)
		}
	}
	return s
}

// Picks of flat layers in a medium migrated with a velocity 5 % too slow: where each offset's image lies follows from the closed
// form, and the solution is the change of the velocity. Slownesses in parts give the same rows.
func TestPicksOfABlockGiveTheVelocity(t *testing.T) {
	t.Parallel()
	const slow = 0.95
	s := carpet(150, 75)
	l := &Rays{Survey: s, Places: s.Distinct(true), Times: blockTimes(t, slow), Limits: []float64{0, 150, 300, 450, 600, 750, 900}, Mute: 1.5, Misfit: 5, Parts: 1, Threads: 2}
	// Of a layer at z the migration shows at offset h the depth where its own time is that of the data.
	shown := func(z, h float64) float64 {
		time := func(z, factor float64) float64 {
			return 2 * exact([]float64{0, 0, 0}, []float64{h / 2, 0, z}, rise) / factor
		}
		low, high := 0.0, z
		for range 60 {
			if middle := (low + high) / 2; time(middle, slow) < time(z, 1) {
				low = middle
			} else {
				high = middle
			}
		}
		return low
	}
	var picks []moveout.Pick
	for x := 200.0; x <= 800; x += 100 {
		for y := 200.0; y <= 800; y += 100 {
			for _, z := range []float64{350, 600, 800} {
				p := moveout.Pick{X: x, Y: y, Z: shown(z, 0), Gamma: slow, Certainty: 1, Speed: 2, Far: 900}
				for c := range len(l.Limits) - 1 {
					h := (l.Limits[c] + l.Limits[c+1]) / 2
					p.Shifts = append(p.Shifts, shown(z, h)-p.Z-p.Moveout(h))
				}
				picks = append(picks, p)
			}
		}
	}
	knots, err := NewKnots(block, []float64{250, 250, 225})
	if err != nil {
		t.Fatal(err)
	}
	rows, found, err := l.Rows(t.Context(), picks, knots)
	if err != nil {
		t.Fatal(err)
	}
	solution, err := Solve(t.Context(), rows, knots, Options{Smoothing: []float64{0.03}, Damping: 0.0002, Bound: 0.2, Iterations: 150, Rounds: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	inner := grid.Grid{Origin: []float64{250, 250, 100}, Spacing: []float64{100, 100, 100}, Shape: []int{6, 6, 6}}
	for _, v := range knots.On(inner, solution.Coefficients) {
		worst = max(worst, math.Abs(v-math.Log(slow)))
	}
	t.Logf("%+v of %d picks; δ is off by %.4f of %.4f at most", found, len(picks), worst, math.Log(slow))
	if found.Picks < len(picks)*9/10 || worst > 0.015 {
		t.Errorf("%+v of %d picks; δ is off by %.4f of %.4f", found, len(picks), worst, math.Log(slow))
	}
	l.Parts = 4
	again, _, err := l.Rows(t.Context(), picks, knots)
	if err != nil || again.Len() != rows.Len() || again.value[len(again.value)-1] != rows.value[len(rows.value)-1] {
		t.Errorf("in parts there are %d rows of %d, %v", again.Len(), rows.Len(), err)
	}
}

// A layer is lit, in each sector of azimuth, by the trace whose midpoint lies where its normal comes up.
func TestLayersOfABlockAreLitAlongTheirNormals(t *testing.T) {
	t.Parallel()
	s := &survey.Survey{Dim: 3}
	for x := 480.0; x < 880; x += 50 {
		for y := 80.0; y < 480; y += 50 {
			for _, d := range [][2]float64{{40, 10}, {-10, 40}} {
				s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(len(s.Sources)/3)), append(s.ReceiverIndex, int32(len(s.Receivers)/3))
				s.Sources, s.Receivers = append(s.Sources, x-d[0], y-d[1], 0), append(s.Receivers, x+d[0], y+d[1], 0)
			}
		}
	}
	v := 2000.0
	values := make([]float64, block.Len())
	for i := range values {
		values[i] = v
	}
	m, err := traveltime.New("eikonal", traveltime.Spec{Image: block, Medium: traveltime.Medium{Grid: block, Slab: [2]int{0, block.Shape[0]}, Values: values, Least: v, Greatest: v}})
	if err != nil {
		t.Fatal(err)
	}
	l := &Rays{Survey: s, Places: s.Distinct(true), Times: m, Limits: []float64{0, 200}, Mute: 2, Misfit: 5, Parts: 1, Threads: 2}
	p := moveout.Pick{X: 500, Y: 400, Z: 600, Slope: 0.3, SlopeY: -0.2, Gamma: 1, Certainty: 1, Speed: 2, Far: 100}
	slowness, err := l.slowness(t.Context(), []moveout.Pick{p})
	if err != nil {
		t.Fatal(err)
	}
	lit := l.light(p, slowness[0], l.candidates())
	if len(lit) != 2 {
		t.Fatalf("%d pairs, want one in each of two sectors", len(lit))
	}
	for _, q := range lit {
		from, to := s.Pair(q.trace)
		x, y := (s.Source(from)[0]+s.Receiver(to)[0])/2, (s.Source(from)[1]+s.Receiver(to)[1])/2
		if math.Abs(x-(p.X+p.Slope*p.Z)) > 30 || math.Abs(y-(p.Y+p.SlopeY*p.Z)) > 30 {
			t.Errorf("the midpoint is (%g, %g), want about (%g, %g)", x, y, p.X+p.Slope*p.Z, p.Y+p.SlopeY*p.Z)
		}
	}
}

// On a surface picks are left out by blocks along x and y: of a change they ask for one, of noise for none.
func TestPicksOfASurfaceChoose(t *testing.T) {
	t.Parallel()
	knots, err := NewKnots(block, []float64{125, 125, 225})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []float64{0.08, 0} {
		r := rand.New(rand.NewPCG(8, 1))
		var picks []moveout.Pick
		for x := 0.0; x <= 1000; x += 50 {
			for y := -100.0; y <= 1000; y += 50 {
				d := size*math.Exp(-(math.Pow(x-600, 2)+math.Pow(y-300, 2))/(250*250)) + 0.03*r.NormFloat64()
				picks = append(picks, moveout.Pick{X: x, Y: y, Z: 100 + 700*r.Float64(), Gamma: math.Exp(d), Certainty: 0.5})
			}
		}
		s, err := Solve(t.Context(), TimeRows(picks, knots), knots, Options{Smoothing: []float64{0.01, 0.1, 1}, Damping: 1e-4, Bound: 1, Iterations: 200, Rounds: 2}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Choice.None != (size == 0) {
			t.Errorf("a change of %g: %+v", size, *s.Choice)
		}
	}
	block, fold := blocksOf(&Rows{x: [][2]float64{{0, 0}, {100, 100}, {0, 100}, {100, 0}, {50, 50}}})
	if want := []int{0, 63, 7, 56, 36}; len(fold) != 64 || block[0] != want[0] || block[1] != want[1] || block[2] != want[2] || block[3] != want[3] || block[4] != want[4] {
		t.Errorf("blocks %v of %d, want %v of 64", block, len(fold), want)
	}
	for i := range 7 {
		if fold[8*i] == fold[8*(i+1)] || fold[i] == fold[i+1] {
			t.Errorf("neighbours of block %d are left out together: %v", i, fold)
		}
	}
}
