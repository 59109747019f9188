package butterfly

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// BenchmarkCarpet: 16 × 16 sources and receivers, 25 m apart, over 64³ points, direct and factorised. It
// also says what processors' time an operation took, which other programs disturb less.
func BenchmarkCarpet(b *testing.B) {
	p := carpet(b, 16, 25, 1000, []int{64, 64, 64})
	p.Threads = 1
	triples := float64(p.NumTraces()) * float64(p.ImageLen())
	host := device.NewHost(1)
	d, m := device.Wrap(host, make([]float32, p.NumTraces()*p.NT)), device.Wrap(host, make([]float32, p.ImageLen()))
	for _, tolerance := range []float64{0, 1e-2, 1e-3} {
		q := *p
		if tolerance > 0 {
			var err error
			if q.Finer, q.Curve, err = kirchhoff.FinerFor(p, tolerance); err != nil {
				b.Fatal(err)
			}
			if q.Elsewhere, err = New(b.Context(), &q, tolerance); err != nil {
				b.Fatal(err)
			}
		}
		e, err := kirchhoff.New(b.Context(), &q, kirchhoff.Work{})
		if err != nil {
			b.Fatal(err)
		}
		k := e.Kernels()[0]
		for name, f := range map[string]func() error{
			"forward": func() error { return k.Forward(b.Context(), d, m) },
			"adjoint": func() error { return k.Adjoint(b.Context(), m, d) },
		} {
			b.Run(fmt.Sprintf("%s/tolerance=%g", name, tolerance), func(b *testing.B) {
				before := processTime(b)
				for range b.N {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric((processTime(b)-before)/triples/float64(b.N), "cpu-ns/triple")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/triples/float64(b.N), "ns/triple")
			})
		}
		e.Close()
	}
}

// processTime is the time that this process has had of processors, in ns.
func processTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}
