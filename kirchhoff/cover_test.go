package kirchhoff

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// streamer is a line of shots over a grid of many boxes, each with a few receivers behind.
func streamer(t testing.TB, shape []int, shots, channels int) *Problem {
	p := fixedSpread(t, shape, 12.5, [2]int{1, 1}, [2]int{1, 1}, 300, false)
	dim, width := len(shape), p.Grid.End(0)
	s := survey.Survey{Dim: dim}
	for i := range shots {
		for j := range channels {
			x := width * float64(i) / float64(shots)
			at := func(x float64) []float64 {
				if dim == 2 {
					return []float64{x, 5}
				}
				return []float64{x, p.Grid.End(1) * float64(i%4) / 3, 5}
			}
			s.Sources = append(s.Sources, at(x)...)
			s.Receivers = append(s.Receivers, at(x+40+25*float64(j))...)
			s.SourceIndex = append(s.SourceIndex, int32(len(s.SourceIndex)))
			s.ReceiverIndex = append(s.ReceiverIndex, int32(len(s.ReceiverIndex)))
		}
	}
	p.Positions = s.Distinct(true)
	return p
}

// TestAperture: over a grid of many boxes every engine is adjoint and agrees with the
// reference, whatever the weights, and tables are as local as the aperture.
func TestAperture(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		shape    []int
		aperture []float64
		tables   float64 // at most so much of all tables
	}{
		{[]int{390, 20}, []float64{600}, 0.55},
		{[]int{100, 20, 9}, []float64{200, 0}, 0.6},
		{[]int{100, 40, 6}, []float64{200, 150}, 0.55},
	} {
		for _, set := range []func(p *Problem){
			func(*Problem) {},
			func(p *Problem) { p.Dynamic = true },
			func(p *Problem) { p.DipLimit = []float64{30, 60} },
			func(p *Problem) { p.Antialias, p.Slowest = []float64{60, 60}[:len(c.shape)-1], 2000 },
		} {
			p := streamer(t, c.shape, 12, 8)
			p.Aperture, p.ApertureTaper, p.Threads = c.aperture, []float64{120, 90}[:len(c.aperture)], 2
			set(p)
			t.Run(fmt.Sprintf("%v/%v/%+v", c.shape, c.aperture, Work{}), func(t *testing.T) {
				whole := *p
				whole.Aperture = nil
				all := Needs(&whole, Work{}).Tables
				var data, image []float64
				engines := everyEngine(t, p)
				for _, e := range engines {
					d, m := both(t, p, e, 3)
					if data == nil {
						data, image = d, m
						continue
					}
					if n := e.TableBytes(); float64(n) > c.tables*float64(all) || n != Needs(p, Work{}).Tables {
						t.Errorf("%s: tables of %d bytes, %d without aperture", name(e), n, all)
					}
					if e1, e2 := difference(d, data), difference(m, image); !(e1 <= 1e-5 && e2 <= 1e-5) {
						t.Errorf("%s: differs from the reference by %.1e and %.1e", name(e), e1, e2)
					}
					if d, err := dist.DotTest(ctx, device.NewHost(1), operator(p, e), 7); err != nil || !(d <= 1e-6) {
						t.Errorf("%s: dot test %.1e, %v", name(e), d, err)
					}
				}
				kept := engines[1].(*cpu)
				t.Setenv("LSM_CPU_ISA", kept.isa.String())
				d, m := both(t, p, kept, 3)
				again := newCPUEngine(t, p, Work{Remake: true, Budget: 20 * kept.plan.placeBytes(kept.tables.cover)})
				d2, m2 := both(t, p, again, 3)
				if !slices.Equal(d, d2) || difference(m2, m) > 1e-6 {
					t.Errorf("recomputed: other traces, or an image that differs by %g", difference(m2, m))
				}
			})
		}
	}
}

// TestMissed: traces that count nowhere and columns where nothing counts are counted.
func TestMissed(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, c := range []struct {
		shape    []int
		aperture []float64
	}{{[]int{390, 20}, []float64{40}}, {[]int{390, 20}, []float64{4}}, {[]int{100, 40, 6}, []float64{60, 35}}, {[]int{100, 40, 6}, []float64{0, 25}}} {
		p := streamer(t, c.shape, 12, 8)
		for i := range p.Positions.XYZ { // some midpoints beyond the image
			p.Positions.XYZ[i] += 900 * (r.Float64() - 0.5)
		}
		p.Aperture, p.ApertureTaper = c.aperture, make([]float64, len(c.aperture))
		deep := p.Grid.Shape[p.Grid.Dim()-1]
		seen := make([]bool, p.Grid.Len()/deep)
		traces, columns := 0, len(seen)
		for i, s := range p.Positions.Source {
			none := true
			for k := range seen {
				if p.taper(int(s), int(p.Positions.Receiver[i]), k*deep) == 0 {
					continue
				}
				none = false
				if !seen[k] {
					seen[k] = true
					columns--
				}
			}
			if none {
				traces++
			}
		}
		if a, b := p.Missed(); a != traces || b != columns {
			t.Errorf("%v, aperture %v: %d traces and %d columns are missed, want %d and %d", c.shape, c.aperture, a, b, traces, columns)
		}
		t.Logf("%v: %d of %d traces, %d of %d columns", c, traces, p.NumTraces(), columns, len(seen))
	}
}

// TestApertureEnds: a trace whose aperture ends at a point, without a taper, does not count
// there.
func TestApertureEnds(t *testing.T) {
	p := fixedSpread(t, []int{40, 20}, 10, [2]int{1, 1}, [2]int{1, 1}, 200, false)
	s := survey.Survey{Dim: 2, Sources: []float64{150, 5}, Receivers: []float64{150, 5}, SourceIndex: []int32{0}, ReceiverIndex: []int32{0}}
	p.Positions, p.Aperture, p.ApertureTaper = s.Distinct(true), []float64{60}, []float64{0}
	for _, e := range everyEngine(t, p) {
		_, image := both(t, p, e, 1)
		for x := range 40 {
			column := image[20*x : 20*x+20]
			if got, want := largest(column) > 1e-6*largest(image), x > 9 && x < 21; got != want {
				t.Errorf("%s: the trace at x = 15 counts at x = %d: %v", name(e), x, got)
			}
		}
	}
}
