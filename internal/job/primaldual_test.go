package job

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// variation is the total variation of an image: the sum of the lengths of its gradient,
// whose components are zero at both ends of their axis.
func variation(image []float32, shape []int) (sum float64) {
	for i := range image {
		square, inner := 0.0, len(image)
		for _, n := range shape {
			inner /= n
			if at := i / inner % n; at > 0 && at < n-1 {
				square += math.Pow(float64(image[i+inner])-float64(image[i]), 2)
			}
		}
		sum += math.Sqrt(square)
	}
	return sum
}

// The objective of primal-dual is what the configuration says, of the image that is written,
// and its gap shrinks.
func TestPrimalDualObjective(t *testing.T) {
	for name, c := range map[string]struct {
		make    func(*testing.T) *problem
		set     []string
		penalty func(p *problem, image []float32) float64
	}{
		"total variation":      {line, []string{"solver.total_variation=4"}, func(p *problem, m []float32) float64 { return 4 * variation(m, p.grid.Shape) }},
		"total variation, 3-D": {cube, []string{"solver.total_variation=4"}, func(p *problem, m []float32) float64 { return 4 * variation(m, p.grid.Shape) }},
		"below hills": {hills, []string{"solver.total_variation=4", "image.surface=survey", "image.surface_taper=20"},
			func(p *problem, m []float32) float64 { return 4 * variation(m, p.grid.Shape) }},
		"sparsity": {line, []string{"solver.sparsity=4"}, func(_ *problem, m []float32) (l1 float64) {
			for _, v := range m {
				l1 += 4 * abs(float64(v))
			}
			return l1
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.make(t)
			r := p.solve(t, "cpu", append(c.set, "solver.method=primal-dual", "solver.iterations=60")...)
			misfit := p.misfit(t, r.Image, "cpu")
			h := r.History
			got, want := h.Objective[59], misfit*misfit/2+c.penalty(p, r.Image)
			if !(abs(got-want) <= 1e-5*want) {
				t.Errorf("objective %g, want %g", got, want)
			}
			if !(h.Gap[59] < 0.2*h.Gap[4]) || len(h.Gap) != 60 {
				t.Errorf("the gap goes from %g to %g", h.Gap[4], h.Gap[59])
			}
		})
	}
}

// blocks is a problem whose image is made of blocks, and the image. The traces are noisy.
func blocks(t *testing.T) (*problem, []float32) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{30, 24}}
	s := &survey.Survey{
		Dim: 2, Fixed: true, NT: 140, DT: 0.004,
		Wavelet: survey.Wavelet{Samples: []float64{-0.3, 0.1, 1, 0.2, -0.4}, DT: 0.004, Zero: 2},
	}
	for i := range 7 {
		s.Sources = append(s.Sources, 48*float64(i), 0)
	}
	for i := range 15 {
		s.Receivers = append(s.Receivers, 20*float64(i), 0)
	}
	p := newProblem(t, g, s)
	truth := make([]float32, g.Len())
	for i := range truth {
		x, z := i/24, i%24
		switch {
		case x > 4 && x < 13 && z > 6 && z < 14:
			truth[i] = 1
		case x > 15 && x < 26 && z > 9 && z < 20:
			truth[i] = -0.6
		}
	}
	with := *p.survey
	with.Data = p.model(t, truth, "cpu")
	random, level := rand.New(rand.NewPCG(60, 1)), norm(with.Data)/math.Sqrt(float64(len(with.Data)))
	for i := range with.Data {
		with.Data[i] += float32(0.3 * level * random.NormFloat64())
	}
	p.record(t, &with)
	return p, truth
}

// Of an image of blocks total variation finds more than least squares and sparsity do, each
// with the best of several weights or numbers of iterations.
func TestBlockyImage(t *testing.T) {
	p, truth := blocks(t)
	best := func(list ...[]string) (least float64) {
		least = math.Inf(1)
		for _, set := range list {
			least = min(least, relativeDifference(p.solve(t, "cpu", set...).Image, truth))
		}
		return least
	}
	var cgls, fista, variation [][]string
	for _, n := range []int{12, 25, 50} {
		cgls = append(cgls, []string{"solver.method=cgls", fmt.Sprint("solver.iterations=", n)})
	}
	for _, w := range []string{"0.003", "0.01"} {
		fista = append(fista, []string{"solver.method=fista", "solver.iterations=200", "solver.penalty_scale=relative", "solver.sparsity=" + w})
		variation = append(variation, []string{"solver.method=primal-dual", "solver.iterations=200", "solver.penalty_scale=relative", "solver.total_variation=" + w})
	}
	a, b, c := best(cgls...), best(fista...), best(variation...)
	t.Logf("relative errors: cgls %.3f, fista %.3f, total variation %.3f", a, b, c)
	if !(c < 0.7*a && c < 0.7*b) {
		t.Errorf("relative errors: cgls %.3f, fista %.3f, total variation %.3f", a, b, c)
	}
}

