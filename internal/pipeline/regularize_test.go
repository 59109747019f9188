package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/formulation"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// formulated is the problem that the configuration makes, with rows.
func (p *problem) formulated(t *testing.T, engine string, set ...string) (*Job, *Operator, *formulation.Formulation) {
	t.Helper()
	j, op := p.ready(t, engine, set...)
	d, err := j.Data()
	must(t, err)
	must(t, j.LoadStart())
	f, err := op.formulate(context.Background(), d, j.start)
	must(t, err)
	return j, op, f
}

// The rows are adjoint, the data's row stays first, and the weight is in units of the
// largest singular value: it changes with the operator's scale, not with the grid's
// spacing.
func TestRegularizationRows(t *testing.T) {
	for _, make := range []func(*testing.T) *problem{line, cube} {
		p := make(t)
		_, op, f := p.formulated(t, "reference", "solver.damping=0.5", "solver.regularization=dip", "solver.regularization_weight=0.3")
		e, err := dist.DotTest(context.Background(), device.NewHost(1), f.Problem.(*solver.Held).A, 2)
		must(t, err)
		if e > 1e-13 {
			t.Errorf("dot test %g", e)
		}
		if f.Problem.(*solver.Held).D.Parts[0].Layout != op.lifted.Range() || len(f.Problem.(*solver.Held).D.Parts) != 3 {
			t.Fatalf("%d rows, the first is %v", len(f.Problem.(*solver.Held).D.Parts), f.Problem.(*solver.Held).D.Parts[0].Layout)
		}
	}
}

// A weight is dimensionless: data in other units change the image by their factor.
func TestRegularizationHasNoUnits(t *testing.T) {
	set := []string{"solver.regularization=dip", "solver.regularization_weight=0.2"}
	p := line(t)
	want := p.solve(t, "reference", set...).Image
	s := *p.survey
	s.Data, s.Wavelet.Samples = slices.Clone(s.Data), slices.Clone(s.Wavelet.Samples)
	for i := range s.Data {
		s.Data[i] *= 1024
	}
	for i := range s.Wavelet.Samples {
		s.Wavelet.Samples[i] *= 64
	}
	p.record(t, &s)
	got := p.solve(t, "reference", set...).Image
	for i := range got {
		got[i] /= 16
	}
	near(t, "in other units", got, want, 1e-6)
}

// Every method comes to the same regularised minimum, which is smoother the larger the
// weight; the history is that of the data misfit.
func TestRegularizedSolve(t *testing.T) {
	p := line(t)
	rough := func(image []float32) (sum float64) {
		n := p.grid.Shape
		for x := 1; x < n[0]-1; x++ {
			for z := 1; z < n[1]-1; z++ {
				dx, dz := image[(x+1)*n[1]+z]-image[x*n[1]+z], image[x*n[1]+z+1]-image[x*n[1]+z]
				sum += float64(dx*dx + dz*dz)
			}
		}
		return math.Sqrt(sum)
	}
	last := math.Inf(1)
	for _, weight := range []float64{0.003, 0.03, 0.3} {
		set := []string{"solver.regularization=dip", fmt.Sprintf("solver.regularization_weight=%g", weight)}
		r := p.solve(t, "reference", append(set, "solver.iterations=60")...)
		if now := rough(r.Image); !(now < last) {
			t.Errorf("weight %g: roughness %g, with a smaller weight %g", weight, now, last)
		} else {
			last = now
		}
		want := p.misfit(t, r.Image, "reference")
		if got := r.History.Residual[len(r.History.Residual)-1]; !(abs(got-want) <= 1e-5*want) {
			t.Errorf("weight %g: the history ends at %g, |data - A m| is %g", weight, got, want)
		}
		if weight == 0.3 {
			near(t, "cg", p.solve(t, "reference", append(set, "solver.iterations=60", "solver.method=cg")...).Image, r.Image, 1e-4)
		}
	}
}

