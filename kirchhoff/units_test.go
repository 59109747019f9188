package kirchhoff

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// someTraces are places in no order, numbered as a part of a survey, perhaps sorted by
// source.
func someTraces(r *rand.Rand, places, n int) *survey.Positions {
	p := &survey.Positions{Dim: 2, XYZ: make([]float64, 2*places), Role: make([]survey.Role, places)}
	for number := int32(0); len(p.Number) < places; number += 1 + r.Int32N(9) {
		p.Number = append(p.Number, number)
	}
	for range n {
		p.Source, p.Receiver = append(p.Source, r.Int32N(int32(places))), append(p.Receiver, r.Int32N(int32(places)))
	}
	if r.IntN(2) == 0 {
		slices.Sort(p.Source)
	}
	return p
}

// Traces are sorted by source, by the cell of their receiver and by number.
func TestRunsAreSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		p := someTraces(r, 2+r.IntN(60), 1+r.IntN(300))
		cell := func(i int32) int32 { return p.NumberOf(p.Receiver[i]) / 16 }
		want := count(len(p.Source))
		slices.SortFunc(want, func(a, b int32) int {
			return cmp.Or(cmp.Compare(p.Source[a], p.Source[b]), cmp.Compare(cell(a), cell(b)), cmp.Compare(a, b))
		})
		if got := inRuns(p, 16); !slices.Equal(got, want) {
			t.Fatalf("sources %v, receivers %v: order %v, want %v", p.Source, p.Receiver, got, want)
		}
	}
}

// Stretches are those that sets of places make, run by run.
func TestStretchesAreThoseOfSets(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		p := someTraces(r, 2+r.IntN(60), 1+r.IntN(300))
		most := 2 + r.IntN(p.Len())
		k := &Image{Own: &Problem{Positions: p}, TraceCuts: []int{0, len(p.Source)}}
		k.cutStretches(most)
		cuts, places, short := stretchesOfSets(p, most)
		var got []int
		for _, u := range k.Units {
			got = append(got, u.Hi)
		}
		if !slices.Equal(got, cuts) || k.Places != places || k.short != short {
			t.Fatalf("at most %d of %d places: units end at %v, %d places, short %d; want %v, %d, %d", most, p.Len(), got, k.Places, k.short, cuts, places, short)
		}
	}
}

func stretchesOfSets(p *survey.Positions, most int) (cuts []int, places, short int) {
	order := inRuns(p, adjointCells.receivers)
	with := func(have map[int32]bool, traces []int32) map[int32]bool {
		all := maps.Clone(have)
		for _, i := range traces {
			all[p.Source[i]], all[p.Receiver[i]] = true, true
		}
		return all
	}
	have := map[int32]bool{}
	end := func(at int) {
		if len(have) > 0 {
			cuts, places, have = append(cuts, at), max(places, len(have)), map[int32]bool{}
		}
	}
	for at := 0; at < len(order); {
		next := runEnd(p, order, at, adjointCells.receivers)
		size := next - at
		if n := len(with(map[int32]bool{}, order[at:next])); n > most {
			short, size = max(short, n), 1
			end(at)
		}
		for ; at < next; at += size {
			traces := order[at : at+size]
			if len(with(have, traces)) > most {
				end(at)
			}
			have = with(have, traces)
		}
	}
	end(len(order))
	return cuts, places, short
}
