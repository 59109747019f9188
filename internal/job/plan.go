package job

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// Plan is how a number of ranks share a run.
type Plan struct {
	Grid   [2]int // ranks over shots, over image blocks
	Rank   int    // the one that needs most memory, and what it needs
	Memory Memory
	Traces [2]int   // of the rank with the fewest and of that with the most
	Points [2]int   // of the image, likewise
	Work   [2]int64 // traces × points, likewise

	Reduced int64 // bytes that every rank has summed over others in one iteration
}

// Plan finds out how the given number of ranks would share this run on the grid
// wanted (as comm.grid). Limits on memory are those of this machine, divided as
// now.
func (j *Job) Plan(want []int, ranks int) (*Plan, error) {
	grid, err := gridFor(want, ranks)
	if err != nil {
		return nil, err
	}
	all, err := j.shares(grid)
	if err != nil {
		return nil, err
	}
	p := &Plan{Grid: grid}
	own := make([]*survey.Positions, len(all))
	for rank, s := range all {
		own[rank], _ = j.Places.Subset(j.traces(s))
	}
	r, err := j.agreeOn(func(said func(rank int, s share, own *survey.Positions) uint64) (flags uint64, err error) {
		for rank, s := range all {
			flags |= said(rank, s, own[rank])
		}
		return flags, nil
	})
	if err != nil {
		return nil, err
	}
	for rank, s := range all {
		m := j.memoryOf(rank, s, own[rank], r)
		if rank == 0 || m.Total() > p.Memory.Total() {
			p.Rank, p.Memory = rank, m
		}
		traces, points := s.last-s.first, j.slabLen(s)
		spread(&p.Traces, rank, traces)
		spread(&p.Points, rank, points)
		spread(&p.Work, rank, int64(traces)*int64(points))
	}
	word := int64(j.elementType().Size())
	if j.exact() {
		word = 8 // exact sums
	}
	if grid[0] > 1 {
		p.Reduced += word * int64(p.Points[1])
	}
	if grid[1] > 1 {
		p.Reduced += word * int64(p.Traces[1]) * int64(j.Survey.NT)
	}
	return p, nil
}

// spread widens a range, of least and greatest, to v.
func spread[T int | int64](of *[2]T, rank int, v T) {
	if rank == 0 {
		*of = [2]T{v, v}
	}
	of[0], of[1] = min(of[0], v), max(of[1], v)
}

// Ranks is the number of ranks.
func (p *Plan) Ranks() int { return p.Grid[0] * p.Grid[1] }

func (p *Plan) String() string {
	s := fmt.Sprintf("%d × %d ranks over shots and image blocks: %s to %s traces and %s to %s points each", p.Grid[0], p.Grid[1],
		humanize.Comma(int64(p.Traces[0])), humanize.Comma(int64(p.Traces[1])), humanize.Comma(int64(p.Points[0])), humanize.Comma(int64(p.Points[1])))
	if most := p.Work[1]; p.Ranks() > 1 && p.Work[0] < most {
		s += fmt.Sprintf(", the least loaded with %.0f%% of the most loaded's work", 100*float64(p.Work[0])/float64(most))
	}
	return s + fmt.Sprintf("; %s summed over ranks in an iteration", humanize.IBytes(uint64(p.Reduced)))
}
