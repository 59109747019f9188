package tomography

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

var model = grid.Grid{Origin: []float64{-100, 0}, Spacing: []float64{20, 20}, Shape: []int{161, 101}}

// medium grows with depth and has a lens; with tilt it is anisotropic. It is changed by δ.
func medium(knots *Knots, c []float64, tilted bool) traveltime.Medium {
	m := traveltime.Medium{Grid: model, Slab: [2]int{0, model.Shape[0]}, Values: make([]float64, model.Len())}
	delta, x := knots.On(model, c), make([]float64, 2)
	m.Least = math.Inf(1)
	for i := range m.Values {
		model.Point(x, i)
		m.Values[i] = (1700 + 0.5*x[1] + 300*math.Exp(-(math.Pow(x[0]-1300, 2)+math.Pow(x[1]-900, 2))/1e5)) * math.Exp(-delta[i])
		m.Least, m.Greatest = min(m.Least, m.Values[i]), max(m.Greatest, m.Values[i])
	}
	if tilted {
		m.Anisotropic = true
		m.Anisotropy.Epsilon = slices.Repeat([]float64{0.15}, model.Len())
		m.Anisotropy.Delta = slices.Repeat([]float64{0.06}, model.Len())
		m.Anisotropy.Tilt = slices.Repeat([]float64{20}, model.Len())
	}
	return m
}

