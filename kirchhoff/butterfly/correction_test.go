package butterfly

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// sums are those of an engine, which can do without factorised ones if it is made for it.
type sums struct {
	kirchhoff.Switch
	engine kirchhoff.Engine
	a      dist.Operator
}

// sumsOf has an engine for p. With both, what p has elsewhere can be turned off.
func sumsOf(t testing.TB, p kirchhoff.Problem, both bool) *sums {
	s := &sums{Switch: kirchhoff.Switch{Elsewhere: p.Elsewhere, Off: true}}
	if both {
		p.Elsewhere = &s.Switch
	}
	var err error
	if s.engine, err = kirchhoff.New(t.Context(), &p, kirchhoff.Work{Whole: both}); err != nil {
		t.Fatal(err)
	}
	s.a = dist.Lift(s.engine.Kernels()[0], dist.Local(device.F32, p.ImageLen()), dist.Local(device.F32, p.NumTraces(), p.NT))
	return s
}

func vector(l *dist.Layout, x []float32) *dist.Vector {
	return &dist.Vector{Layout: l, Buf: device.Wrap(device.NewHost(2), x)}
}

// record makes traces of an image of 300 random points, with noise of a fiftieth.
func (s *sums) record(t testing.TB) []float32 {
	r := rand.New(rand.NewPCG(7, 8))
	m, d := make([]float32, s.a.Domain().Size()), make([]float32, s.a.Range().Size())
	for range 300 {
		m[r.IntN(len(m))] += float32(r.NormFloat64())
	}
	if err := s.a.Apply(t.Context(), vector(s.a.Range(), d), vector(s.a.Domain(), m)); err != nil {
		t.Fatal(err)
	}
	power := 0.0
	for _, v := range d {
		power += float64(v) * float64(v)
	}
	noise := 0.02 * math.Sqrt(power/float64(len(d)))
	for i := range d {
		d[i] += float32(noise * r.NormFloat64())
	}
	return d
}

// image is what n iterations of CGLS make of traces, and a correction after these.
func (s *sums) image(t testing.TB, traces []float32, n int, corrected bool) []float32 {
	o := solver.Options{Orthogonalize: n}
	if corrected {
		o.Last, o.Direct = n, func(on bool) { s.Off = on }
		n++
	}
	c, err := solver.New("cgls", o)
	if err == nil {
		err = c.Init(t.Context(), solver.Hold(s.a, vector(s.a.Range(), traces)), nil)
	}
	if err == nil {
		_, err = solver.Run(t.Context(), c, solver.Stop{Iterations: n})
	}
	if err != nil {
		t.Fatal(err)
	}
	return device.Slice[float32](c.X().Buf)
}

// TestDefectCorrection: the image after some iterations of factorised sums, corrected, is near that of as
// many iterations of direct sums, which one engine makes of both.
func TestDefectCorrection(t *testing.T) {
	const tolerance, n = 3e-2, 6
	p := carpet(t, 8, 25, 1000, []int{32, 32, 32})
	p.NT = 450
	if factorise(t, p, tolerance) == 0 {
		t.Fatal("nothing is factorised")
	}
	s := sumsOf(t, *p, true)
	defer s.engine.Close()
	d := s.record(t)
	want := s.image(t, d, n, false)
	s.Off = false
	plain := off(s.image(t, d, n, false), want)
	corrected := off(s.image(t, d, n, true), want)
	t.Logf("after %d iterations off by %.1e, corrected by %.1e", n, plain, corrected)
	if plain > tolerance || !(corrected < plain/2) {
		t.Errorf("after %d iterations off by %.1e, corrected by %.1e", n, plain, corrected)
	}
}

// BenchmarkSolve: 10 iterations of CGLS within 1e-2 with direct sums, factorised ones, and these and a
// correction, and with the direct sums of a run without an accuracy. Times, in s, are the processor's on one
// thread, set-up included. Images are compared with those of direct sums.
func BenchmarkSolve(b *testing.B) {
	const tolerance, n = 1e-2, 10
	for _, g := range geometries()[:2] {
		g.shape = []int{48, 48, 64}
		b.Run(g.name, func(b *testing.B) {
			p := g.problem(b)
			direct := *p
			var err error
			if direct.Finer, direct.Curve, err = kirchhoff.FinerFor(p, tolerance); err != nil {
				b.Fatal(err)
			}
			maker := sumsOf(b, direct, false)
			traces := maker.record(b)
			maker.engine.Close()
			timed := func(name string, p kirchhoff.Problem, within float64, corrected bool) []float32 {
				begin := processor()
				if within > 0 {
					b.ReportMetric(100*factorise(b, &p, within), "%factorised")
				}
				s := sumsOf(b, p, corrected)
				defer s.engine.Close()
				s.Off = false
				image := s.image(b, traces, n, corrected)
				b.ReportMetric(processor()-begin, name+"/s")
				return image
			}
			timed("unset", *p, 0, false)
			want := timed("direct", direct, 0, false)
			b.ReportMetric(off(timed("factorised", *p, tolerance, false), want), "factorised/off")
			b.ReportMetric(off(timed("corrected", *p, tolerance, true), want), "corrected/off")
			b.ReportMetric(0, "ns/op")
		})
	}
}
