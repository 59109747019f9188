package plan

import (
	"fmt"
	"slices"
	"sort"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// GridFor returns the process grid of n ranks. If one of the two wanted numbers is 0, it
// follows from the other.
func GridFor(want []int, n int) ([2]int, error) {
	g := [2]int{want[0], want[1]}
	for a := range g {
		if g[a] == 0 && n%g[1-a] == 0 {
			g[a] = n / g[1-a]
		}
	}
	if g[0]*g[1] != n {
		return g, status.Hint(status.Usage(fmt.Errorf("comm.grid: [%d, %d] does not lay out the %s of this run", want[0], want[1], readable.Count(n, "rank"))),
			fmt.Sprintf("the product of the two must be %d; 0 stands for as many as there are", n))
	}
	return g, nil
}

// Shots is the order in which traces are dealt to ranks: shot by shot, a shot being the
// traces of one source place.
type Shots struct {
	order  []int32 // traces in that order; nil: as they are numbered
	starts []int   // first traces of the shots in that order, and the number of traces
}

func newShots(p *survey.Positions) Shots {
	var s Shots
	n := len(p.Source)
	if !slices.IsSorted(p.Source) {
		s.order = bySource(p)
	}
	last := int32(-1)
	for i, trace := range s.List(0, n) {
		if at := p.Source[trace]; at != last {
			last = at
			s.starts = append(s.starts, i)
		}
	}
	s.starts = append(s.starts, n)
	return s
}

// bySource lists the traces by source place, those of one place by number.
func bySource(p *survey.Positions) []int32 {
	next := make([]int32, slices.Max(p.Source)+2) // by place, where in the list its next trace goes
	for _, place := range p.Source {
		next[place+1]++
	}
	for i := range next[1:] {
		next[i+1] += next[i]
	}
	order := make([]int32, len(p.Source))
	for i, place := range p.Source {
		order[next[place]] = int32(i)
		next[place]++
	}
	return order
}

// CountShots is the number of shots of the configured survey.
func CountShots(s *survey.Survey, cfg *config.Config) int {
	return newShots(inputs.Places(s, cfg)).Len()
}

// Len is the number of shots.
func (s Shots) Len() int { return len(s.starts) - 1 }

// Traces is the number of traces of all shots.
func (s Shots) Traces() int { return s.starts[s.Len()] }

// List returns the numbers in the survey of traces first to last of the order. Callers
// must not change it.
func (s Shots) List(first, last int) []int32 {
	if s.order != nil {
		return s.order[first:last]
	}
	list := make([]int32, last-first)
	for i := range list {
		list[i] = int32(first + i)
	}
	return list
}

// InOrder reports whether traces are numbered shot by shot.
func (s Shots) InOrder() bool { return s.order == nil }

// deal cuts shots into consecutive parts so that the most expensive part costs as
// little as possible, and returns the first shot of each part and their number.
// Neighbouring shots share receiver places, so parts are not cut further.
func deal(cost []int64, parts int) []int {
	var total, most int64
	for _, c := range cost {
		total += c
		most = max(most, c)
	}
	least := max(most, (total+int64(parts)-1)/int64(parts))
	more := sort.Search(int(total-least), func(n int) bool { return len(fill(cost, parts, least+int64(n)))-1 <= parts })
	return fill(cost, parts, least+int64(more))
}

// fill cuts shots greedily into parts that cost at most limit, but keeps one shot for
// each of the remaining parts.
func fill(cost []int64, parts int, limit int64) []int {
	cuts := []int{0}
	sum := int64(0)
	for i, c := range cost {
		left := parts - len(cuts) // parts still to come
		if i > cuts[len(cuts)-1] && (sum+c > limit || len(cost)-i <= left) {
			cuts = append(cuts, i)
			sum = 0
		}
		sum += c
	}
	return append(cuts, len(cost))
}

// Share is what one rank holds: traces First to Last in the order of shots, and the
// image's points from Slab[0] to Slab[1] along x.
type Share struct {
	Rank        int
	First, Last int
	Slab        [2]int
	Shots       []int // first traces of its shots, counted from First

	Places *survey.Positions // of its traces
	From   []int32           // what their numbers are in Inputs.Places
}

// Traces is the number of traces.
func (s *Share) Traces() int { return s.Last - s.First }

// Shot returns the first trace of a shot and the one after its last, counted from First.
func (s *Share) Shot(i int) (first, last int) {
	if i+1 == len(s.Shots) {
		return s.Shots[i], s.Traces()
	}
	return s.Shots[i], s.Shots[i+1]
}

// Shares returns the share of each rank of a grid. The cost of a shot is its number of traces.
func (p *Plan) Shares(grid [2]int) ([]*Share, error) {
	all, err := p.cut(grid)
	for i, s := range all {
		if column := i % grid[1]; column > 0 { // the traces of the rank before
			s.Places, s.From = all[i-1].Places, all[i-1].From
			continue
		}
		p.place(s)
	}
	return all, err
}

// Share is what one rank of a grid holds.
func (p *Plan) Share(grid [2]int, rank int) (*Share, error) {
	all, err := p.cut(grid)
	if err != nil {
		return nil, err
	}
	p.place(all[rank])
	return all[rank], nil
}

// place finds the places of a share's traces.
func (p *Plan) place(s *Share) { s.Places, s.From = p.Places.Subset(p.Shots.List(s.First, s.Last)) }

// cut makes shares without their places.
func (p *Plan) cut(grid [2]int) ([]*Share, error) {
	starts, shots := p.Shots.starts, p.Shots.Len()
	if grid[0] > shots {
		return nil, status.Hint(status.Usage(fmt.Errorf("comm.grid: %s over shots, the survey has %s", readable.Count(grid[0], "rank"), readable.Count(shots, "shot"))),
			"start fewer ranks, or lay them out over image blocks as well, as in comm.grid = [0, 2]")
	}
	if slabs, width := p.slabs(); grid[1] > slabs {
		return nil, status.Hint(status.Usage(fmt.Errorf("comm.grid: %s over image blocks, the image has %s of %d points along x", readable.Count(grid[1], "rank"), readable.Count(slabs, "block"), width)),
			"lay out more ranks over shots")
	}
	cost := make([]int64, shots)
	for i := range cost {
		cost[i] = int64(starts[i+1] - starts[i])
	}
	cuts := deal(cost, grid[0])
	var out []*Share
	for row := range grid[0] {
		first := starts[cuts[row]]
		var own []int
		for _, at := range starts[cuts[row]:cuts[row+1]] {
			own = append(own, at-first)
		}
		for column := range grid[1] {
			out = append(out, &Share{Rank: len(out), First: first, Last: starts[cuts[row+1]], Slab: p.slab(column, grid[1]), Shots: own})
		}
	}
	return out, nil
}

// OnGrid combines the traces of another plan's share with the slab of the same rank of a
// grid. The slab is empty if there are more ranks than slabs.
func (p *Plan) OnGrid(s *Share, grid [2]int) *Share {
	t := *s
	t.Slab = p.slab(s.Rank%grid[1], grid[1])
	return &t
}

// slabs is the number of blocks that the image may be cut into at most, and how many points
// along x each has.
func (p *Plan) slabs() (n, width int) {
	width = kirchhoff.SlabPoints(p.Image.Dim())
	return (p.Image.Shape[0] + width - 1) / width, width
}

// slab returns the points along x of one column of ranks.
func (p *Plan) slab(column, columns int) [2]int {
	slabs, width := p.slabs()
	nx := p.Image.Shape[0]
	s := [2]int{min(nx, column*slabs/columns*width), min(nx, (column+1)*slabs/columns*width)}
	if s[0] == s[1] {
		s = [2]int{nx, nx} // [0, 0] would be the whole image
	}
	return s
}

// Points is the number of image points of a share.
func (p *Plan) Points(s *Share) int { return (s.Slab[1] - s.Slab[0]) * p.Plane() }

// Plane is the number of image points with one x.
func (p *Plan) Plane() int { return p.Image.Len() / p.Image.Shape[0] }
