package pipeline

import (
	"context"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// ground is z of the topography of hills: two hills and a valley, m.
func ground(x float64) float64 { return 60 - 25*math.Sin(2*math.Pi*x/500) }

// hills is a land line: a split spread of eight stations each side moves over a hilly
// surface, its sources at every other station.
func hills(t *testing.T) *problem {
	g := grid.Grid{Origin: []float64{-20, 0}, Spacing: []float64{5, 5}, Shape: []int{200, 40}}
	s := &survey.Survey{
		Dim: 2, NT: 90, DT: 0.004,
		Wavelet: survey.Wavelet{Samples: []float64{-0.3, 0.1, 1, 0.2, -0.4}, DT: 0.004, Zero: 2},
	}
	const stations, step = 40, 20.0
	for i := range stations {
		x := step * float64(i)
		s.Receivers = append(s.Receivers, x, ground(x))
		if i%2 == 0 {
			s.Sources = append(s.Sources, x, ground(x))
		}
	}
	for k := range s.NumSources() {
		for i := max(0, 2*k-8); i <= min(stations-1, 2*k+8); i++ {
			s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(k)), append(s.ReceiverIndex, int32(i))
		}
	}
	return newProblem(t, g, s)
}

func download(t *testing.T, b device.Buf) []float32 {
	t.Helper()
	out := make([]float32, b.Len())
	must(t, device.Download(out, b))
	return out
}

// The surface of a land line goes through its stations, whose tables sources and
// receivers share, and the image ends there.
func TestLandLine(t *testing.T) {
	p := hills(t)
	set := []string{"image.surface=survey", "solver.iterations=3"}
	j, op := p.ready(t, "cpu", set...)
	if n := j.plan.Geometry.Places.Len(); n != 40 {
		t.Errorf("%d places, want one for each of 40 stations", n)
	}
	for i, z := range j.plan.Geometry.Surface.Z {
		x := min(max(p.grid.Coord(0, i), 0), 780)
		k := math.Floor(x / 20)
		f := x/20 - k
		if want := (1-f)*ground(20*k) + f*ground(20*k+20); math.Abs(z-want) > 1e-9 {
			t.Errorf("x = %g m: surface at %g m, want %g", x, z, want)
		}
	}
	above := func(n int) bool { return p.grid.Coord(1, n%40) < j.plan.Geometry.Surface.Z[n/40]-1e-6 }
	solved, err := j.solve(context.Background(), op, false)
	must(t, err)
	full := p.solve(t, "cpu", "solver.iterations=3")
	for what, image := range map[string][2][]float32{
		"migration": {p.migrate(t, "cpu", set...), p.migrate(t, "cpu")},
		"solve":     {solved.Image, full.Image},
	} {
		kept, gone := 0.0, 0.0
		for n, v := range image[0] {
			switch {
			case above(n) && v != 0:
				t.Fatalf("%s: %g at point %d, above the surface", what, v, n)
			case above(n):
				gone += math.Abs(float64(image[1][n]))
			default:
				kept += math.Abs(float64(v))
				if what == "migration" && v != image[1][n] {
					t.Fatalf("migration: %g at point %d, want %g", v, n, image[1][n])
				}
			}
		}
		if kept == 0 || gone == 0 {
			t.Errorf("%s: the test shows nothing", what)
		}
	}
	reflectivity := noise(p.grid.Len(), 3)
	cut := slices.Clone(reflectivity)
	for n := range cut {
		if above(n) {
			cut[n] = 0
		}
	}
	equal(t, "model", p.model(t, reflectivity, "cpu", set...), p.model(t, cut, "cpu"))
}

// A tapered image is S x with the x that fits the data, from a start model too.
func TestSurfaceTaper(t *testing.T) {
	p := hills(t)
	set := []string{"image.surface=survey", "image.surface_taper=20", "solver.iterations=5", "solver.true_residual_every=0"}
	j, op := p.ready(t, "reference", set...)
	s, err := j.op.setting(nil)
	must(t, err)
	for n, got := range download(t, s.Below.Buf) {
		d := p.grid.Coord(1, n%40) - j.plan.Geometry.Surface.Z[n/40]
		want := math.Pow(math.Sin(math.Pi/2*min(max(d/20, 0), 1)), 2)
		if math.Abs(float64(got)-want) > 1e-6 {
			t.Fatalf("%g m below the surface: weight %g, want %g", d, got, want)
		}
	}
	r, err := j.solve(context.Background(), op, false)
	must(t, err)
	predicted := p.model(t, r.Image, "reference")
	for i, d := range p.survey.Data {
		predicted[i] = d - predicted[i]
	}
	if h := r.History.Residual; math.Abs(norm(predicted)/h[len(h)-1]-1) > 1e-5 {
		t.Errorf("the image leaves %g, the history says %g", norm(predicted), h[len(h)-1])
	}
	must(t, j.WriteResult(p.path("start.h5"), r.Result, Source{}))
	again := p.solve(t, "reference", append(set, "solver.start="+p.path("start.h5"))...)
	if a, b := again.History.Residual[0], norm(predicted); math.Abs(a/b-1) > 1e-4 {
		t.Errorf("started again at %g, want %g", a, b)
	}
}

