package pipeline

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// moving is a 2-D problem of 30 shots along 6 km, each into two receivers beside it.
func moving(t *testing.T) *problem {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{4, 5}, Shape: []int{1500, 13}}
	s := &survey.Survey{Dim: 2, NT: 60, DT: 0.004, Wavelet: survey.Wavelet{Samples: []float64{-0.3, 0.1, 1, 0.2, -0.4}, DT: 0.004, Zero: 2}}
	for i := range 30 {
		x := 50 + 200*float64(i)
		s.Sources, s.Receivers = append(s.Sources, x, 2), append(s.Receivers, x+20, 0, x+60, 0)
		for k := range 2 {
			s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(i)), append(s.ReceiverIndex, int32(2*i+k))
		}
	}
	return newProblem(t, g, s)
}

// atHand is what ranks have of the velocity model once their operators are made, and what
// was foreseen.
type atHand struct {
	sync.Mutex
	slabs [][2]int
	model []int64
}

// solveAtHand solves on many ranks, with all of the model at hand or what a rank reads of it.
func (p *problem) solveAtHand(t *testing.T, ranks int, all bool, set ...string) (*solved, *atHand) {
	t.Helper()
	var result *solved
	seen := &atHand{slabs: make([][2]int, ranks), model: make([]int64, ranks)}
	must(t, p.on(ranks, set, func(j *Job) (err error) {
		rank := j.Ranks.World.Rank()
		if all {
			if j.plan, err = LoadAll(j.plan); err != nil {
				return err
			}
		}
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		seen.Lock()
		seen.slabs[rank], seen.model[rank] = op.plan.Times.Source.Slab, CountMemory(j.plan, j.share).Model
		seen.Unlock()
		if n := len(op.plan.Times.Source.Values); n != (op.plan.Times.Source.Slab[1]-op.plan.Times.Source.Slab[0])*op.plan.Times.Source.Plane() {
			t.Errorf("rank %d holds %d values of slab %v", rank, n, op.plan.Times.Source.Slab)
		}
		r, err := j.solve(context.Background(), op, false)
		if err == nil && j.Ranks.Root() {
			result = r
		}
		return err
	}))
	return result, seen
}

// TestModelSlabs: with an aperture a rank reads a part of the velocity model, as large as was
// foreseen, and its results have the bits of those with the whole model at hand.
func TestModelSlabs(t *testing.T) {
	p := moving(t)
	other := grid.Grid{Origin: []float64{30, 3}, Spacing: []float64{5, 4}, Shape: []int{1100, 14}}
	for name, set := range map[string][]string{
		"full":              {"kirchhoff.tables=full"},
		"recomputed":        {"kirchhoff.tables=recompute"},
		"coarse tables":     {"kirchhoff.tables=coarse"},
		"weights":           {"kirchhoff.dynamic=true"},
		"another grid":      append(onGrid(other), "kirchhoff.dynamic=true", "kirchhoff.antialias=triangle"),
		"straight, weights": {"kirchhoff.dynamic=true", "traveltime.method=eikonal", "traveltime.margin=0"},
	} {
		t.Run(name, func(t *testing.T) {
			set := append([]string{"kirchhoff.aperture=60", "traveltime.margin=40", "solver.iterations=2"}, set...)
			want, whole := p.solveAtHand(t, 1, true, set...)
			if n := p.grid.Shape[0]; whole.slabs[0] != [2]int{0, n} {
				t.Fatalf("the whole model is slab %v of %d points", whole.slabs[0], n)
			}
			for _, ranks := range []int{1, 3} {
				got, seen := p.solveAtHand(t, ranks, false, set...)
				sameResult(t, name, got, want)
				for rank, slab := range seen.slabs {
					if n := slab[1] - slab[0]; ranks == 3 && (n < 100 || n > 900) {
						t.Errorf("rank %d of 3 holds slab %v of %d points", rank, slab, p.grid.Shape[0])
					}
					bytes := 12 * int64(slab[1]-slab[0]) * 13
					if seen.model[rank] != bytes {
						t.Errorf("rank %d of %d: %d bytes of the model are foreseen, want %d for slab %v", rank, ranks, seen.model[rank], bytes, slab)
					}
				}
			}
		})
	}
}

// TestModelUnread: an operator whose traveltimes and weights take nothing from the model
// reads nothing of it, and a constant velocity is always at hand.
func TestModelUnread(t *testing.T) {
	p := line(t)
	tables := append(p.amplitudes(t, 1, 1), "kirchhoff.dynamic=false")
	for _, set := range [][]string{tables, constantModel(p.grid, "1900")} {
		_, op := p.ready(t, "cpu", set...)
		if op.plan.Times.Source.Slab != [2]int{} || op.plan.Times.Source.Values != nil && len(op.plan.Times.Source.Values) > 0 {
			t.Errorf("%v: slab %v was read", set, op.plan.Times.Source.Slab)
		}
		if got := op.plan.Inputs.Slowest; !op.plan.Times.Source.IsConstant() && got != op.plan.Times.Source.Least {
			t.Errorf("%v: slowest %g m/s", set, got)
		}
	}
}

// TestSlowestOnImage: the least velocity at the image's points, which anti-aliasing needs, is
// found part by part, wherever the image lies.
func TestSlowestOnImage(t *testing.T) {
	p := moving(t)
	v := make([]float64, p.grid.Len())
	for i := range v {
		v[i] = 3000 - 0.05*float64(i) + float64(i%7)
	}
	must(t, h5.WriteModel(p.path("model.h5"), p.grid, v, h5.WriteOptions{Force: true}))
	for _, g := range []grid.Grid{
		{Origin: []float64{603, 7}, Spacing: []float64{5, 4}, Shape: []int{300, 9}},
		{Origin: []float64{100.5, 1.25}, Spacing: []float64{0.5, 0.25}, Shape: []int{9001, 90}}, // several parts
	} {
		j := p.open(t, NeedPlanning, progress.Discard(), "cpu", append(onGrid(g), "kirchhoff.antialias=triangle")...)
		if want := slices.Min(j.plan.Times.Source.On(g, [2]int{0, g.Shape[0]})); j.plan.Inputs.Slowest != want {
			t.Errorf("%v: slowest %v m/s, want %v", g, j.plan.Inputs.Slowest, want)
		}
	}
}
