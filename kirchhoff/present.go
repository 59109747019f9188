package kirchhoff

import (
	"context"
	"sync"

	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// presence says in which boxes the branches of places have arrivals. Tables of the others are not held.
type presence struct {
	boxes int
	sync.Mutex
	of map[int32][]bool // by the number of a place in the whole survey: [branch][box]
}

// findPresence solves for places of p and notes where their branches are, in the boxes of t.
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

// holds reports whether asked is true for any point of b in a window, by its number there.
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

// sampled is the number of places from which SampleBranches tells that of all.
const sampled = 16

// SampleBranches solves for some places of p, spread evenly over all, and returns for each branch the share
// of places and boxes in which it has arrivals, which Present takes; nil with one branch.
func SampleBranches(ctx context.Context, p *Problem) ([]float64, error) {
	if !p.several() {
		return nil, nil
	}
	all, _ := p.TimesNeeded()
	n := min(sampled, len(all))
	var some []int
	for i := range n {
		some = append(some, all[(2*i+1)*len(all)/(2*n)])
	}
	w, err := p.findPresence(ctx, &Outline(p).Tiling, some)
	shares := make([]float64, p.branches())
	for _, in := range w.of {
		for i, has := range in {
			if has {
				shares[i/w.boxes] += 1 / float64(w.boxes*n)
			}
		}
	}
	return shares, err
}

// expected is the share of all tables of branches that are held, as far as Present says.
func (p *Problem) expected() float64 {
	if !p.several() || p.Present == nil {
		return 1
	}
	sum := 0.0
	for _, share := range p.Present {
		sum += share
	}
	return sum / float64(p.branches())
}

// in reports whether a branch of a place of p has arrivals in a box.
func (w *presence) in(p *Problem, place, branch, box int) bool {
	if w == nil {
		return true
	}
	of := w.of[p.Positions.NumberOf(int32(place))]
	return of != nil && of[branch*w.boxes+box]
}
