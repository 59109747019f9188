package butterfly

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// both applies an engine's operator and its adjoint to random vectors, and is how far they are from
// being adjoint.
func both(t *testing.T, p *kirchhoff.Problem, seed uint64) (d, m []float32, dot float64) {
	t.Helper()
	e, err := kirchhoff.New(t.Context(), p, kirchhoff.Work{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r := rand.New(rand.NewPCG(seed, 1))
	random := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	x, y, host := random(p.ImageLen()), random(p.NumTraces()*p.NT), device.NewHost(2)
	d, m = make([]float32, len(y)), make([]float32, len(x))
	k := e.Kernels()[0]
	if err := k.Forward(context.Background(), device.Wrap(host, d), device.Wrap(host, x)); err != nil {
		t.Fatal(err)
	}
	if err := k.Adjoint(context.Background(), device.Wrap(host, m), device.Wrap(host, y)); err != nil {
		t.Fatal(err)
	}
	return d, m, apart(d, y, m, x)
}

// apart is how far an operator, d = A x, and its adjoint, m = Aᵀ y, are from being adjoint, see
// dist.DotTest.
func apart[T float32 | float64](d, y []float32, m []T, x []float32) float64 {
	var a, b, dd, yy float64
	for i, v := range d {
		a += float64(v) * float64(y[i])
		dd += float64(v) * float64(v)
		yy += float64(y[i]) * float64(y[i])
	}
	for i, v := range x {
		b += float64(v) * float64(m[i])
	}
	return math.Abs(a-b) / math.Sqrt(dd*yy)
}

func off(got, want []float32) float64 {
	var diff, norm float64
	for i, v := range got {
		diff += float64(v-want[i]) * float64(v-want[i])
		norm += float64(want[i]) * float64(want[i])
	}
	return math.Sqrt(diff / norm)
}

// TestEngine: an operator of which some parts are factorised stays within the tolerance of the
// band-limited one, its directions are adjoint, and its bits, at 1e-2, do not depend on threads.
func TestEngine(t *testing.T) {
	p := carpet(t, 10, 25, 700, []int{64, 32, 32})
	p.Aperture, p.ApertureTaper = []float64{340, 340}, []float64{80, 80}
	truth := *p
	truth.Finer = 16
	wantD, wantM, _ := both(t, &truth, 3)
	for _, tolerance := range []float64{1e-2, 1e-3} {
		q := *p
		var err error
		if q.Finer, q.Curve, err = kirchhoff.FinerFor(p, tolerance); err != nil {
			t.Fatal(err)
		}
		o, err := New(t.Context(), &q, tolerance)
		if err != nil {
			t.Fatal(err)
		}
		share := float64(o.Triples()) / float64(p.Triples())
		q.Elsewhere = o
		d, m, dot := both(t, &q, 3)
		t.Logf("tolerance %g: samples refined %d times, %.0f %% factorised, traces off by %.1e, image by %.1e, dot test %.1e", tolerance, q.Finer, 100*share, off(d, wantD), off(m, wantM), dot)
		if share < 0.1 || share > 0.95 {
			t.Errorf("tolerance %g: %.2f of the triples are factorised, the test wants some of both", tolerance, share)
		}
		if e := max(off(d, wantD), off(m, wantM)); !(e <= tolerance) {
			t.Errorf("tolerance %g: off by %.2e", tolerance, e)
		}
		if !(dot <= 1e-6) {
			t.Errorf("tolerance %g: dot test %.2e", tolerance, dot)
		}
		if tolerance != 1e-2 {
			continue
		}
		one := q
		one.Threads = 1
		if one.Elsewhere, err = New(t.Context(), &one, tolerance); err != nil {
			t.Fatal(err)
		}
		if d1, m1, _ := both(t, &one, 3); !slices.Equal(d, d1) || !slices.Equal(m, m1) {
			t.Errorf("tolerance %g: other bits on one thread", tolerance)
		}
	}
}
