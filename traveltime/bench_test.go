package traveltime_test

import (
	"context"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// benchmark solves 32 positions along a line at the surface on one thread and
// reports milliseconds a position, output of the times included.
func benchmark(b *testing.B, g grid.Grid, model func(g grid.Grid) []float64, opt traveltime.Options) {
	m := eikonal(b, model(g), g, g)
	const n = 32
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
