package traveltime_test

import (
	"context"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// benchmark solves 32 positions along a line at the surface on one thread and
// reports milliseconds a position, output of the times included.
func benchmark(b *testing.B, g grid.Grid, model func(g grid.Grid) []float64, opt traveltime.Options) {
	benchmarkMethod(b, eikonal(b, model(g), g, g), opt)
}

func benchmarkMethod(b *testing.B, m traveltime.Method, opt traveltime.Options) {
	const n = 32
	g := m.Grid()
	var xyz []float64
	for i := range n {
		for a := range g.Dim() - 1 {
			xyz = append(xyz, g.End(a)*(0.3+0.1*float64(a)+0.012*float64(i)))
		}
		xyz = append(xyz, 4)
	}
	p := positions(g.Dim(), xyz...)
	opt.Threads = 1
	sink := func(int, traveltime.Field) error { return nil }
	b.ResetTimer()
	for range b.N {
		if err := m.Solve(context.Background(), p, all(p), opt, sink); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*n), "ms/source")
}

func BenchmarkEikonal401x301(b *testing.B) {
	benchmark(b, square(10, 401, 301), linear, traveltime.Options{})
}

func BenchmarkEikonal401x301Gradient(b *testing.B) {
	benchmark(b, square(10, 401, 301), linear, traveltime.Options{Gradient: true})
}

func BenchmarkEikonal401x301Layers(b *testing.B) {
	benchmark(b, square(10, 401, 301), func(g grid.Grid) []float64 { return blurred(layers(g), g, 5) }, traveltime.Options{})
}

func BenchmarkEikonal101x101x101(b *testing.B) {
	benchmark(b, square(10, 101, 101, 101), linear, traveltime.Options{})
}

// benchmarkTilted is benchmark in a tilted medium with a non-elliptic term.
func benchmarkTilted(b *testing.B, g grid.Grid) {
	v := linear(g)
	a := traveltime.Anisotropy{Epsilon: slices.Repeat([]float64{0.2}, len(v)), Delta: slices.Repeat([]float64{0.05}, len(v)), Tilt: slices.Repeat([]float64{30}, len(v)), Azimuth: slices.Repeat([]float64{40}, len(v))}
	m, err := traveltime.New("eikonal", traveltime.Spec{Image: g, Medium: traveltime.Medium{Grid: g, Least: slices.Min(v), Greatest: slices.Max(v),
		Slab: [2]int{0, g.Shape[0]}, Values: v, Anisotropic: true, Anisotropy: a}})
	if err != nil {
		b.Fatal(err)
	}
	benchmarkMethod(b, m, traveltime.Options{})
}

func BenchmarkTilted401x301(b *testing.B) { benchmarkTilted(b, square(10, 401, 301)) }

func BenchmarkTilted101x101x101(b *testing.B) { benchmarkTilted(b, square(10, 101, 101, 101)) }

// Spreading costs a part of the times on top.
func BenchmarkEikonal401x301Spreading(b *testing.B) {
	benchmark(b, square(10, 401, 301), linear, traveltime.Options{Spreading: traveltime.RaySpreading})
}

func BenchmarkEikonal401x301LayersSpreading(b *testing.B) {
	benchmark(b, square(10, 401, 301), func(g grid.Grid) []float64 { return blurred(layers(g), g, 5) }, traveltime.Options{Spreading: traveltime.RaySpreading})
}

func BenchmarkEikonal101x101x101Spreading(b *testing.B) {
	benchmark(b, square(10, 101, 101, 101), linear, traveltime.Options{Spreading: traveltime.RaySpreading})
}

// Rays of the strongest arrivals, to be compared with the eikonal equation on the same grids.
func benchmarkRays(b *testing.B, g grid.Grid) {
	benchmarkMethod(b, tracing(b, g, g, linear(g), traveltime.RayOptions{Kept: traveltime.Kept{Count: 1}, Period: 0.04, Latest: 10}), traveltime.Options{})
}

func BenchmarkRays401x301(b *testing.B) { benchmarkRays(b, square(10, 401, 301)) }

func BenchmarkRays101x101x101(b *testing.B) { benchmarkRays(b, square(10, 101, 101, 101)) }
