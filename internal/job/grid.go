package job

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// ranks is this rank's place in the process grid. Rank r of the run has row
// r / blocks and column r % blocks.
type ranks struct {
	world  comm.Comm
	grid   [2]int    // ranks over shots, over image blocks
	shots  comm.Comm // ranks with the same image block
	blocks comm.Comm // ranks with the same shots
	node   int       // ranks on this machine
}

// joinGrid lays the ranks of a run out as the configuration says.
func joinGrid(world comm.Comm, want []int) (ranks, error) {
	r := ranks{world: world, shots: world, blocks: world, node: 1}
	var err error
	if r.grid, err = gridFor(want, world.Size()); err != nil || world.Size() == 1 {
		return r, err
	}
	if r.shots, err = world.Split(world.Rank()%r.grid[1], world.Rank()); err != nil {
		return r, err
	}
	if r.blocks, err = world.Split(world.Rank()/r.grid[1], world.Rank()); err != nil {
		return r, err
	}
	watch.Name(r.shots, "shots")
	watch.Name(r.blocks, "blocks")
	return r, nil
}

// row and column are this rank's place in the grid.
func (r ranks) row() int    { return r.shots.Rank() }
func (r ranks) column() int { return r.blocks.Rank() }

// root reports whether this rank reads and writes for all.
func (r ranks) root() bool { return r.world.Rank() == 0 }

// gridFor is the process grid of n ranks: where one of the two numbers wanted is
// 0, it is what the other leaves.
func gridFor(want []int, n int) ([2]int, error) {
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

// shotOrder lists the traces shot by shot, a shot being the traces of one source
// place: nil where they lie so already. starts are the first traces of the shots
// in that order, and their number behind them.
func shotOrder(p *survey.Positions) (order []int32, starts []int) {
	n := len(p.Source)
	if !slices.IsSorted(p.Source) {
		order = make([]int32, n)
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortStableFunc(order, func(a, b int32) int { return int(p.Source[a]) - int(p.Source[b]) })
	}
	last := int32(-1)
	for i := range n {
		at := i
		if order != nil {
			at = int(order[i])
		}
		if p.Source[at] != last {
			last = p.Source[at]
			starts = append(starts, i)
		}
	}
	return order, append(starts, n)
}

// deal cuts shots into consecutive parts so that the most expensive part costs as
// little as possible, and returns the first shot of each part and their number.
// Neighbouring shots share receiver places, so parts are not cut further.
func deal(cost []int64, parts int) []int {
	var total, most int64
	for _, c := range cost {
		total += c
		most = max(most, c)
	}
	lo, hi := max(most, (total+int64(parts)-1)/int64(parts)), total
	for lo < hi {
		mid := lo + (hi-lo)/2
		if len(fill(cost, parts, mid))-1 <= parts {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return fill(cost, parts, hi)
}

// fill cuts shots greedily into parts that cost at most limit, but leaves one
// shot for every part still to come.
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

// share is what one rank holds: traces first to last in the order of shots, and
// the image's points from slab[0] to slab[1] along x.
type share struct {
	first, last int
	slab        [2]int
	shots       []int // first traces of its shots, counted from first
}

// traces lists a share's traces by their numbers in the survey.
func (j *Job) traces(s share) []int32 {
	if j.order != nil {
		return j.order[s.first:s.last]
	}
	list := make([]int32, s.last-s.first)
	for i := range list {
		list[i] = int32(s.first + i)
	}
	return list
}

// shares is what the ranks of a grid hold, by rank. A shot costs as much as it
// has traces.
func (j *Job) shares(grid [2]int) ([]share, error) {
	shots := len(j.starts) - 1
	if grid[0] > shots {
		return nil, status.Hint(status.Usage(fmt.Errorf("comm.grid: %s over shots, the survey has %s", readable.Count(grid[0], "rank"), readable.Count(shots, "shot"))),
			"start fewer ranks, or lay them out over image blocks as well, as in comm.grid = [0, 2]")
	}
	if slabs, width := j.slabs(); grid[1] > slabs {
		return nil, status.Hint(status.Usage(fmt.Errorf("comm.grid: %s over image blocks, the image has %s of %d points along x", readable.Count(grid[1], "rank"), readable.Count(slabs, "block"), width)),
			"lay out more ranks over shots")
	}
	return j.cut(grid), nil
}

// slabs is into how many blocks, of how many points along x, the image may be cut.
func (j *Job) slabs() (n, width int) {
	width = kirchhoff.SlabPoints(j.Image.Dim())
	return (j.Image.Shape[0] + width - 1) / width, width
}

// cut is what the ranks of a grid hold, of the image nothing where there are more of
// them than blocks.
func (j *Job) cut(grid [2]int) []share {
	slabs, width := j.slabs()
	nx := j.Image.Shape[0]
	cost := make([]int64, len(j.starts)-1)
	for i := range cost {
		cost[i] = int64(j.starts[i+1] - j.starts[i])
	}
	cuts := deal(cost, grid[0])
	out := make([]share, 0, grid[0]*grid[1])
	for row := range grid[0] {
		s := share{first: j.starts[cuts[row]], last: j.starts[cuts[row+1]]}
		for _, at := range j.starts[cuts[row]:cuts[row+1]] {
			s.shots = append(s.shots, at-s.first)
		}
		for column := range grid[1] {
			s.slab = [2]int{min(nx, column*slabs/grid[1]*width), min(nx, (column+1)*slabs/grid[1]*width)}
			if s.slab[0] == s.slab[1] {
				s.slab = [2]int{nx, nx} // [0, 0] would be the whole image
			}
			out = append(out, s)
		}
	}
	return out
}

// slabLen is the number of image points of a share.
func (j *Job) slabLen(s share) int { return (s.slab[1] - s.slab[0]) * j.plane() }

// plane is the number of image points with one x.
func (j *Job) plane() int { return j.Image.Len() / j.Image.Shape[0] }
