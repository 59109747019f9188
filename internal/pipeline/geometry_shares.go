package pipeline

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/kirchhoff-lsm/lsm/internal/config"

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

// orderAlong orders shots by the stretch of x, of the given length in m, in which the middle of
// their midpoints lies, so that shots which reach the same points are dealt to the same
// ranks. Within a stretch shots keep their order, since neighbours on a line share receivers.
func (s Shots) orderAlong(p *survey.Positions, length float64) Shots {
	middle, order := make([]float64, s.Len()), make([]int, s.Len())
	for i := range order {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, trace := range s.List(s.starts[i], s.starts[i+1]) {
			x := p.At(int(p.Source[trace]))[0] + p.At(int(p.Receiver[trace]))[0]
			lo, hi = min(lo, x), max(hi, x)
		}
		middle[i], order[i] = math.Floor((lo+hi)/2/length), i
	}
	if slices.IsSorted(middle) {
		return s
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(middle[a], middle[b]) })
	var t Shots
	for _, i := range order {
		t.starts = append(t.starts, len(t.order))
		t.order = append(t.order, s.List(s.starts[i], s.starts[i+1])...)
	}
	t.starts = append(t.starts, len(t.order))
	return t
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
	return newShots(DistinctPlaces(s, cfg)).Len()
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

// shotCosts estimates the cost of each shot in an application: its number of traces or, with an
// aperture, of pairs of a trace and a point that kernels go through. Each sample of a trace adds
// about the cost of 16 points.
func (g *Geometry) shotCosts() []int64 {
	s := g.Shots
	cost := make([]int64, s.Len())
	for i := range cost {
		cost[i] = int64(s.starts[i+1] - s.starts[i])
	}
	if g.Aperture.Half == nil {
		return cost
	}
	for i := range cost {
		k := &kirchhoff.Problem{Grid: g.Image, Positions: g.Places.Of(s.List(s.starts[i], s.starts[i+1]))}
		g.setAperture(k)
		cost[i] = cost[i]*16*int64(g.Survey.NT) + k.Visits()
	}
	return cost
}

// dealShots cuts shots into consecutive parts so that the most expensive part costs as
// little as possible, and returns the first shot of each part and their number.
// Neighbouring shots share receiver places, so parts are not cut further.
func dealShots(cost []int64, parts int) []int {
	var total, most int64
	for _, c := range cost {
		total += c
		most = max(most, c)
	}
	least := max(most, (total+int64(parts)-1)/int64(parts))
	more := sort.Search(int(total-least), func(n int) bool { return len(fillParts(cost, parts, least+int64(n)))-1 <= parts })
	return fillParts(cost, parts, least+int64(more))
}

