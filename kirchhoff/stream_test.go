package kirchhoff

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// shotCuts are groups of so many shots.
func shotCuts(p *Problem, shots int) (cuts []int) {
	n, source := 0, p.Positions.Source
	for i := range source {
		if i == 0 || source[i] != source[i-1] {
			if n%shots == 0 {
				cuts = append(cuts, i)
			}
			n++
		}
	}
	return append(cuts, len(source))
}

// exactStream applies a stream with a quantum for each direction: A m and Aᵀd.
func exactStream(t *testing.T, s dist.Grouped, m, d []float32, quantum [2]float64) (traces, image []float32) {
	t.Helper()
	h := device.NewHost(1)
	traces, image = make([]float32, len(d)), make([]float32, len(m))
	carry := func(app dist.Application, err error) {
		t.Helper()
		for i := 0; err == nil && i < app.Pieces(); i++ {
			if _, err = app.Sum(i); err == nil {
				err = app.Finish(i)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range s.Groups() {
		g, err := s.Open(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		lo, hi := s.Group(i)
		carry(g.Begin(t.Context(), dist.Forward, device.Wrap(h, traces[lo:hi]), device.Wrap(h, m), quantum[dist.Forward]))
		src := device.Wrap(h, d[lo:hi])
		if i%2 == 0 { // either way
			if _, err := g.Bound(dist.Backward, src); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Add(t.Context(), src, quantum[dist.Backward]); err != nil {
			t.Fatal(err)
		}
		g.Close()
	}
	carry(s.Begin(t.Context(), device.Wrap(h, image), quantum[dist.Backward]), nil)
	return traces, image
}

// Gone through in any groups, with tables kept or made anew, the operator is the cpu
// engine's: its traces to the bit, its image to rounding, with exact sums to the bit.
func TestStreamIsTheSameOperator(t *testing.T) {
	for i := range 4 {
		dynamic := i%2 == 1
		p := fixedSpread(t, []int{37, 29}, 10, [2]int{7, 1}, [2]int{19, 1}, 180, dynamic)
		if i == 3 {
			p = fixedSpread(t, []int{17, 9, 8}, 20, [2]int{3, 2}, [2]int{4, 5}, 100, dynamic)
		}
		p.Threads = 1 + i%2
		whole := newCPUEngine(t, p, Work{})
		h := device.NewHost(1)
		m, d := noise(uint64(i), p.Grid.Len()), noise(uint64(9+i), p.NumTraces()*p.NT)
		apply := func(e Engine) (traces, image []float32) {
			traces, image = make([]float32, len(d)), make([]float32, len(m))
			if err := only(e).Forward(t.Context(), device.Wrap(h, traces), device.Wrap(h, m)); err != nil {
				t.Fatal(err)
			}
			if err := only(e).Adjoint(t.Context(), device.Wrap(h, image), device.Wrap(h, d)); err != nil {
				t.Fatal(err)
			}
			return traces, image
		}
		traces, image := apply(whole)
		one := split(t, p, 1, 1, 1, 0, 0)
		var quantum [2]float64
		quantum[0], _, _ = one.quantum(t, dist.Forward, m)
		quantum[1], _, _ = one.quantum(t, dist.Backward, d)
		exactTraces, exactImage := one.apply(t, dist.Forward, m, quantum[0], 1), one.apply(t, dist.Backward, d, quantum[1], 1)
		one.close()
		for _, c := range []struct {
			shots  int
			remake bool
		}{{1, false}, {3, false}, {7, false}, {1, true}, {4, true}} {
			name := fmt.Sprintf("dynamic %v, groups of %d shots, tables made anew %v", dynamic, c.shots, c.remake)
			s := newCPUEngine(t, p, Work{Cuts: shotCuts(p, c.shots), Remake: c.remake})
			u, v := apply(s)
			if !slices.Equal(u, traces) {
				t.Errorf("%s: traces differ", name)
			}
			if diff := difference(wide(v), wide(image)); !(diff <= 1e-6) {
				t.Errorf("%s: images differ by %.1e", name, diff)
			}
			op := dist.Lift(only(s), dist.Local(device.F32, p.Grid.Shape...), dist.Local(device.F32, p.NumTraces(), p.NT))
			if e, err := dist.DotTest(t.Context(), h, op, 3); err != nil || !(e <= 1e-6) {
				t.Errorf("%s: dot test %g, %v", name, e, err)
			}
			if u, v = exactStream(t, s.Groups(), m, d, quantum); !slices.Equal(u, exactTraces) || !slices.Equal(v, exactImage) {
				t.Errorf("%s: exact sums have other bits, differences %.1e and %.1e", name,
					difference(wide(u), wide(exactTraces)), difference(wide(v), wide(exactImage)))
			}
			if all := whole.TableBytes(); !c.remake && s.TableBytes() != all || c.remake && s.TableBytes() >= all {
				t.Errorf("%s: tables of %d bytes, of all places %d", name, s.TableBytes(), all)
			}
		}
	}
}

// Groups that cut a shot in two, leave traces out or are empty are refused.
func TestStreamRefusesGroups(t *testing.T) {
	p := fixedSpread(t, []int{9, 9}, 10, [2]int{3, 1}, [2]int{4, 1}, 50, false)
	for _, cuts := range [][]int{{}, {0}, {0, 8}, {4, 12}, {0, 6, 12}, {0, 4, 4, 12}} {
		if _, err := New(t.Context(), p, Work{Cuts: cuts}); err == nil {
			t.Errorf("groups cut at %v were accepted", cuts)
		}
	}
}

// The bound on the adjoint's source follows from the largest samples: Gain holds.
func TestGainBoundsTheAdjointsSource(t *testing.T) {
	p := fixedSpread(t, []int{9, 9}, 10, [2]int{3, 1}, [2]int{4, 1}, 50, false)
	s := newCPUEngine(t, p, Work{Cuts: shotCuts(p, 3)}).Groups()
	g, err := s.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	// Each sample has the sign of the tap that it meets at the middle of the record.
	d, sum := make([]float32, p.NumTraces()*p.NT), 0.0
	for i := range d {
		d[i] = 1
		if j := i%p.NT - p.NT/2 + p.Wavelet.Zero; j >= 0 && j < len(p.Wavelet.Samples) && p.Wavelet.Samples[j] < 0 {
			d[i] = -1
		}
	}
	bounds, err := g.Bound(dist.Backward, device.Wrap(device.NewHost(1), d))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bounds {
		sum += b
	}
	if most := s.Gain() * float64(p.NumTraces()); !(sum <= most) || sum < 0.9*most {
		t.Errorf("bound %g, from the gain %g", sum, most)
	}
}