func eikonal(t *testing.T, m traveltime.Medium) traveltime.Method {
	t.Helper()
	e, err := traveltime.New("eikonal", traveltime.Spec{Image: model, Medium: m})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// times of one place at points.
func times(t *testing.T, m traveltime.Method, p *survey.Positions, points []point) (out []float64) {
	t.Helper()
	err := m.Solve(context.Background(), p, []int{0}, traveltime.Options{Threads: 1}, func(_ int, f traveltime.Field) error {
		for _, x := range points {
			out = append(out, at(model, [][]float64{f.Branches[0].Time}, x)[0])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A ray's row is the derivative of the eikonal equation's times by the coefficients.
func TestRowsAreDerivativesOfTimes(t *testing.T) {
	knots, err := NewKnots(model, []float64{800, 500})
	if err != nil {
		t.Fatal(err)
	}
	s := &survey.Survey{Dim: 2, Sources: []float64{310, 20}, Receivers: []float64{310, 20}, SourceIndex: []int32{0}, ReceiverIndex: []int32{0}}
	places := s.Distinct(true)
	points := []point{{1400, 1500}, {2600, 1200}, {300, 1800}, {1000, 600}}
	none := make([]float64, knots.Len())
	for _, tilted := range []bool{false, true} {
		t.Run(fmt.Sprintf("tilted=%v", tilted), func(t *testing.T) {
			m := eikonal(t, medium(knots, none, tilted))
			rows := make([][]float64, len(points))
			err := m.Solve(context.Background(), places, []int{0}, traveltime.Options{Gradient: true, Threads: 1}, func(_ int, f traveltime.Field) error {
				tr := newTracer(m, f.Branches[0], places.At(0), knots)
				for i, x := range points {
					r := tr.ray(x)
					if r.lost {
						t.Errorf("the ray from %v is lost", x)
					}
					rows[i] = make([]float64, knots.Len())
					for n, k := range r.at {
						rows[i][k] = r.value[n]
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			const h = 0.01
			worst := 0.0
			for _, k := range []int{7, 16, 17, 18, 25, 26} {
				up, down := slices.Clone(none), slices.Clone(none)
				up[k], down[k] = h, -h
				late := times(t, eikonal(t, medium(knots, up, tilted)), places, points)
				early := times(t, eikonal(t, medium(knots, down, tilted)), places, points)
				for i := range points {
					want, got := (late[i]-early[i])/(2*h), rows[i][k]
					if worst = max(worst, math.Abs(got-want)/slices.Max(rows[i])); math.Abs(got-want) > 0.002*slices.Max(rows[i]) {
						t.Errorf("∂T/∂c of knot %d at %v is %.5f, by differences %.5f", k, points[i], got, want)
					}
				}
			}
			t.Logf("largest difference %.4f of the largest derivative", worst)
		})
	}
}

// A layer is lit by the trace whose midpoint lies where the normal of the layer comes up.
func TestLayersAreLitAlongTheirNormals(t *testing.T) {
	s := &survey.Survey{Dim: 2}
	for i := range 60 {
		x := 50 * float64(i)
		s.Sources, s.Receivers = append(s.Sources, x-30, 0), append(s.Receivers, x+30, 0)
		s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(i)), append(s.ReceiverIndex, int32(i))
	}
	m := traveltime.Medium{Grid: model, Slab: [2]int{0, model.Shape[0]}, Values: slices.Repeat([]float64{2000}, model.Len()), Least: 2000, Greatest: 2000}
	l := &Rays{Survey: s, Places: s.Distinct(true), Times: eikonal(t, m), Limits: []float64{0, 100}, Mute: 2, Misfit: 5, Parts: 1, Threads: 2}
	for _, slope := range []float64{0.4, 0, -0.3} {
		p := moveout.Pick{X: 1500, Z: 1000, Slope: slope, Gamma: 1, Certainty: 1, Speed: 2, Far: 50}
		slowness, err := l.slowness(context.Background(), []moveout.Pick{p})
		if err != nil {
			t.Fatal(err)
		}
		lit := l.light(p, slowness[0], l.candidates())
		want := p.X + slope*p.Z
		if len(lit) != 1 || math.Abs(50*float64(lit[0].trace)-want) > 30 {
			t.Fatalf("slope %g: %+v, want a midpoint near %g", slope, lit, want)
		}
		if rise := 2.0 / 2000 / math.Hypot(1, slope); math.Abs(lit[0].rise-rise) > 0.01*rise {
			t.Errorf("slope %g: (p_s + p_r)_z is %g, want 2 s cos θ cos φ = %g", slope, lit[0].rise, rise)
		}
	}
}

// The splines of a point add up to one, and every point has some.
func TestKnotsAddUpToOne(t *testing.T) {
	knots, err := NewKnots(model, []float64{333, 470})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range knots.On(model, slices.Repeat([]float64{1}, knots.Len())) {
		if math.Abs(v-1) > 1e-12 {
			t.Fatalf("point %d: %g", i, v)
		}
	}
	if _, err := NewKnots(model, []float64{10, 470}); err == nil {
		t.Error("knots closer than points are taken")
	}
}

func TestRowsAreAdjoint(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	rows := NewRows(42)
	for i := range 77 {
		rows.Add([2]float64{float64(i)}, []int32{int32(r.IntN(42)), 5, 5}, []float64{r.NormFloat64(), r.NormFloat64(), 1}, r.NormFloat64())
		if i%10 == 7 {
			rows.Center()
		}
	}
	weight := make([]float64, rows.Len())
	for i := range weight {
		weight[i] = r.Float64()
	}
	off, err := dist.DotTest(context.Background(), device.NewHost(1), rows.Operator([]int{6, 7}, weight), 1)
	if err != nil || off > 1e-12 {
		t.Errorf("dot test %g, %v", off, err)
	}
}

// Rows and data of a pick have no mean, and the data are depths on the curve and off it.
func TestRowsOfAPickAreCentered(t *testing.T) {
	s := &survey.Survey{Dim: 2, Sources: []float64{900, 0}, Receivers: []float64{1000, 0, 1200, 0, 1500, 0}, SourceIndex: []int32{0, 0, 0}, ReceiverIndex: []int32{0, 1, 2}}
	l := &Rays{Survey: s}
	p := moveout.Pick{Z: 1000, Gamma: 0.9, Certainty: 0.5, Speed: 2, Shifts: []float64{4, -7, 9}}
	pairs := make([]pair, 3)
	for i := range pairs {
		pairs[i] = pair{trace: i, class: i, rise: 1e-3, rays: [2]*ray{{at: []int32{0, 1}, value: []float64{0.1, 0.2 * float64(i)}}, {at: []int32{1}, value: []float64{0.3}}}}
	}
	rows := NewRows(2)
	l.add(rows, p, pairs, make([]float64, 2))
	depth := []float64{p.Moveout(100) + 4, p.Moveout(300) - 7, p.Moveout(600) + 9}
	mean := (depth[0] + depth[1] + depth[2]) / 3
	y := make([]float64, 3)
	rows.forward(y, []float64{7, 0.01}, []float64{1, 1, 1})
	for i := range y {
		if want := -0.5 * (depth[i] - mean); math.Abs(rows.data[i]-want) > 1e-12 {
			t.Errorf("datum %d is %g, want %g", i, rows.data[i], want)
		}
		if want := -0.5 * 0.01 * 0.2 * float64(i-1) / 1e-3; math.Abs(y[i]-want) > 1e-12 {
			t.Errorf("row %d gives %g, want %g", i, y[i], want)
		}
	}
}

// even are knots, and picks in time that all say 0.9.
func even(t *testing.T) (*Knots, []moveout.Pick) {
	t.Helper()
	knots, err := NewKnots(model, []float64{800, 500})
	if err != nil {
		t.Fatal(err)
	}
	var picks []moveout.Pick
	for x := 0.0; x < 3000; x += 100 {
		for z := 100.0; z < 2000; z += 100 {
			picks = append(picks, moveout.Pick{X: x, Z: z, Gamma: 0.9, Certainty: 0.5})
		}
	}
	return knots, picks
}

// A solution that is interrupted is an error, not half a solution.
func TestInterruptedSolutionIsNone(t *testing.T) {
	knots, picks := even(t)
	ctx, cancel := context.WithCancel(context.Background())
	rows := TimeRows(picks, knots)
	cancel()
	if s, err := Solve(ctx, rows, knots, Options{Smoothing: []float64{0.1}, Bound: 0.2, Iterations: 50, Rounds: 1}, nil); err == nil {
		t.Errorf("a solution: %+v", s)
	}
}

// In time the solution is the mean of the picks where nothing else is asked for.
func TestTimeRowsFitPicks(t *testing.T) {
	knots, picks := even(t)
	picks[20].Gamma = 1.3 // a slip
	s, err := Solve(context.Background(), TimeRows(picks, knots), knots, Options{Smoothing: []float64{0.1}, Bound: 0.2, Iterations: 400, Rounds: 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range knots.On(model, s.Coefficients) {
		if math.Abs(v-math.Log(0.9)) > 0.004 {
			t.Fatalf("δ of point %d is %.4f, want %.4f", i, v, math.Log(0.9))
		}
	}
	s, err = Solve(context.Background(), TimeRows(picks, knots), knots, Options{Smoothing: []float64{0.1}, Bound: 0.05, Iterations: 400, Rounds: 1}, nil)
	if err != nil || s.Cut == 0 || -slices.Min(s.Coefficients) != 0.05 {
		t.Errorf("the bound cuts %d coefficients to %g: %v", s.Cut, slices.Min(s.Coefficients), err)
	}
}

// A problem that is linear has no second update: what is left after the first is what the penalties left.
func TestASecondUpdateIsNone(t *testing.T) {
	knots, err := NewKnots(model, []float64{800, 500})
	if err != nil {
		t.Fatal(err)
	}
	picks := scattered(0.03, func(x, z float64) float64 { return 0.06 * math.Sin(x/500) })
	o := Options{Smoothing: []float64{0.1}, Damping: 0.01, Bound: 1, Iterations: 400, Rounds: 1}
	rows := TimeRows(picks, knots)
	first, err := Solve(t.Context(), rows, knots, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	left := rows.left(first.Coefficients)
	for i := range rows.data {
		rows.data[i] = -left[i]
	}
	second, err := Solve(t.Context(), rows, knots, o, first.Coefficients)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := rms(first.Coefficients), rms(second.Coefficients); !(b < 1e-4*a) {
		t.Errorf("the first update has %g rms, the second %g", a, b)
	}
	if again, err := Solve(t.Context(), rows, knots, o, nil); err != nil || rms(again.Coefficients) < 1e-2*rms(first.Coefficients) {
		t.Errorf("without those before the second update has %g rms, %v: the test says nothing", rms(again.Coefficients), err)
	}
}

// scattered are picks in time of a change of ln γ, with noise.
func scattered(noise float64, of func(x, z float64) float64) (picks []moveout.Pick) {
	r := rand.New(rand.NewPCG(8, 1))
	for x := 0.0; x < 3000; x += 60 {
		for z := 100.0; z < 2000; z += 150 {
			picks = append(picks, moveout.Pick{X: x, Z: z, Gamma: math.Exp(of(x, z) + noise*r.NormFloat64()), Certainty: 0.5})
		}
	}
	return picks
}

// Picks that are left out ask for a change where there is one, and for the smoother the more noise there is; of noise they ask
// for none.
func TestPicksThatAreLeftOutChoose(t *testing.T) {
	knots, err := NewKnots(model, []float64{200, 200})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Smoothing: []float64{0.001, 0.01, 0.1, 1}, Damping: 1e-4, Bound: 1, Iterations: 200, Rounds: 2}
	bump := func(x, z float64) float64 {
		return 0.08 * math.Exp(-(math.Pow(x-1500, 2)+math.Pow(z-1000, 2))/(400*400))
	}
	smooth := 0.0
	for _, c := range []struct {
		noise float64
		of    func(x, z float64) float64
		none  bool
	}{
		{0.002, bump, false},
		{0.05, bump, false},
		{0.05, func(x, z float64) float64 { return 0 }, true},
	} {
		s, err := Solve(t.Context(), TimeRows(scattered(c.noise, c.of), knots), knots, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("noise %g: %+v", c.noise, *s.Choice)
		if s.Choice.None != c.none || c.none != (rms(s.Coefficients) == 0) {
			t.Errorf("noise %g: no change %v, want %v; coefficients of %g rms", c.noise, s.Choice.None, c.none, rms(s.Coefficients))
		}
		if !c.none && !(s.Choice.Smoothing > smooth) {
			t.Errorf("noise %g asks for a smoothing of %g, less of it for %g", c.noise, s.Choice.Smoothing, smooth)
		}
		smooth = s.Choice.Smoothing
	}
}

// The deviation is that of solutions from picks of other noise, where the penalties hold little, and grows where picks are missing.
func TestDeviation(t *testing.T) {
	knots, err := NewKnots(model, []float64{400, 400})
	if err != nil {
		t.Fatal(err)
	}
	const noise, trials = 0.03, 40
	o := Options{Smoothing: []float64{0.003}, Damping: 1e-5, Bound: 1, Iterations: 300, Rounds: 1}
	points := grid.Grid{Origin: []float64{600, 500}, Spacing: []float64{300, 300}, Shape: []int{7, 4}}
	squares, said := make([]float64, points.Len()), 0.0
	for trial := range trials {
		r := rand.New(rand.NewPCG(uint64(trial), 9))
		picks := scattered(0, func(x, z float64) float64 { return noise * r.NormFloat64() })
		s, err := Solve(t.Context(), TimeRows(picks, knots), knots, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range knots.On(points, s.Coefficients) {
			squares[i] += v * v / trials
		}
		deviation, err := s.Deviation(points)
		if err != nil {
			t.Fatal(err)
		}
		said += sum(deviation) / float64(trials*len(deviation))
	}
	seen := 0.0
	for _, v := range squares {
		seen += math.Sqrt(v) / float64(len(squares))
	}
	t.Logf("solutions deviate by %.5f, are said to by %.5f", seen, said)
	if math.Abs(said/seen-1) > 0.1 {
		t.Errorf("solutions deviate by %g and are said to by %g", seen, said)
	}
	picks := slices.DeleteFunc(scattered(noise, func(x, z float64) float64 { return 0 }), func(p moveout.Pick) bool { return p.X > 1500 })
	s, err := Solve(t.Context(), TimeRows(picks, knots), knots, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Deviation(grid.Grid{Origin: []float64{700, 1000}, Spacing: []float64{1800, 10}, Shape: []int{2, 1}})
	if err != nil || !(d[1] > 3*d[0]) {
		t.Errorf("deviation of %g among picks and %g far from any, %v", d[0], d[1], err)
	}
}

// Centered rows count in the deviation as in the operator: H of addRows is Aᵀ A.
func TestDeviationHasTheOperatorsMatrix(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	knots, err := NewKnots(model, []float64{1600, 1000})
	if err != nil {
		t.Fatal(err)
	}
	n := knots.Len()
	rows := NewRows(n)
	for i := range 30 {
		rows.Add([2]float64{float64(i)}, []int32{int32(r.IntN(n)), int32(r.IntN(n)), 3}, []float64{r.NormFloat64(), r.NormFloat64(), 1}, 0)
		if i%5 == 4 {
			rows.Center()
		}
	}
	s := &Solution{rows: rows, knots: knots, weight: make([]float64, rows.Len())}
	for i := range s.weight {
		s.weight[i] = r.Float64()
	}
	h := mat.NewSymDense(n, nil)
	s.addRows(h)
	x, y, back := make([]float64, n), make([]float64, rows.Len()), make([]float64, n)
	for k := range n {
		clear(x)
		x[k] = 1
		rows.forward(y, x, s.weight)
		rows.adjoint(back, y, s.weight)
		for j, want := range back {
			if math.Abs(h.At(j, k)-want) > 1e-12 {
				t.Fatalf("element %d, %d is %g, want %g", j, k, h.At(j, k), want)
			}
		}
	}
}
