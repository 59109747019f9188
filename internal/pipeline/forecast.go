package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/dist"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Forecast is how a number of ranks share a run.
type Forecast struct {
	Grid   [2]int // ranks over shots, over image blocks
	Rank   int    // the one that needs most memory, and what it needs
	Memory Memory
	Traces [2]int   // of the rank with the fewest and of that with the most
	Points [2]int   // of the image: fewest and most of a rank
	Work   [2]int64 // combinations of a trace and a point that kernels go through: fewest and most of a rank

	Solved [2]float64 // points of the model, over its places, at which a rank computes traveltimes

	Reduced int64 // bytes of image and data that every rank has summed over others in one iteration

	Copied int64 // bytes of that rank's streamed traces that a copy in the order of shots takes on disk; 0: none is made

	plan *Plan
}

// NewForecast finds out how the given number of ranks would share a run on the grid wanted (as
// comm.grid). The plan's hardware sets the limits on memory.
func NewForecast(p *Plan, want []int, ranks int) (*Forecast, error) {
	grid, err := GridFor(want, ranks)
	if err != nil {
		return nil, err
	}
	all, err := p.Geometry.Shares(grid)
	if err != nil {
		return nil, err
	}
	var takes []Memory // of the first ranks, held as was tried last
	var tried Residency
	held, err := DecideResidency(p.Config, func(r Residency) (bool, error) {
		q := p.Holding(r)
		takes, tried = takes[:0], r
		for _, s := range all {
			takes = append(takes, CountMemory(q, s))
			if !takes[s.Rank].Fits() {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	p = p.Holding(held)
	if held != tried {
		takes = takes[:0]
	}
	f := &Forecast{Grid: grid, plan: p}
	for rank, s := range all {
		if rank == len(takes) {
			takes = append(takes, CountMemory(p, s))
		}
		m := takes[rank]
		if rank == 0 || m.Total() > f.Memory.Total() {
			f.Rank, f.Memory = rank, m
		}
	}
	f.spreadWork(all)
	if s, m := all[f.Rank], f.Memory; m.Stream && !p.Geometry.Shots.InOrder() {
		if list := p.Inputs.InFile(p.Geometry.Shots.List(s.First, s.First+s.Traces())); p.Inputs.Chunks.Scattered(list, m.Groups) {
			f.Copied = m.AllData
		}
	}
	return f, nil
}

// spreadWork finds what ranks hold and do.
func (f *Forecast) spreadWork(all []*Share) {
	p := f.plan
	for rank, s := range all {
		traces, points := s.Traces(), p.Geometry.Points(s)
		widen(&f.Traces, rank, traces)
		widen(&f.Points, rank, points)
		widen(&f.Work, rank, p.Problem(s).Visits())
		widen(&f.Solved, rank, p.Solved(s))
	}
	f.Reduced = f.countSums(all)
}

// countSums returns the bytes of image and data that the rank which exchanges most sums with others
// in an iteration.
func (f *Forecast) countSums(all []*Share) (bytes int64) {
	p, grid := f.plan, f.Grid
	if f.Ranks() == 1 {
		return 0
	}
	word, images, times := p.Type().Size(), max(1, p.Classes.N), 1 // times that all data are summed
	if p.Exact() {
		word = 8
	}
	most := slices.MaxFunc(all, func(a, b *Share) int {
		return cmp.Or(cmp.Compare(p.Geometry.Reached(a), p.Geometry.Reached(b)), cmp.Compare(a.Traces(), b.Traces()))
	})
	data, image := f.Traces[1]*p.Geometry.Survey.NT, p.Geometry.Reached(most)
	if p.Exact() || p.Config.Comm.Overlap != "off" {
		cuts := p.Problem(most).Pieces(most.Local())
		data, image = cuts[dist.Forward][len(cuts[dist.Forward])-1], cuts[dist.Backward][len(cuts[dist.Backward])-1]
		times = max(1, len(p.Classes.Windows)) // for each class of angles
	}
	switch team := grid[0] / all[0].Teams; {
	case all[0].Local():
		bytes = f.countHalos(all, team, images, word)
	case team > 1:
		bytes = int64(word * images * image)
	}
	if grid[1] > 1 {
		bytes += int64(word * times * data)
	}
	return bytes
}

// countHalos returns the most bytes that any rank exchanges for some images. In the forward a rank sends
// the points that it holds and others map. In the adjoint it sends sums, of word bytes each, for the
// points that others hold. Before that it sums with its team what they map.
func (f *Forecast) countHalos(all []*Share, team, images, word int) (most int64) {
	of := f.plan.Problem(all[0])
	of.Slab = [2]int{}
	points, at := of.Slabs()
	sums := func(a, b [2]int) int { // bytes, where two ranges overlap
		if Overlap(a, b) == 0 {
			return 0
		}
		return word * images * (at[slices.Index(points, min(a[1], b[1]))] - at[slices.Index(points, max(a[0], b[0]))])
	}
	each := images * f.plan.Geometry.Plane() * f.plan.Type().Size()
	for _, s := range all {
		bytes := 0
		for o := range s.Others(all) {
			bytes += each*Overlap(s.Own, o.Slab) + sums(s.Slab, o.Own)
		}
		if team > 1 {
			bytes += sums(s.Slab, s.Slab)
		}
		most = max(most, int64(bytes))
	}
	return most
}

// widen widens a range, of least and greatest, to v.
func widen[T int | int64 | float64](of *[2]T, rank int, v T) {
	if rank == 0 {
		*of = [2]T{v, v}
	}
	of[0], of[1] = min(of[0], v), max(of[1], v)
}

// Ranks is the number of ranks.
func (f *Forecast) Ranks() int { return f.Grid[0] * f.Grid[1] }

func (f *Forecast) String() string {
	s := fmt.Sprintf("%d × %d ranks over shots and image blocks: %s to %s traces and %s to %s points each", f.Grid[0], f.Grid[1],
		humanize.Comma(int64(f.Traces[0])), humanize.Comma(int64(f.Traces[1])), humanize.Comma(int64(f.Points[0])), humanize.Comma(int64(f.Points[1])))
	if most := f.Work[1]; f.Ranks() > 1 && f.Work[0] < most {
		s += fmt.Sprintf(", the least loaded with %.0f%% of the most loaded's work", 100*float64(f.Work[0])/float64(most))
	}
	return s + fmt.Sprintf("; %s summed over ranks in an iteration", humanize.IBytes(uint64(f.Reduced)))
}

// Duration is the approximate time that a run takes.
type Duration struct {
	Traveltimes time.Duration
	Iteration   time.Duration // one forward and one adjoint
	Reading     time.Duration // of all traces once, where they are streamed
	Readings    int           // how often they are read
	Diagonal    time.Duration // of the normal matrix, for the illumination
	Total       time.Duration
}

func (d Duration) String() string {
	if d == (Duration{}) {
		return "not estimated for a GPU"
	}
	r := func(t time.Duration) string { return readable.Duration(t.Seconds()) }
	s := fmt.Sprintf("about %s: traveltimes %s, %s an iteration", r(d.Total), r(d.Traveltimes), r(d.Iteration))
	if d.Diagonal > 0 {
		s += ", the diagonal of the normal matrix " + r(d.Diagonal)
	}
	if d.Readings > 0 {
		s += fmt.Sprintf("; traces are read %s, each in an iteration more and in no less than %s", readable.Count(d.Readings, "time"), r(d.Reading))
	}
	return s
}

// raysCost is how many times as long the eikonal solver takes for a place whose rays it follows.
// BenchmarkEikonal401x301, Layers and BenchmarkEikonal101x101x101 of traveltime, with Spreading and
// without, give 2.6 to 3.3 in 2-D and 4 in 3-D, in processor time.
//
// Rays that are traced take 4 to 5 times as long, twice: to find where they arrive, and for the tables.
func raysCost(c config.Kirchhoff, t *Times, dim int) float64 {
	switch {
	case traveltime.Traced(t.Method) && t.Tables == nil:
		return 10
	case !FollowsRays(c, t):
		return 1
	case dim == 2:
		return 3
	}
	return 4
}

// forwardShare is the part of the kernels' time in both directions that the forward takes, about what
// lsm bench kernel measures, in 2-D and 3-D, with amplitude weights and without.
const forwardShare = 0.75

// Duration is the duration at a speed, without sums over ranks and without the image's file.
// It ignores other work of the machine and the misses of tables that outgrow the caches. reading is the
// time of one reading of a rank's traces. If the speed is not known, as for a GPU, the duration is zero.
func (f *Forecast) Duration(speed *Speed, reading time.Duration) Duration {
	p := f.plan
	if speed.Triples == 0 {
		return Duration{}
	}
	cores := speed.cores(f.Ranks(), p.Config.Machine.Threads)
	samples := float64(f.Traces[1]) * float64(p.Geometry.Survey.NT)
	d := Duration{Iteration: durationOf((arrivalCost(p.Geometry, p.Times)*float64(f.Work[1])/speed.Triples + samples/speed.Samples) / cores)}
	if n := len(p.Classes.Windows); n > 0 {
		d.Iteration *= time.Duration(n) // each class of angles takes every trace
	}
	adjoint := time.Duration((1 - forwardShare) * float64(d.Iteration))
	rounds := p.Config.Solver.Iterations + 1
	if c := p.Config.Solver; c.PenaltyScale == "relative" && c.Damping > 0 { // the migrated image, and three rounds
		rounds += 3
	}
	if Coherent(p.Config.Data, p.Need) && p.Config.Solver.Iterations > FirstIterations { // what is predicted, and a start
		rounds += 2
	}
	if p.Config.Solver.Matches() {
		rounds = 3 // three adjoints, two forwards
	}
	if f.Solved[1] > 0 {
		d.Traveltimes = durationOf(raysCost(p.Config.Kirchhoff, p.Times, p.Geometry.Image.Dim()) * f.Solved[1] / speed.Points / cores)
	}
	held := f.Memory
	if held.Recompute && held.Coarse == 0 {
		d.Iteration += d.Traveltimes // a pass makes tables once for both directions
		adjoint += d.Traveltimes
		if !held.Stream {
			d.Iteration += d.Traveltimes
		}
	}
	if p.Classes.Normalized() {
		d.Diagonal = adjoint
	}
	d.Total = d.Traveltimes + time.Duration(rounds)*d.Iteration + d.Diagonal
	if !held.Stream {
		d.Total += reading
	} else {
		d.Reading, d.Readings = reading, p.Readings()
		d.Total += time.Duration(d.Readings-1)*d.Iteration + time.Duration(d.Readings)*max(0, d.Reading-d.Iteration)
	}
	return d
}

// DecideResidency decides where traces and tables are: it returns the first way to hold them that
// fits on all ranks, which fits reports. Streaming comes before tables that are recomputed.
func DecideResidency(cfg *config.Config, fits func(Residency) (bool, error)) (Residency, error) {
	read := cfg.Data.Read
	if read == "auto" && cfg.Unstreamed() != "" {
		read = "memory"
	}
	ways := []Residency{{Tables: "full"}, {Stream: true, Tables: "full"}, {Stream: true, Tables: "exact"}, {Tables: "exact"}}
	if t := cfg.Kirchhoff.Tables; t != "auto" {
		ways = []Residency{{Tables: t}, {Stream: true, Tables: t}}
	}
	for _, r := range ways {
		if read != "auto" && r.Stream != (read == "stream") {
			continue
		}
		if ok, err := fits(r); ok || err != nil {
			return r, err
		}
	}
	return Residency{Stream: read != "memory", Tables: ways[len(ways)-1].Tables}, nil // to be refused
}
