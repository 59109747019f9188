package job

import (
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// section is a 2-D problem of 12 shots into 40 receivers over random layers, whose data
// it has: the true image is known.
func section(t *testing.T) (p *problem, image []float32) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{90, 70}}
	s := &survey.Survey{Dim: 2, Fixed: true, NT: 260, DT: 0.004}
	for i := range 12 {
		s.Sources = append(s.Sources, 75*float64(i)+3, 0)
	}
	for i := range 40 {
		s.Receivers = append(s.Receivers, 22*float64(i)+8, 0)
	}
	w := survey.Wavelet{DT: s.DT, Zero: 20}
	for i := range 41 {
		a := math.Pow(math.Pi*20*s.DT*float64(i-20), 2)
		w.Samples = append(w.Samples, (1-2*a)*math.Exp(-a))
	}
	s.Wavelet = w
	p = newProblem(t, g, s)
	layers := noise(g.Shape[1], 5)
	for n := range g.Len() {
		x, z := n/g.Shape[1], n%g.Shape[1]
		image = append(image, layers[min(g.Shape[1]-1, max(0, z+x/9-5))])
		if z < 8 {
			image[n] = 0
		}
	}
	s.Data = p.model(t, image, "cpu", "kirchhoff.wavelet_filter=true")
	p.record(t, s)
	return p, image
}

// Seven of the preconditioner's iterations leave a smaller residual than sixteen without,
// and about the same error of the image; the coarser grid has its part in that.
func TestTwoLevel(t *testing.T) {
	p, image := section(t)
	set := []string{"kirchhoff.wavelet_filter=true"}
	result := func(more ...string) (residual, wrong float64) {
		r := p.solve(t, "cpu", append(slices.Clone(set), more...)...)
		h := r.History.Residual
		return h[len(h)-1] / h[0], relativeDifference(r.Image, image)
	}
	plain, plainWrong := result("solver.iterations=16")
	both, bothWrong := result("solver.iterations=7", "solver.preconditioner=two-level")
	windows, _ := result("solver.iterations=7", "solver.preconditioner=two-level", "solver.coarse_factor=1")
	t.Logf("residual %.4f after 16 iterations; preconditioned %.4f after 7, by windows alone %.4f; images off by %.3f and %.3f",
		plain, both, windows, plainWrong, bothWrong)
	if both >= plain || bothWrong >= 1.02*plainWrong {
		t.Errorf("residual %.4f and error %.3f after 7 iterations, %.4f and %.3f after 16 without preconditioner", both, bothWrong, plain, plainWrong)
	}
	if windows <= both {
		t.Errorf("residual %.4f without the coarser grid, %.4f with it", windows, both)
	}
}

// It comes to the plain solver's image where that is unique, below a surface, with
// weights and rows.
func TestTwoLevelSolve(t *testing.T) {
	p := line(t)
	set := []string{"solver.damping=1", "solver.iterations=60", "data.weights=rms", "solver.regularization=gradient",
		"solver.regularization_weight=0.05", "data.mute_offsets=0,60", "data.mute_times=0.02,0.05", "image.surface=survey"}
	for _, engine := range engines {
		want := p.solve(t, engine, set...)
		got := p.solve(t, engine, append(set, "solver.preconditioner=two-level", "solver.coarse_factor=2")...)
		if diff := relativeDifference(got.Image, want.Image); !(diff < 1e-4) {
			t.Errorf("%s: images differ by %.2e", engine, diff)
		}
	}
}

// The preconditioner is symmetric and positive where its inner iterations are those of
// a system they solve.
func TestTwoLevelIsSymmetric(t *testing.T) {
	for _, engine := range []string{"reference", "cpu", "cuda"} {
		t.Run(engine, func(t *testing.T) {
			if engine == "cuda" {
				gputest.Need(t)
			}
			checkSymmetry(t, engine)
		})
	}
}

func checkSymmetry(t *testing.T, engine string) {
	p := line(t)
	j, _ := p.ready(t, engine, "solver.preconditioner=two-level", "solver.coarse_factor=4", "solver.coarse_iterations=40", "solver.damping=1")
	d, err := j.Data()
	must(t, err)
	f, err := j.formulate(t.Context(), d)
	must(t, err)
	defer f.Close()
	x, mx := new(dist.Vector), new(dist.Vector)
	y, my := new(dist.Vector), new(dist.Vector)
	for i, v := range []**dist.Vector{&x, &y, &mx, &my} {
		*v, err = dist.NewVector(j.Device, f.Problem.Domain())
		must(t, err)
		if i < 2 {
			must(t, device.Upload((*v).Buf, noise((*v).Layout.N, uint64(i))))
		}
	}
	must(t, f.Preconditioner.Apply(t.Context(), mx, x))
	must(t, f.Preconditioner.Apply(t.Context(), my, y))
	inner := func(a, b *dist.Vector) float64 {
		v, err := dist.Dot(a, b)
		must(t, err)
		return real(v)
	}
	if a, b := inner(mx, y), inner(x, my); math.Abs(a-b) > 1e-6*math.Sqrt(inner(mx, mx)*inner(y, y)) {
		t.Errorf("⟨M x, y⟩ = %g, ⟨x, M y⟩ = %g", a, b)
	}
	if v := inner(x, mx); v <= 0 {
		t.Errorf("⟨x, M x⟩ = %g", v)
	}
}

// The coarser grid has about three points for a wavelength of the image.
func TestCoarseGrid(t *testing.T) {
	p, _ := section(t) // about 1815 m/s and 20 Hz: 45 m
	for set, want := range map[string][]int{"0": {45, 35}, "1": nil, "5": {18, 14}} {
		j := p.open(t, plan.Geometry, progress.Discard(), "cpu", "solver.preconditioner=two-level", "solver.coarse_factor="+set)
		c := j.Coarsened()
		if c == nil && want == nil {
			continue
		}
		if c == nil || !slices.Equal(c.Shape, want) {
			t.Errorf("factor %s: %v, want %v", set, c, want)
		}
	}
}
