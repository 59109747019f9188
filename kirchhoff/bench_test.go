package kirchhoff

import (
	"context"
	"fmt"
	"math"
	"syscall"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// fixedSpread is a fixed spread over a constant velocity of 2000 m/s, sources and
// receivers evenly along the top; dt is 4 ms and the wavelet has 81 samples.
func fixedSpread(b testing.TB, shape []int, h float64, sources, receivers [2]int, nt int, dynamic bool) *Problem {
	dim := len(shape)
	g := grid.Grid{Origin: make([]float64, dim), Spacing: make([]float64, dim), Shape: shape}
	for a := range dim {
		g.Spacing[a] = h
	}
	times, err := traveltime.NewAnalytic(2000, g)
	if err != nil {
		b.Fatal(err)
	}
	line := func(n [2]int, shift float64) []float64 {
		var xyz []float64
		for i := range n[0] {
			for j := range n[1] {
				x := (float64(i) + shift) / float64(n[0]) * g.End(0)
				if dim == 2 {
					xyz = append(xyz, x, 0)
				} else {
					xyz = append(xyz, x, (float64(j)+shift)/float64(n[1])*g.End(1), 0)
				}
			}
		}
		return xyz
	}
	s := survey.Survey{Dim: dim, Sources: line(sources, 0.3), Receivers: line(receivers, 0.5), Fixed: true}
	w := survey.Wavelet{Samples: make([]float64, 81), Zero: 40, DT: 0.004}
	for i := range w.Samples {
		a := math.Pi * 20 * 0.004 * float64(i-40) // Ricker, 20 Hz
		w.Samples[i] = (1 - 2*a*a) * math.Exp(-a*a)
	}
	v := make([]float64, g.Len())
	for i := range v {
		v[i] = 2000
	}
	return &Problem{Grid: g, Positions: s.Distinct(true), NT: nt, DT: 0.004, Wavelet: w,
		Dynamic: dynamic, Velocity: v, Slowest: 2000, Times: times, Threads: 1}
}

// BenchmarkKernel reports ns per (source, receiver, image point), convolution
// included, on one thread, for every set of kernels this processor runs.
func BenchmarkKernel(b *testing.B) {
	cases := []struct {
		name               string
		shape              []int
		h                  float64
		sources, receivers [2]int
		nt                 int
	}{
		{"large2D", []int{401, 301}, 10, [2]int{64, 1}, [2]int{128, 1}, 1500},
		{"small2D", []int{201, 121}, 10, [2]int{20, 1}, [2]int{80, 1}, 750},
		{"cube3D", []int{40, 40, 40}, 20, [2]int{8, 8}, [2]int{8, 8}, 1000},
	}
	for _, c := range cases {
		for _, dynamic := range []bool{false, true} {
			for isa := simd.Portable; isa <= simd.Best(); isa++ {
				b.Run(fmt.Sprintf("%s/dynamic=%v/%v", c.name, dynamic, isa), func(b *testing.B) {
					b.Setenv("LSM_CPU_ISA", isa.String())
					p := fixedSpread(b, c.shape, c.h, c.sources, c.receivers, c.nt, dynamic)
					benchmarkEngine(b, p, newCPUEngine(b, p, Work{}))
				})
			}
		}
	}
}

func benchmarkEngine(b *testing.B, p *Problem, e Engine) {
	h := device.NewHost(1)
	image := make([]float32, p.Grid.Len())
	for i := range image {
		image[i] = float32(i%17) - 8
	}
	data := make([]float32, p.NumTraces()*p.NT)
	back := make([]float32, len(image))
	for _, d := range []struct {
		name  string
		apply func() error
	}{
		{"forward", func() error {
			return only(e).Forward(context.Background(), device.Wrap(h, data), device.Wrap(h, image))
		}},
		{"adjoint", func() error {
			return only(e).Adjoint(context.Background(), device.Wrap(h, back), device.Wrap(h, data))
		}},
	} {
		b.Run(d.name, func(b *testing.B) {
			before := processorTime(b)
			for range b.N {
				if err := d.apply(); err != nil {
					b.Fatal(err)
				}
			}
			triples := float64(b.N) * float64(p.Triples())
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/triples, "ns/triple")
			b.ReportMetric((processorTime(b)-before)/triples, "cpu-ns/triple")
		})
	}
}

// processorTime is the processor time used by the process, in ns: on a shared
// machine it says more than the clock on the wall.
func processorTime(b *testing.B) float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return float64(r.Utime.Nano() + r.Stime.Nano())
}