// Of layers that dip, the dip-steered rows see less than differences in all directions do: they
// smooth along the layers alone.
func TestDipsAreThoseOfTheImage(t *testing.T) {
	p := wide(t)
	j, op := p.ready(t, "cpu")
	n := p.grid.Shape
	image := make([]float32, p.grid.Len())
	for x := range n[0] {
		for z := range n[1] {
			image[x*n[1]+z] = float32(math.Sin(0.9 * (float64(z) - 0.4*float64(x))))
		}
	}
	v, err := op.ImageVector(ReadPoints(image))
	must(t, err)
	norm := func(r dist.Operator, err error) float64 {
		must(t, err)
		y, err := dist.NewVector(j.process.Device, r.Range())
		must(t, err)
		must(t, r.Apply(context.Background(), y, v))
		norm, err := dist.Norm(y)
		must(t, err)
		return norm
	}
	s, err := op.setting(nil)
	must(t, err)
	along := norm(formulation.RegulariserOf("dip").Rows(s, v))
	all := math.Hypot(norm(dist.Difference(v.Layout, 0)), norm(dist.Difference(v.Layout, 1)))
	if !(along < 0.1*all) {
		t.Errorf("along the layers %g, in all directions %g", along, all)
	}
}

// Rows are the same bits on any grid and any number of threads, and after a resume.
func TestRegularizationOnRanks(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*testing.T) *problem
		set  []string
	}{
		"damped":   {wide, []string{"solver.regularization=dip", "solver.damping=0.2"}},
		"dip":      {wide, []string{"solver.regularization=dip"}},
		"cg, 3-D":  {long, []string{"solver.regularization=dip", "solver.method=cg"}},
		"dip, 3-D": {long, []string{"solver.regularization=dip"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.make(t)
			set := append(c.set, "solver.regularization_weight=0.05", "solver.iterations=3")
			want := p.solveOn(t, 1, append(set, "machine.threads=1")...)
			for _, g := range [][2]int{{3, 1}, {2, 2}, {1, 6}} {
				on := append(slices.Clone(set), fmt.Sprintf("comm.grid=%d,%d", g[0], g[1]), "machine.threads=2")
				sameResult(t, fmt.Sprint(g), p.solveOn(t, g[0]*g[1], on...), want)
			}
			stopped(t, p.stopAfter(t, 2, "cpu", false, set...))
			j, op := p.ready(t, "cpu", set...)
			r, err := j.solve(context.Background(), op, true)
			must(t, err)
			sameResult(t, "resumed", r, want)
		})
	}
}

// What the rows take is in the prediction.
func TestMemoryOfRegularization(t *testing.T) {
	for _, make := range []func(*testing.T) *problem{line, cube} {
		p := make(t)
		memory := func(set ...string) int64 {
			m := p.open(t, NeedGeometry, progress.Discard(), "cpu", set...).Memory()
			return m.Vectors + m.Gather // of the rest nothing changes but what is there before them
		}
		plain := memory()
		n := int64(4 * p.grid.Len())
		dim := int64(p.grid.Dim())
		// CGLS has two vectors of data besides the data themselves. Rank 0 gathers the image of which
		// it finds the dips.
		images := 3*(dim-1) + dim*(dim-1) + 3 + 1 + map[int64]int64{2: 5, 3: 12}[dim]
		if got := memory("solver.regularization=dip", "solver.regularization_weight=1") - plain; got != images*n {
			t.Errorf("in %d-D: %d bytes more, want %d images of %d", dim, got, images, n)
		}
	}
}

// On a GPU rows do what they do on the host.
func TestRegularizationOnCards(t *testing.T) {
	gputest.Need(t)
	p := line(t)
	set := []string{"solver.regularization=dip", "solver.regularization_weight=0.1"}
	near(t, "dip", p.solveOnCards(t, 1, set...).Image, p.solve(t, "cpu", set...).Image, 1e-4)
}