// fillParts cuts shots greedily into parts that cost at most limit, but keeps one shot for
// each of the remaining parts.
func fillParts(cost []int64, parts int, limit int64) []int {
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

// Share is the work of one rank: traces First to Last in the order of shots, the
// image's points from Slab[0] to Slab[1] along x, which its kernels map, and those from
// Own[0] to Own[1], which its vectors hold. They are the same unless the share is Local.
type Share struct {
	Grid        [2]int // ranks over shots, over image blocks
	Teams       int    // see Local
	Rank        int
	First, Last int
	Slab, Own   [2]int
	Lent        int   // along x, the most points of Own that another rank maps
	Shots       []int // first traces of its shots, counted from First

	rows []int // first trace of each row of ranks, and the number of traces

	Places *survey.Positions // of its traces
	From   []int32           // what their numbers are in Inputs.Places
}

// Local reports whether ranks map only what their traces reach of the image. Neighbouring
// rows of the grid then form Teams. A team maps what the traces of its rows reach, and holds
// a part of the image that no other team holds. Without teams there is one of all ranks.
func (s *Share) Local() bool { return s.Teams > 1 }

// Team returns the number of the rank's team, and that of its row in the team.
func (s *Share) Team() (team, member int) {
	rows := s.Grid[0] / s.Teams
	row := s.Rank / s.Grid[1]
	return row / rows, row % rows
}

// Column is the rank's column of the grid.
func (s *Share) Column() int { return s.Rank % s.Grid[1] }

// Kept reports whether iterations begin with a copy of the solver's state, because the
// library between GPUs may fail and leave the sums to MPI. Ranks that stream different
// traces over blocks do not fail together.
func (s *Share) Kept(p *Plan) bool {
	c := p.Config.Comm
	library := c.Backend == "auto" || c.Backend == "nccl" || c.Backend == "rccl"
	return c.Fallback == "mpi" && library && p.Hardware.Card != nil && s.Grid[0]*s.Grid[1] > 1 && !(p.Held.Stream && s.Grid[1] > 1)
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

// Shares returns the share of each rank of a grid.
func (g *Geometry) Shares(grid [2]int) ([]*Share, error) {
	all, err := g.cutShares(grid)
	for i, s := range all {
		if column := i % grid[1]; column > 0 { // the traces of the rank before
			s.Places, s.From = all[i-1].Places, all[i-1].From
			continue
		}
		g.findPlaces(s)
	}
	return all, err
}

// Share returns the share of one rank of a grid.
func (g *Geometry) Share(grid [2]int, rank int) (*Share, error) {
	all, err := g.cutShares(grid)
	if err != nil {
		return nil, err
	}
	g.findPlaces(all[rank])
	return all[rank], nil
}

// findPlaces finds the places of a share's traces.
func (g *Geometry) findPlaces(s *Share) {
	s.Places, s.From = g.Places.Subset(g.Shots.List(s.First, s.Last))
}

// cutShares makes shares without their places.
func (g *Geometry) cutShares(grid [2]int) ([]*Share, error) {
	if err := g.checkGrid(grid); err != nil {
		if way, hint := g.suggestGrid(grid), status.HintOf(err); way != "" && hint != "" {
			err = status.Hint(err, way+"; otherwise "+hint)
		} else if way != "" {
			err = status.Hint(err, way)
		}
		return nil, err
	}
	starts := g.Shots.starts
	cuts := dealShots(g.shotCosts(), grid[0])
	rows := make([]int, len(cuts))
	for row, shot := range cuts {
		rows[row] = starts[shot]
	}
	var out []*Share
	for row := range grid[0] {
		var own []int
		for _, at := range starts[cuts[row]:cuts[row+1]] {
			own = append(own, at-rows[row])
		}
		for range grid[1] {
			out = append(out, &Share{Grid: grid, Rank: len(out), First: rows[row], Last: rows[row+1], Shots: own, rows: rows})
		}
	}
	g.shareImage(out)
	return out, nil
}

// checkGrid refuses a grid that leaves a rank without work.
func (g *Geometry) checkGrid(grid [2]int) error {
	if shots := g.Shots.Len(); grid[0] > shots {
		return status.Usage(fmt.Errorf("comm.grid: %s over shots, the survey has %s", readable.Count(grid[0], "rank"), readable.Count(shots, "shot")))
	}
	if slabs, width := g.countSlabs(); grid[1] > slabs {
		return status.Usage(fmt.Errorf("comm.grid: %s over image blocks, but the image has only %s of %d points along x", readable.Count(grid[1], "rank"), readable.Count(slabs, "block"), width))
	}
	return nil
}

// suggestGrid names the grid that lays out as many ranks as another one, with most of them over shots, or
// the most ranks that any does; "" for none.
func (g *Geometry) suggestGrid(grid [2]int) string {
	all := grid[0] * grid[1]
	for n := all; n > 0; n-- {
		for shots := n; shots > 0; shots-- {
			if n%shots != 0 || g.checkGrid([2]int{shots, n / shots}) != nil {
				continue
			}
			if n == all {
				return fmt.Sprintf("comm.grid = [%d, %d] lays out %s (--set comm.grid=%[1]d,%[2]d)", shots, n/shots, readable.Count(n, "rank"))
			}
			return fmt.Sprintf("%d ranks can be laid out no way here: start %d, with comm.grid = [%d, %d] (--set comm.grid=%[3]d,%[4]d)", all, n, shots, n/shots)
		}
	}
	return ""
}

// countSlabs returns the number of blocks that the image may be cut into at most, and how many points
// along x each has.
func (g *Geometry) countSlabs() (n, width int) {
	width = kirchhoff.SlabPoints(g.Image.Dim())
	return (g.Image.Shape[0] + width - 1) / width, width
}

// shareImage shares out the image among all ranks of a grid, which have their traces. The columns
// of the grid cut the whole image into slabs or, with an aperture, what a team's traces
// reach.
func (g *Geometry) shareImage(all []*Share) {
	grid, rows := all[0].Grid, all[0].rows
	slabs, width := g.countSlabs()
	points := func(lo, hi int) [2]int {
		return [2]int{min(lo*width, g.Image.Shape[0]), min(hi*width, g.Image.Shape[0])}
	}
	teams, reach, held := 1, [][2]int{{0, slabs}}, [][2]int{{0, slabs}}
	if g.Aperture.Half != nil {
		teams = mostTeams(grid[0], slabs)
	}
	if teams > 1 {
		reach = g.findReaches(rows, grid[0]/teams)
		held = findHeldSlabs(reach, slabs)
	}
	for _, s := range all {
		s.Teams = teams
		team, _ := s.Team()
		r, h := reach[team], held[team]
		if h[0] < h[1] {
			r = [2]int{min(r[0], h[0]), max(r[1], h[1])}
		}
		column := s.Column()
		lo, hi := r[0]+column*(r[1]-r[0])/grid[1], r[0]+(column+1)*(r[1]-r[0])/grid[1]
		s.Slab, s.Own = points(lo, hi), points(max(lo, min(h[0], hi)), max(lo, min(h[1], hi)))
		if lo == hi { // [0, 0] would be the whole image
			s.Slab = points(slabs, slabs)
		}
	}
	for _, s := range all {
		s.Lent = 0
		for o := range s.Others(all) {
			s.Lent = max(s.Lent, Overlap(s.Own, o.Slab))
		}
	}
}

// Others are the shares with which a rank exchanges points of the image: one of each column
// of each team, but its own.
func (s *Share) Others(all []*Share) iter.Seq[*Share] {
	return func(yield func(*Share) bool) {
		_, member := s.Team()
		each, columns := s.Grid[0]/s.Teams, s.Grid[1]
		for row := member; s.Local() && row < s.Grid[0]; row += each {
			for _, o := range all[row*columns : (row+1)*columns] {
				if o.Rank != s.Rank && !yield(o) {
					return
				}
			}
		}
	}
}

// mostTeams is the largest number of equal teams into which the rows can be split so that each team
// holds at least one slab of the image.
func mostTeams(rows, slabs int) int {
	teams := min(rows, slabs)
	for rows%teams != 0 {
		teams--
	}
	return teams
}

// findReaches returns the slabs [lo, hi) that the traces of each team of some rows of ranks reach.
func (g *Geometry) findReaches(rows []int, each int) (out [][2]int) {
	_, width := g.countSlabs()
	for row := 0; row+each < len(rows); row += each {
		k := &kirchhoff.Problem{Grid: g.Image, Positions: g.Places.Of(g.Shots.List(rows[row], rows[row+each]))}
		g.setAperture(k)
		lo, hi := k.Reach()
		out = append(out, [2]int{lo / width, (hi + width - 1) / width})
	}
	return out
}

// findHeldSlabs returns the slabs [lo, hi) that each team holds, one after the other: an equal
// part of the image, unless neighbouring teams do not both reach the border between their
// parts. The border then lies nearer to what they reach.
func findHeldSlabs(reach [][2]int, slabs int) [][2]int {
	out := make([][2]int, len(reach))
	at := 0
	for team := range reach {
		end := slabs
		if team+1 < len(reach) {
			a, b := reach[team+1][0], reach[team][1]
			end = max(at, min(max((team+1)*slabs/len(reach), min(a, b)), max(a, b)))
		}
		out[team] = [2]int{at, end}
		at = end
	}
	return out
}

// Overlap is the number of points in both of two ranges [lo, hi).
func Overlap(a, b [2]int) int { return max(0, min(a[1], b[1])-max(a[0], b[0])) }
