package pipeline

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// planned is a plan of a survey on an image of five slabs, as far as shares need it.
func planned(s *survey.Survey) *Plan {
	places := s.Distinct(true)
	return &Plan{
		Config: &config.Config{Kirchhoff: config.Kirchhoff{WaveletFilter: "off"}}, Inputs: &Inputs{Survey: s, Places: places}, Times: &Times{},
		Geometry: &Geometry{Survey: s, Places: places, Shots: newShots(places), Image: grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{300, 20}}},
	}
}

// withAperture gives a plan's geometry an aperture, in m by axis.
func withAperture(p *Plan, aperture []float64) {
	p.Geometry.Aperture = newAperture(&config.Config{Kirchhoff: config.Kirchhoff{Aperture: aperture}}, p.Geometry.Image.Dim())
}

// scattered is a survey of n traces in no order.
func scattered(r *rand.Rand, dim, sources, n int) *survey.Survey {
	s := &survey.Survey{Dim: dim, NT: 2}
	for range sources * dim {
		s.Sources = append(s.Sources, 25*float64(r.IntN(40)))
	}
	for range 60 * dim {
		s.Receivers = append(s.Receivers, 25*float64(r.IntN(40)))
	}
	for range n {
		s.SourceIndex = append(s.SourceIndex, int32(r.IntN(sources)))
		s.ReceiverIndex = append(s.ReceiverIndex, int32(r.IntN(60)))
	}
	return s
}

// The shares of many ranks are those that each rank finds for itself, and together they
// have every trace and every point once.
func TestSharesAreThoseOfEachRank(t *testing.T) {
	p := planned(scattered(rand.New(rand.NewPCG(1, 1)), 2, 90, 3000))
	for _, grid := range [][2]int{{1, 1}, {7, 1}, {p.Geometry.Shots.Len(), 1}, {16, 4}, {1, 5}} {
		all, err := p.Geometry.Shares(grid)
		if err != nil {
			t.Fatal(err)
		}
		met := make([]int, 3000)
		for rank, s := range all {
			own, err := p.Geometry.Share(grid, rank)
			if err != nil {
				t.Fatal(err)
			}
			a, b := s.Places, own.Places
			if s.Rank != rank || s.First != own.First || s.Last != own.Last || s.Slab != own.Slab || !slices.Equal(s.Shots, own.Shots) ||
				!slices.Equal(s.From, own.From) || !slices.Equal(a.XYZ, b.XYZ) || !slices.Equal(a.Number, b.Number) ||
				!slices.Equal(a.Source, b.Source) || !slices.Equal(a.Receiver, b.Receiver) {
				t.Fatalf("rank %d of %v: %+v, alone %+v", rank, grid, s, own)
			}
			for i, n := range p.Geometry.Shots.List(s.First, s.Last) {
				met[n] += s.Slab[1] - s.Slab[0]
				if p.Geometry.Places.Source[n] != s.From[a.Source[i]] || p.Geometry.Places.Receiver[n] != s.From[a.Receiver[i]] {
					t.Fatalf("rank %d of %v: trace %d has other places", rank, grid, n)
				}
			}
		}
		if slices.Min(met) != 300 || slices.Max(met) != 300 {
			t.Fatalf("%v: traces meet %d to %d of 300 columns", grid, slices.Min(met), slices.Max(met))
		}
	}
}

