package job

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Iterations in the image converge there and explain much of the data, whose residual at the
// start and at the end is the history.
func TestImageDomain(t *testing.T) {
	p, image := section(t)
	r := p.solve(t, "cpu", "kirchhoff.wavelet_filter=true", "solver.method=image-domain", "solver.iterations=10")
	h := r.History.Residual
	plain := p.solve(t, "cpu", "kirchhoff.wavelet_filter=true", "solver.iterations=10")
	t.Logf("residual %.3f; images off by %.3f, cgls by %.3f", h[1]/h[0], relativeDifference(r.Image, image), relativeDifference(plain.Image, image))
	if len(h) != 2 || len(r.InImage) != 11 || !(h[1] < 0.8*h[0]) || !(r.InImage[10] < 0.2*r.InImage[0]) {
		t.Errorf("residuals %v, in the image %v", h, r.InImage)
	}
}

// Point-spread functions stand for a symmetric, positive operator, and so does their inverse.
func TestSpreadIsSymmetric(t *testing.T) {
	p := line(t)
	for _, set := range []string{"solver.method=image-domain", "solver.preconditioner=point-spread"} {
		for _, engine := range append(slices.Clone(engines), "cuda") {
			if engine == "cuda" {
				gputest.Need(t)
			}
			j, _ := p.ready(t, engine, set, "solver.damping=1", "solver.psf_spacing=6,6", "solver.psf_shifts=2")
			d, err := j.Data()
			must(t, err)
			f, err := j.formulate(t.Context(), d)
			must(t, err)
			op := f.Preconditioner
			if b, ok := f.Problem.(*solver.Definite); ok {
				op = b.B
			}
			if e, err := dist.DotTest(t.Context(), j.Device, op, 1); err != nil || e > 1e-6 {
				t.Errorf("%s, %s: dot test %.1e, %v", set, engine, e, err)
			}
			x, err := dist.NewVector(j.Device, op.Domain())
			must(t, err)
			y, err := x.Clone()
			must(t, err)
			must(t, device.Upload(x.Buf, noise(x.Layout.N, 3)))
			must(t, op.Apply(t.Context(), y, x))
			if v, err := dist.Dot(x, y); err != nil || !(real(v) > 0) || math.IsInf(real(v), 0) {
				t.Errorf("%s, %s: ⟨x, C x⟩ = %g, %v", set, engine, v, err)
			}
		}
	}
}

func TestImageDomainOnRanks(t *testing.T) {
	p := wide(t)
	for _, by := range []string{"solver.method=image-domain", "solver.preconditioner=point-spread"} {
		set := []string{"solver.iterations=3", by, "data.weights=rms", "solver.damping=0.1"}
		want := p.solveOn(t, 1, append(slices.Clone(set), "machine.threads=1")...)
		for _, grid := range []string{"3,1", "1,3", "1,2"} {
			ranks := map[string]int{"3,1": 3, "1,3": 3, "1,2": 2}[grid]
			sameResult(t, by+" "+grid, p.solveOn(t, ranks, append(slices.Clone(set), "comm.grid="+grid)...), want)
		}
	}
}

func TestImageDomainRefused(t *testing.T) {
	p := line(t)
	for _, set := range []string{"solver.preconditioner=diagonal", "data.read=stream", "image.gathers=offset", "solver.wavelet=estimate", "solver.psf_spacing=5,5,5"} {
		err := p.on(1, []string{"solver.method=image-domain", set, "image.gather_bins=0,40,150"}, func(*Job) error { return nil })
		if key, _, _ := strings.Cut(set, "="); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", set, err)
		}
	}
}