// With sparsity over classes, points are zero in all of them or in none.
func TestGroupSparsityOfGathers(t *testing.T) {
	p := line(t)
	set := append([]string{"solver.method=primal-dual", "solver.iterations=60", "solver.penalty_scale=relative", "image.gathers=offset", "image.gather_bins=0,30,60,2000"}, "solver.group_sparsity=0.2")
	gathers := p.gathers(t, set...)
	n := p.grid.Len()
	zeros := 0
	for i := range n {
		none := 0
		for c := range 3 {
			if gathers[c*n+i] == 0 {
				none++
			}
		}
		if none == 3 {
			zeros++
		} else if none > 0 {
			t.Fatalf("point %d is zero in %d of 3 classes", i, none)
		}
	}
	if zeros < n/10 || zeros == n {
		t.Errorf("%d of %d points are zero", zeros, n)
	}
	set[len(set)-1] = "solver.group_sparsity=1.001"
	if left := p.gathers(t, set...); !survey.Silent(left) {
		t.Errorf("a sparsity of 1 leaves values up to %g", survey.Peak(left))
	}
}

// Total variation finds the same gathers with image.gather_normalize and without it, and the image
// is their mean by the illumination.
func TestTotalVariationOfNormalizedGathers(t *testing.T) {
	p := line(t)
	set := []string{"solver.method=primal-dual", "solver.iterations=10", "solver.total_variation=2", "image.gathers=offset", "image.gather_bins=0,40,150"}
	normal := append(slices.Clone(set), "image.gather_normalize=illumination")
	p.solveTo(t, p.path("plain.h5"), 1, set...)
	p.solveTo(t, p.path("normal.h5"), 1, normal...)
	_, want := readGathers(t, p.path("plain.h5"))
	_, got := readGathers(t, p.path("normal.h5"))
	equal(t, "gathers", got, want)
	im, err := h5.ReadImage(p.path("normal.h5"))
	must(t, err)
	near(t, "image", im.Data, meanBy(illuminated(t, p, set), got, len(im.Data)), 1e-4)
}

// gathers are the images by class that a solve makes, one after the other.
func (p *problem) gathers(t *testing.T, set ...string) (all []float32) {
	t.Helper()
	for _, part := range p.solve(t, "cpu", set...).Classes.Rows() {
		image := make([]float32, part.Layout.N)
		must(t, device.Download(image, part.Buf))
		all = append(all, image...)
	}
	return all
}

// What the method takes is in the prediction: besides x and data, 7 images, where FISTA has 3,
// and for total variation the components of a gradient twice.
func TestMemoryOfPrimalDual(t *testing.T) {
	for _, make := range []func(*testing.T) *problem{line, cube} {
		p := make(t)
		memory := func(set ...string) int64 {
			return p.open(t, plan.Geometry, progress.Discard(), "cpu", set...).Memory().Vectors
		}
		n, dim := int64(4*p.grid.Len()), int64(p.grid.Dim())
		plain := memory("solver.method=primal-dual")
		if got := plain - memory("solver.method=fista"); got != 4*n {
			t.Errorf("primal-dual in %d-D: %d bytes more than fista, want 4 images of %d", dim, got, n)
		}
		// The scratch of the stack's adjoint is one image.
		if got := memory("solver.method=primal-dual", "solver.total_variation=1") - plain; got != (2*dim+1)*n {
			t.Errorf("total variation in %d-D: %d bytes more, want %d images of %d", dim, got, 2*dim+1, n)
		}
	}
}

// On a card it does what it does on the host.
func TestPrimalDualOnCards(t *testing.T) {
	gputest.Need(t)
	p := line(t)
	for _, set := range [][]string{
		{"solver.total_variation=4", "solver.sparsity=1"},
		append([]string{"solver.group_sparsity=2", "solver.total_variation=1"}, byOffset...),
	} {
		set = append(set, "solver.method=primal-dual")
		near(t, fmt.Sprint(set), p.solveOnCards(t, 1, set...).Image, p.solve(t, "cpu", set...).Image, 1e-4)
	}
}