// With an aperture each point is held by one team, which maps it, and a team maps every
// point that its traces reach. Its rows hold the same. Neighbouring rows reach neighbouring
// points.
func TestSharesWithAnAperture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scattered(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2)), 2, 30, 400)
		p := planned(s)
		p.Geometry.Image.Shape[0] = rapid.IntRange(1, 900).Draw(t, "points")
		aperture := rapid.Float64Range(1, 900).Draw(t, "aperture")
		withAperture(p, []float64{aperture})
		p.Geometry.Shots = p.Geometry.Shots.orderAlong(p.Geometry.Places, aperture)
		grid := [2]int{rapid.IntRange(2, p.Geometry.Shots.Len()).Draw(t, "rows"), 1}
		if slabs, _ := p.Geometry.countSlabs(); slabs > 1 {
			grid[1] = rapid.IntRange(1, 2).Draw(t, "columns")
		}
		all, err := p.Geometry.Shares(grid)
		if err != nil {
			t.Fatal(err)
		}
		next, before := 0, math.Inf(-1)
		for rank, s := range all {
			team, member := s.Team()
			first := all[(team*(grid[0]/s.Teams))*grid[1]+s.Column()]
			if s.Own != first.Own || s.Slab != first.Slab || s.Teams != first.Teams || grid[0]%s.Teams != 0 {
				t.Fatalf("rank %d of %v: %+v, the first of its team has %+v", rank, grid, s, first)
			}
			if member == 0 && s.Own[0] < s.Own[1] {
				if s.Own[0] != next || s.Own[0] < s.Slab[0] || s.Own[1] > s.Slab[1] {
					t.Fatalf("rank %d of %v holds %v of %v, want it to begin at %d", rank, grid, s.Own, s.Slab, next)
				}
				next = s.Own[1]
			}
			lent := 0
			for other, o := range all {
				if of, _ := o.Team(); other != rank && s.Local() && (of != team || o.Column() != s.Column()) {
					lent = max(lent, min(s.Own[1], o.Slab[1])-max(s.Own[0], o.Slab[0]))
				}
			}
			if s.Lent != lent {
				t.Fatalf("rank %d of %v lends %d points to one rank, want %d", rank, grid, s.Lent, lent)
			}
			row := all[team*(grid[0]/s.Teams)*grid[1]:][:grid[1]]
			middle := math.Inf(1)
			for _, n := range p.Geometry.Shots.List(s.First, s.Last) {
				m := (p.Geometry.Places.At(int(p.Geometry.Places.Source[n]))[0] + p.Geometry.Places.At(int(p.Geometry.Places.Receiver[n]))[0]) / 2
				middle = min(middle, m)
				for x := range p.Geometry.Image.Shape[0] {
					if math.Abs(p.Geometry.Image.Coord(0, x)-m) < aperture && !slices.ContainsFunc(row, func(s *Share) bool { return x >= s.Slab[0] && x < s.Slab[1] }) {
						t.Fatalf("rank %d of %v: a trace at %g m reaches column %d, which no rank of its row maps", rank, grid, m, x)
					}
				}
			}
			if middle < before-1000-aperture { // half the widest shot, and a stretch
				t.Fatalf("rank %d of %v: shots do not follow the line", rank, grid)
			}
			before = middle
		}
		if next != p.Geometry.Image.Shape[0] {
			t.Fatalf("%v hold %d of %d columns", grid, next, p.Geometry.Image.Shape[0])
		}
	})
}

// everyGather is the distance of traces found from the gathers of all sources and
// receivers.
func everyGather(s *survey.Survey) []float64 {
	shots, spreads, middles := make([][]float64, s.NumSources()), make([][]float64, s.NumReceivers()), []float64(nil)
	for i := range s.NumTraces() {
		src, rec := s.Pair(i)
		a, b := s.Source(src), s.Receiver(rec)
		shots[src], spreads[rec] = append(shots[src], b...), append(spreads[rec], a...)
		for k := range a {
			middles = append(middles, a[k]+b[k])
		}
	}
	some := func(all [][]float64) (list [][]float64) {
		all = slices.DeleteFunc(all, func(xyz []float64) bool { return len(xyz) == 0 })
		for i := 0; i < len(all); i += max(1, len(all)/mostGathers) {
			list = append(list, all[i])
		}
		return list
	}
	near, other, twice := medianSpacings(some(shots), s.Dim), medianSpacings(some(spreads), s.Dim), medianSpacings([][]float64{middles}, s.Dim)
	out := make([]float64, s.Dim-1)
	for a := range out {
		switch {
		case near[a] > 0 && other[a] > 0:
			out[a] = min(near[a], other[a])
		case near[a]+other[a] > 0:
			out[a] = near[a] + other[a]
		default:
			out[a] = twice[a]
		}
	}
	return out
}

// The distance of traces is the same whether all gathers are gathered or some of them.
func TestTraceSpacingOfSomeGathers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for k := range 40 {
		s := scattered(r, 2+k%2, 1+r.IntN(150), 1+r.IntN(500))
		if got, want := traceSpacing(s), everyGather(s); !slices.Equal(got, want) {
			t.Fatalf("%d traces %v m apart, want %v", s.NumTraces(), got, want)
		}
	}
}

// Numbers of many traces, and what is measured of them, take little more than the places.
func TestPlansTakeLittleMemory(t *testing.T) {
	const sources, n = 500, 100_000
	s := scattered(rand.New(rand.NewPCG(7, 8)), 3, sources, n)
	p := planned(s)
	for what, c := range map[string]struct {
		most float64 // bytes a trace
		do   func()
	}{
		"order of shots": {6, func() { newShots(p.Geometry.Places) }},
		"spacing":        {40, func() { traceSpacing(s) }}, // a third of the receivers
		"shares":         {14, func() { _, _ = p.Geometry.Shares([2]int{64, 1}) }},
		"shares, blocks": {14, func() { _, _ = p.Geometry.Shares([2]int{64, 4}) }},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.do()
		runtime.ReadMemStats(&after)
		each := float64(after.TotalAlloc-before.TotalAlloc) / n
		if each > c.most {
			t.Errorf("%s: %.1f bytes a trace, want at most %.1f", what, each, c.most)
		}
	}
}
