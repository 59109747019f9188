package butterfly

import (
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// TestDefectCorrection: the image after some iterations of factorised sums, corrected, is near that of as
// many iterations of direct sums, which one engine makes of both.
func TestDefectCorrection(t *testing.T) {
	const tolerance, n = 3e-2, 6
	p := carpet(t, 8, 25, 1000, []int{32, 32, 32})
	p.NT = 450
	var err error
	if p.Finer, p.Curve, err = kirchhoff.FinerFor(p, tolerance); err != nil {
		t.Fatal(err)
	}
	o, err := New(t.Context(), p, tolerance)
	if err != nil {
		t.Fatal(err)
	}
	s := &kirchhoff.Switch{Elsewhere: o, Off: true}
	p.Elsewhere = s
	e, err := kirchhoff.New(t.Context(), p, kirchhoff.Work{Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	a := dist.Lift(e.Kernels()[0], dist.Local(device.F32, p.ImageLen()), dist.Local(device.F32, p.NumTraces(), p.NT))
	host, r := device.NewHost(2), rand.New(rand.NewPCG(7, 8))
	d, m := make([]float32, p.NumTraces()*p.NT), make([]float32, p.ImageLen())
	for range 300 {
		m[r.IntN(len(m))] += float32(r.NormFloat64())
	}
	w := func(x []float32, l *dist.Layout) *dist.Vector {
		return &dist.Vector{Layout: l, Buf: device.Wrap(host, x)}
	}
	if err := a.Apply(t.Context(), w(d, a.Range()), w(m, a.Domain())); err != nil {
		t.Fatal(err)
	}
	for i := range d {
		d[i] += 0.02 * float32(r.NormFloat64())
	}
	image := func(off bool, o solver.Options, n int) []float32 {
		s.Off, o.Orthogonalize = off, n
		c, err := solver.New("cgls", o)
		if err == nil {
			err = c.Init(t.Context(), solver.Hold(a, w(d, a.Range())), nil)
		}
		if err == nil {
			_, err = solver.Run(t.Context(), c, solver.Stop{Iterations: n})
		}
		if err != nil {
			t.Fatal(err)
		}
		return device.Slice[float32](c.X().Buf)
	}
	want := image(true, solver.Options{}, n)
	plain := off(image(false, solver.Options{}, n), want)
	corrected := off(image(false, solver.Options{Last: n, Direct: func(on bool) { s.Off = on }}, n+1), want)
	t.Logf("after %d iterations off by %.1e, corrected by %.1e", n, plain, corrected)
	if plain > tolerance || !(corrected < plain/2) {
		t.Errorf("after %d iterations off by %.1e, corrected by %.1e", n, plain, corrected)
	}
}
