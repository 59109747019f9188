package butterfly

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// TestMemory: applications share memory that the plan has counted, and none finds what another left there.
func TestMemory(t *testing.T) {
	const tolerance = 1e-2
	r := rand.New(rand.NewPCG(1, 2))
	g := geometry{"nodes", []int{32, 32, 64}, 350, lattice(r, 20, 20, 12, 12, 25, 25), lattice(r, 0, 100, 3, 1, 150, 0), nil, false}
	p := g.problem(t)
	o, err := New(t.Context(), p, tolerance)
	if err != nil || o == nil {
		t.Fatal(o, err)
	}
	l, err := kirchhoff.NewPlan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	forward := func(seed uint64) []float32 {
		out := make([]float32, p.NumTraces()*p.NT)
		err := o.Forward(t.Context(), random(seed, len(l.Points)), func(_, trace int, u []float32) { copy(out[trace*p.NT:], u) })
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	adjoint := func(seed uint64) []float64 {
		data, out := random(seed, p.NumTraces()*p.NT), make([]float64, len(l.Points))
		err := o.Adjoint(t.Context(), out, 0, func(_, trace int, to []float32) { copy(to, data[trace*p.NT:][:p.NT]) })
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	d, m := forward(1), adjoint(2)
	at := &o.memory.all.S[0]
	for i := range o.memory.all.S {
		o.memory.all.S[i] = float32(math.NaN())
	}
	if !slices.Equal(adjoint(2), m) || !slices.Equal(forward(1), d) {
		t.Error("the second application differs from the first")
	}
	if at != &o.memory.all.S[0] {
		t.Error("the second application has made memory of its own")
	}
	if took, most := int64(4*len(o.memory.all.S)), Needs(p, NewClusters(p, tolerance, Use{}), tolerance); took > most {
		t.Errorf("applications take %d bytes, more than the %d that are counted", took, most)
	}
}
