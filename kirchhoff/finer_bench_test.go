package kirchhoff

import (
	"context"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// streamerOf is a boat with eight cables of 30 receivers over 48 × 64 × 64 points, with an aperture.
func streamerOf(b testing.TB) *Problem {
	p := fixedSpread(b, []int{48, 64, 64}, 10, [2]int{1, 1}, [2]int{1, 1}, 500, false)
	s := survey.Survey{Dim: 3}
	for i := range 12 {
		s.Sources = append(s.Sources, 25*float64(i), 320, 0)
		for j := range 240 {
			s.Receivers = append(s.Receivers, 100+25*float64(i)+12.5*float64(j/8), 150+50*float64(j%8), 0)
			s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(i)), append(s.ReceiverIndex, int32(i*240+j))
		}
	}
	p.Positions = s.Distinct(true)
	p.Aperture, p.ApertureTaper = []float64{650, 650}, []float64{65, 65}
	var err error
	if p.Times, err = traveltime.NewAnalytic(2500, p.Grid); err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkFiner: processor time with samples refined K times, as a multiple of that with the data's
// own, which is in ms, and along curves. Runs are interleaved; these are medians.
func BenchmarkFiner(b *testing.B) {
	for _, c := range []struct {
		name    string
		problem func() *Problem
	}{
		{"line2D", func() *Problem {
			return fixedSpread(b, []int{401, 301}, 10, [2]int{32, 1}, [2]int{128, 1}, 1500, false)
		}},
		{"cube3D", func() *Problem {
			return fixedSpread(b, []int{40, 40, 40}, 20, [2]int{8, 8}, [2]int{8, 8}, 1000, false)
		}},
		{"streamer3D", func() *Problem { return streamerOf(b) }},
	} {
		for _, kind := range []string{"static", "compact", "dynamic"} {
			b.Run(c.name+"/"+kind, func(b *testing.B) {
				benchmarkFiner(b, func(finer int, curve float64) *Problem {
					p := c.problem()
					p.Finer, p.Curve, p.Compact, p.Dynamic = finer, curve, kind == "compact", kind == "dynamic"
					return p
				})
			})
		}
	}
}

func benchmarkFiner(b *testing.B, problem func(finer int, curve float64) *Problem) {
	samples := []struct {
		name  string
		finer int
		curve float64
	}{{"K=0", 0, 0}, {"K=1", 1, 0}, {"K=1-curved", 1, 0.1}, {"K=2", 2, 0}, {"K=3-curved", 3, 0.01}, {"K=4", 4, 0}, {"K=8", 8, 0}}
	var apply []func(way int) error
	for _, s := range samples {
		p := problem(s.finer, s.curve)
		kernel, h := only(newCPUEngine(b, p, Work{})), device.NewHost(1)
		m, d := device.Wrap(h, noise(1, p.ImageLen())), device.Wrap(h, noise(2, p.NumTraces()*p.NT))
		apply = append(apply, func(way int) error {
			if way == 0 {
				return kernel.Forward(context.Background(), d, m)
			}
			return kernel.Adjoint(context.Background(), m, d)
		})
	}
	times := make([][2][]float64, len(samples))
	for range b.N {
		for way := range 2 {
			for i := range samples {
				before := processorTime(b)
				if err := apply[i](way); err != nil {
					b.Fatal(err)
				}
				took := (processorTime(b) - before) / 1e6
				if i > 0 {
					took /= times[0][way][len(times[0][way])-1]
				}
				times[i][way] = append(times[i][way], took)
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for way, name := range []string{"forward", "adjoint"} {
		for i, s := range samples {
			slices.Sort(times[i][way])
			b.ReportMetric(times[i][way][b.N/2], name+"/"+s.name)
		}
	}
}
