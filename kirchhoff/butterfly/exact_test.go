package butterfly

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// TestExact: parts of a survey, cut between clusters of sources, add up exactly to the adjoint of the
// whole, in multiples of the quantum, and their traces are those of the whole.
func TestExact(t *testing.T) {
	p := carpet(t, 10, 25, 1000, []int{40, 32, 32})
	t.Run("static", func(t *testing.T) { testExact(t, p, 0x1p-12) })
	p.Dynamic, p.Velocity = true, slices.Repeat([]float64{2000}, p.ImageLen())
	p.MaxDistance[0], p.MaxDistance[1] = kirchhoff.MaxDistance(p.Grid, p.Positions)
	t.Run("dynamic", func(t *testing.T) { testExact(t, p, 0x1p-34) })
}

func testExact(t *testing.T, p *kirchhoff.Problem, quantum float64) {
	const tolerance = 1e-2
	o, tones := located(p, kirchhoff.Outline(p), Use{}), tonesOf(p, tolerance)
	arranged := o.clusters([2]float64{0.5, 0.5}, tones)
	o.pair(arranged, tones, tolerance)
	c := arranged.survey(p)
	if len(c.Sources()) < 2 {
		t.Fatalf("%d clusters of sources, the test wants some", len(c.Sources()))
	}
	l, err := kirchhoff.NewPlan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	e, m := correlated(p, rand.New(rand.NewPCG(3, 4))), make([]float32, len(l.Points))
	for i := range m {
		m[i] = float32(i%17) - 8
	}
	longest := 0.0 // of the whole, which is made first
	apply := func(traces []int32) (sums []float64, d []float32) {
		q := *p
		q.Positions = p.Positions.Of(traces)
		o, err := NewPart(t.Context(), &q, c, tolerance, func(seconds float64, err error) (float64, error) {
			longest = max(longest, seconds)
			return longest, err
		})
		if err != nil || o == nil {
			t.Fatalf("nothing is factorised: %v", err)
		}
		sums, d = make([]float64, len(l.Points)), make([]float32, len(e))
		err = o.Adjoint(t.Context(), sums, quantum, func(_, trace int, to []float32) { copy(to, e[int(traces[trace])*p.NT:]) })
		if err != nil {
			t.Fatal(err)
		}
		err = o.Forward(t.Context(), m, func(_, trace int, u []float32) { copy(d[int(traces[trace])*p.NT:], u) })
		if err != nil {
			t.Fatal(err)
		}
		return sums, d
	}
	var parts [3][]int32 // all traces, those of the first cluster, the others
	for trace, s := range p.Positions.Source {
		of := 2
		if slices.Contains(c.Sources()[0], s) {
			of = 1
		}
		parts[0], parts[of] = append(parts[0], int32(trace)), append(parts[of], int32(trace))
	}
	want, wantD := apply(parts[0])
	a, d := apply(parts[1])
	b, more := apply(parts[2])
	for i := range d {
		d[i] += more[i]
	}
	for i := range a {
		if a[i]+b[i] != want[i] || want[i] != math.Trunc(want[i]/quantum)*quantum {
			t.Fatalf("slot %d: %v and %v, the whole is %v, in quanta %v", i, a[i], b[i], want[i], want[i]/quantum)
		}
	}
	if !slices.Equal(d, wantD) {
		t.Error("parts have other traces than the whole")
	}
}

// TestExactLimit: what is larger than its bound is an error, since sums may not be exact then.
func TestExactLimit(t *testing.T) {
	l := &landing{sums: make([]float64, 2), round: 1, most: []float64{3}}
	if err := l.add(0, []int32{1, 0}, []float32{3, -2}); err != nil {
		t.Error(err)
	}
	if err := l.add(0, []int32{1, 0}, []float32{0, -3.5}); status.Code(err) != status.NotNumerical {
		t.Errorf("a sum beyond its bound: %v", err)
	}
}
