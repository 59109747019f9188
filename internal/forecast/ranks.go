// Package forecast predicts a run: what each rank holds, how much memory it needs, about
// how long it takes, and what is doubtful about it. Everything follows from a plan alone,
// for any number of ranks. `lsm check` prints it.
package forecast

import (
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// Forecast is how a number of ranks share a run.
type Forecast struct {
	Grid   [2]int // ranks over shots, over image blocks
	Rank   int    // the one that needs most memory, and what it needs
	Memory Memory
	Traces [2]int   // of the rank with the fewest and of that with the most
	Points [2]int   // of the image, likewise
	Work   [2]int64 // combinations of a trace and a point that count, likewise

	Reduced int64 // bytes that every rank has summed over others in one iteration

	plan *plan.Plan
}

// New finds out how the given number of ranks would share a run on the grid wanted (as
// comm.grid). Limits on memory are those of the plan's hardware.
func New(p *plan.Plan, want []int, ranks int) (*Forecast, error) {
	grid, err := plan.GridFor(want, ranks)
	if err != nil {
		return nil, err
	}
	all, err := p.Shares(grid)
	if err != nil {
		return nil, err
	}
	p = p.AtHand()
	var takes []Memory // of the first ranks, held as was tried last
	var tried plan.Residency
	held, err := Decide(p, func(r plan.Residency) (bool, error) {
		q := p.Holding(r)
		takes, tried = takes[:0], r
		for _, s := range all {
			takes = append(takes, Of(q, s))
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
			takes = append(takes, Of(p, s))
		}
		m := takes[rank]
		if rank == 0 || m.Total() > f.Memory.Total() {
			f.Rank, f.Memory = rank, m
		}
		traces, points := s.Traces(), p.Points(s)
		spread(&f.Traces, rank, traces)
		spread(&f.Points, rank, points)
		spread(&f.Work, rank, p.Triples(s))
	}
	word := int64(p.Type().Size())
	if p.Exact() {
		word = 8 // exact sums
	}
	if grid[0] > 1 {
		f.Reduced += word * int64(f.Points[1])
	}
	if grid[1] > 1 {
		f.Reduced += word * int64(f.Traces[1]) * int64(p.Survey.NT)
	}
	return f, nil
}

// spread widens a range, of least and greatest, to v.
func spread[T int | int64](of *[2]T, rank int, v T) {
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

// Duration is the approximate time that a run takes on this machine.
type Duration struct {
	Traveltimes time.Duration
	Iteration   time.Duration // one forward and one adjoint
	Reading     time.Duration // of all traces once, where they are streamed
	Readings    int           // how often they are read
	Total       time.Duration
}

func (d Duration) String() string {
	if d == (Duration{}) {
		return "not estimated for a GPU"
	}
	r := func(t time.Duration) string { return readable.Duration(t.Seconds()) }
	s := fmt.Sprintf("about %s: traveltimes %s, %s an iteration", r(d.Total), r(d.Traveltimes), r(d.Iteration))
	if d.Readings > 0 {
		s += fmt.Sprintf("; traces are read %s, each in an iteration more and in no less than %s", readable.Count(d.Readings, "time"), r(d.Reading))
	}
	return s
}

// Rates are speeds of this machine, measured on small problems of the same kind.
type Rates struct {
	Pair  float64 // ns for a forward and an adjoint at one trace and image point
	Point float64 // ms for the traveltimes from one place, of one thread, at one point of the model
}

// Duration scales rates up to the run. It knows nothing of what else the machine will be
// doing, nor how far the tables will outgrow its caches, nor of the network; reading is
// what one reading of a rank's traces took. With a GPU it is zero: not known.
func (f *Forecast) Duration(r Rates, reading time.Duration) Duration {
	p := f.plan
	if p.Card != nil {
		return Duration{}
	}
	d := Duration{Iteration: time.Duration(r.Pair * float64(f.Work[1]))}
	if n := len(p.Classes.Windows); n > 0 {
		d.Iteration *= time.Duration(n) // each class of angles takes every trace
	}
	rounds := p.Config.Solver.Iterations + 1
	if c := p.Coarsened(); c != nil { // on which tiles are wide and a point takes twice as long
		d.Iteration += time.Duration(2 * float64(p.Config.Solver.CoarseIterations) / c.Volume() * float64(d.Iteration))
	}
	if p.TwoLevel() {
		rounds++
	}
	if p.Matches() {
		rounds = 3 // three adjoints, two forwards
	}
	d.Traveltimes = time.Duration(r.Point * 1e6 * p.Solved() / float64(p.Threads))
	m := f.Memory
	if m.Recompute && m.Coarse == 0 {
		d.Iteration += d.Traveltimes // a pass makes tables once for both directions
		if !m.Stream {
			d.Iteration += d.Traveltimes
		}
	}
	d.Total = d.Traveltimes + time.Duration(rounds)*d.Iteration
	if m.Stream {
		d.Reading, d.Readings = reading, p.Readings()
		d.Total += time.Duration(d.Readings-1)*d.Iteration + time.Duration(d.Readings)*max(0, d.Reading-d.Iteration)
	}
	return d
}

// Decide decides where traces and tables are: it returns the first way to hold them that
// fits on all ranks, which fits reports. Streaming comes before tables that are made anew.
func Decide(p *plan.Plan, fits func(plan.Residency) (bool, error)) (plan.Residency, error) {
	read := p.Config.Data.Read
	if read == "auto" && p.Config.Unstreamed() != "" {
		read = "memory"
	}
	whole, remade := []string{"full", "uint16"}, []string{"exact"}
	switch t := p.Config.Kirchhoff.Tables; {
	case t != "auto":
		whole, remade = []string{t}, nil
	case p.Engine == "reference":
		whole, remade = whole[:1], nil
	case p.Card != nil:
		remade = nil
	}
	all := slices.Concat(whole, remade)
	for _, way := range []struct {
		stream bool
		tables []string
	}{{false, whole}, {true, all}, {false, remade}} {
		if read != "auto" && way.stream != (read == "stream") {
			continue
		}
		for _, t := range way.tables {
			r := plan.Residency{Stream: way.stream, Tables: t}
			if ok, err := fits(r); ok || err != nil {
				return r, err
			}
		}
	}
	return plan.Residency{Stream: read != "memory", Tables: all[len(all)-1]}, nil // to be refused
}
