package traveltime

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// Solved solves for places of p, none for all, and returns copies of their first arrivals, by place.
// It fails the test on any error, on a place that is handed over twice or never, and on a window
// that is not the place's.
func Solved(t interface{ Fatalf(string, ...any) }, m Method, p *survey.Positions, opt Options, places ...int) map[int]Branch {
	if places == nil {
		for i := range p.Len() {
			places = append(places, i)
		}
	}
	out, calls := map[int]Branch{}, 0
	var mu sync.Mutex
	err := m.Solve(context.Background(), p, places, opt, func(place int, f Field) error {
		mu.Lock()
		defer mu.Unlock()
		calls++
		if want := opt.Window(m.Grid(), place); f.Window != want || len(f.Branches) != 1 {
			return fmt.Errorf("place %d: %d branches on the window %v, want one on %v", place, len(f.Branches), f.Window, want)
		}
		out[place] = f.Branches[0].each(slices.Clone)
		return nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if calls != len(places) || len(out) != len(places) {
		t.Fatalf("%d places were handed over in %d calls, want %d once", len(out), calls, len(places))
	}
	return out
}

// Identical reports whether all that two arrivals have is the same to the bit.
func Identical(b, other Branch) bool {
	if len(b.Gradient) != len(other.Gradient) {
		return false
	}
	same := slices.Equal(b.Time, other.Time) && slices.Equal(b.Spreading, other.Spreading) && slices.Equal(b.Takeoff, other.Takeoff)
	for a := range b.Gradient {
		same = same && slices.Equal(b.Gradient[a], other.Gradient[a])
	}
	return same
}
