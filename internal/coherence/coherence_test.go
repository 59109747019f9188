package coherence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// shot is one source and receivers at the given places, of so many coordinates each.
func shot(dim, nt int, receivers ...float64) (*survey.Survey, []int32) {
	s := &survey.Survey{Dim: dim, Fixed: true, Sources: make([]float64, dim), Receivers: receivers, NT: nt, DT: 0.004}
	at := make([]int32, len(receivers)/dim)
	for i := range at {
		at[i] = int32(i)
	}
	return s, at
}

// Weights are those of the formula, from sums over all samples and traces near a node.
func TestFind(t *testing.T) {
	const nt, half = 57, 6
	s, at := shot(2, nt, 60, 0, 0, 0, 10, 0, 25, 0, 45, 0, 200, 0) // neither in order nor regular
	n := len(at)
	r := rand.New(rand.NewPCG(1, 2))
	p, d := make([]float32, n*nt), make([]float32, n*nt)
	for i := range p {
		p[i] = float32(r.NormFloat64() * math.Exp(-float64(i%nt)/10))
		d[i] = p[i] + float32(0.5*r.NormFloat64())
	}
	w := Windows{Half: half, Reach: 100, Threads: 2}
	c := New(w, n+1, nt)
	c.Find(w, s, at, 1, p, d)
	near := [][]int{{0, 2, 3, 4, 1}, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {5}}
	means := func(i, k int) (pp, rr float64) {
		for _, j := range near[i] {
			lo, hi := max(0, k-half), min(nt-1, k+half)
			for l := lo; l <= hi; l++ {
				e := float64(d[j*nt+l]) - float64(p[j*nt+l])
				pp += float64(p[j*nt+l]) * float64(p[j*nt+l]) / float64(hi-lo+1) / float64(len(near[i]))
				rr += e * e / float64(hi-lo+1) / float64(len(near[i]))
			}
		}
		return pp, rr
	}
	worst := 0.0
	for i := range n {
		for k := 0; k < nt+half-1; k += half {
			_, rr := means(i, min(k, nt-1))
			worst = max(worst, rr)
		}
	}
	for i := range n {
		ones := slices.Repeat([]float32{1}, nt)
		c.Multiply(ones, i+1)
		for k := 0; k < nt; k += half {
			pp, rr := means(i, k)
			if want := math.Sqrt(pp / (pp + rr + 1e-4*worst)); math.Abs(float64(ones[k])-want) > 0.5/One+1e-6 {
				t.Errorf("trace %d, sample %d: %g, want %g", i, k, ones[k], want)
			}
			if k+half < nt {
				if want := (ones[k] + ones[k+half]) / 2; math.Abs(float64(ones[k+half/2]-want)) > 1e-6 {
					t.Errorf("trace %d between samples %d and %d: %g, want %g", i, k, k+half, ones[k+half/2], want)
				}
			}
		}
	}
	if slices.ContainsFunc(c.Values[:c.Nodes], func(v uint16) bool { return v != 0 }) {
		t.Error("a trace of another shot has weights")
	}
}

// Neighbours are the four nearest within reach, in a plane too, whatever the order of the traces.
func TestNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var at []float64
	for range 60 {
		at = append(at, 300*r.Float64(), 300*r.Float64(), 0)
	}
	s, list := shot(3, 1, at...)
	const reach = 40
	for i, near := range nearest(s, list, reach) {
		distance := func(j int) float64 { return math.Hypot(at[3*i]-at[3*j], at[3*i+1]-at[3*j+1]) }
		var all []int
		for j := range list {
			if distance(j) <= reach {
				all = append(all, j)
			}
		}
		slices.SortFunc(all, func(a, b int) int { return int(math.Copysign(1, distance(a)-distance(b))) })
		want := all[:min(len(all), 1+neighbours)]
		slices.Sort(want)
		if !slices.Equal(near, want) {
			t.Errorf("trace %d: %v, want %v", i, near, want)
		}
	}
}

// A prediction without misfit has weight 1 wherever it is strong, and one that is zero weight 0.
func TestExtremes(t *testing.T) {
	const nt = 40
	s, at := shot(2, nt, 0, 0)
	w := WindowsFor(0.02, 1500, s.DT, 1)
	x := make([]float32, nt)
	for k := range x {
		x[k] = 1
	}
	c := New(w, 1, nt)
	c.Find(w, s, at, 0, x, x)
	if slices.Min(c.Values) != One {
		t.Errorf("weights of a perfect prediction: %v", c.Values)
	}
	c.Find(w, s, at, 0, make([]float32, nt), make([]float32, nt))
	c = New(w, 1, nt)
	c.Find(w, s, at, 0, make([]float32, nt), x)
	if slices.Max(c.Values) != 0 {
		t.Errorf("weights of no prediction: %v", c.Values)
	}
}