// writeSurface writes a topography.
func writeSurface(t *testing.T, path string, shape []int, z, origin, spacing []float64) {
	t.Helper()
	w, err := h5.Create(path, h5.FormatModel, h5.WriteOptions{Force: true})
	must(t, err)
	defer w.Abort()
	must(t, h5.Write(w, "/surface", shape, z, h5.Attr{Name: "origin", Value: origin}, h5.Attr{Name: "spacing", Value: spacing}))
	must(t, w.Commit())
}

func TestSurfaceFile(t *testing.T) {
	p := line(t)
	file := p.path("ground.h5")
	set := []string{"image.surface=file", "image.surface_file=" + file}
	writeSurface(t, file, []int{3}, []float64{0, 20, 10}, []float64{-20}, []float64{60})
	j := p.open(t, NeedPlanning, progress.Discard(), "cpu", set...)
	for i, z := range j.plan.Geometry.Surface.Z { // columns are 10 m apart
		want := 20 * float64(i) / 6
		if i > 6 {
			want = 20 - 10*float64(i-6)/6
		}
		if math.Abs(z-want) > 1e-12 {
			t.Errorf("column %d: %g m, want %g", i, z, want)
		}
	}
	if got := j.identity(); got["surface file's contents"] == "" || got["image.surface_file"] != "" {
		t.Error("a checkpoint does not know the surface by its contents")
	}
	// Receivers lie at z = 0 and 3 m, up to 20 m above it.
	one, err := NewForecast(j.plan, []int{0, 1}, 1)
	must(t, err)
	warned := false
	for _, f := range one.Findings() {
		warned = warned || f.Level == "warning" && regexp.MustCompile(`^\d of 8 positions lie more than 10 m above it, receiver 2 at \(40, 3\) m by 17 m$`).MatchString(f.Text)
	}
	if !warned {
		t.Error("nothing said about positions above the surface")
	}
	c := cube(t)
	at := c.path("ground.h5")
	three := []string{"image.surface=file", "image.surface_file=" + at}
	writeSurface(t, at, []int{2, 2}, []float64{0, 40, 60, 100}, []float64{0, -10}, []float64{60, 40})
	for n, z := range c.open(t, NeedGeometry, progress.Discard(), "cpu", three...).plan.Geometry.Surface.Z {
		if want := float64(12*(n/5)) + float64(10*(n%5)); math.Abs(z-want) > 1e-12 {
			t.Errorf("column %d: %g m, want %g", n, z, want)
		}
	}

	for text, bad := range map[string]func(){
		"/surface: has shape [2, 2], want [nx] for an image of 2 axes":            func() { writeSurface(t, file, []int{2, 2}, make([]float64, 4), []float64{0, 0}, []float64{1, 1}) },
		"/surface covers x 0 to 60 m, the image needs -20 to 100 m":               func() { writeSurface(t, file, []int{2}, make([]float64, 2), []float64{0}, []float64{60}) },
		"is NaN m at point [1] at (-10) m, must be finite":                        func() { writeSurface(t, file, []int{2}, []float64{0, math.NaN()}, []float64{-20}, []float64{10}) },
		"/surface: grid: spacing along x is -1 m, must be positive":               func() { writeSurface(t, file, []int{2}, make([]float64, 2), []float64{-20}, []float64{-1}) },
		"its highest point, z = 500 m, lies below the image, which ends at 100 m": func() { writeSurface(t, file, []int{2}, []float64{500, 600}, []float64{-20}, []float64{200}) },
	} {
		bad()
		refused(t, p, status.BadInput, text, set...)
	}
	writeSurface(t, file, []int{2}, []float64{-30, -20}, []float64{-20}, []float64{200})
	if j := p.open(t, NeedTraces, progress.Discard(), "cpu", set...); j.plan.Geometry.Surface != nil {
		t.Error("a surface above the image is kept")
	}
}
