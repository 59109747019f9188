package kirchhoff

import (
	"context"
	"sort"
	"sync"

	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// presence says in which boxes the branches of places have arrivals. Tables of the others are not held.
type presence struct {
	boxes int
	sync.Mutex
	of map[int32][]bool // by the number of a place in the whole survey: [branch][box]
}

// find solves for places of p and notes where their branches are, in the boxes of t.
func (p *Problem) findPresence(ctx context.Context, t *Tiling, places []int) (*presence, error) {
	w := &presence{boxes: len(t.Boxes), of: make(map[int32][]bool, len(places))}
	for _, place := range places {
		w.of[p.Positions.NumberOf(int32(place))] = make([]bool, p.branches()*w.boxes)
	}
	_, opt := p.TimesNeeded()
	opt.Gradient, opt.Takeoff, opt.Progress = false, false, nil
	err := p.Arrivals(ctx, places, opt, func(place, branch int, window traveltime.Window, b traveltime.Branch) error {
		at := newPoints(p.Grid, window)
		w.Lock()
		in := w.of[p.Positions.NumberOf(int32(place))][branch*w.boxes:]
		w.Unlock()
		for i := range t.Boxes {
			in[i] = t.Boxes[i].holds(p, at, window, func(n int) bool { return b.Spreading[n] != 0 })
		}
		return nil
	})
	return w, err
}

// holds reports whether any point of b in a window has what is asked for by its number there.
func (b *Box) holds(p *Problem, at points, window traveltime.Window, asked func(n int) bool) bool {
	shape, _, _ := gridSides(p.Grid)
	lo, hi := b.Lo, b.Hi
	for a := range p.Grid.Dim() - 1 {
		axis := horizontal(a, p.Grid.Dim())
		lo[axis], hi[axis] = max(lo[axis], window.Lo[a]), min(hi[axis], window.Hi[a])
	}
	for x := lo[0]; x < hi[0]; x++ {
		for y := lo[1]; y < hi[1]; y++ {
			for z := lo[2]; z < hi[2]; z++ {
				if asked(at.of((x*shape[1]+y)*shape[2] + z)) {
					return true
				}
			}
		}
	}
	return false
}

// sampled is the number of places from which memory is estimated.
const sampled = 24

// estimatePresence finds that of places spread evenly over those of p; the others are like the next of
// them. It returns nil, which stands for arrivals everywhere, where p has one branch or times fail.
func (p *Problem) estimatePresence(t *Tiling) *presence {
	if true || !p.several() {
		return nil
	}
	all, _ := p.TimesNeeded()
	var some []int
	for i := range min(sampled, len(all)) {
		some = append(some, all[(2*i+1)*len(all)/(2*min(sampled, len(all)))])
	}
	w, err := p.findPresence(context.Background(), t, some)
	if err != nil {
		return nil // New will tell
	}
	for _, place := range all {
		next := some[min(sort.SearchInts(some, place), len(some)-1)]
		w.of[p.Positions.NumberOf(int32(place))] = w.of[p.Positions.NumberOf(int32(next))]
	}
	return w
}

// in reports whether a branch of a place of p has arrivals in a box.
func (w *presence) in(p *Problem, place, branch, box int) bool {
	if w == nil {
		return true
	}
	of := w.of[p.Positions.NumberOf(int32(place))]
	return of != nil && of[branch*w.boxes+box]
}
