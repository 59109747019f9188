package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/butterfly"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// reason is why sums are direct, if it holds.
type reason struct {
	holds bool
	text  string
}

func first(list []reason) string {
	for _, r := range list {
		if r.holds {
			return r.text
		}
	}
	return ""
}

// checkCorrection makes sure that there may be something for solver.defect_correction to correct.
func checkCorrection(p *Plan) error {
	if why := Dense(p); p.Config.Solver.DefectCorrection && why != "" {
		return status.Usage(fmt.Errorf("solver.defect_correction: all sums are direct: %s", why))
	}
	return nil
}

// Dense says why parts of the operator that are dense are not factorised (package butterfly), empty
// if they may be: with kirchhoff.accuracy, where weights and images allow it.
func Dense(p *Plan) (direct string) {
	c := p.Config
	return cmp.Or(byOperator(p), first([]reason{
		{p.Engine != "cpu", "the engine is " + p.Engine},
		{p.Classes.N > 0, "images by class"},
		{p.Monitor != nil || p.repeat, "two surveys"},
		{p.Held.Stream || c.Data.Read == "stream", "traces are streamed"},
		{p.Held.Direct, "factorised sums take more memory than there is"},
		{p.Clusters == nil, "the wavelet reaches nine tenths of the Nyquist frequency"},
		{p.Clusters != nil && p.Clusters.None(), "nothing is dense enough"},
		{p.Held.Tables == "coarse" || c.Kirchhoff.Tables == "coarse", "tables are coarse"},
	}))
}

// byOperator is Dense of what lies in the operator itself, not in how it is applied.
func byOperator(p *Plan) (direct string) {
	c := p.Config.Kirchhoff
	return first([]reason{
		{c.Accuracy == 0, "kirchhoff.accuracy = 0"},
		{p.Image.Dim() != 3, "the image is 2-D"},
	})
}

// cluster groups places where dense parts may be factorised, and numbers those of sources cluster by
// cluster. The order of shots follows. It depends on the operator alone, since a checkpoint holds
// traces in that order. With an aperture clusters are in order along x, as in along.
func cluster(p *Plan) {
	if byOperator(p) != "" {
		return
	}
	p.Use.Applications = cmp.Or(p.Use.Applications, applications(p))
	c := butterfly.NewClusters(p.Problem(Among(p, &Share{Last: p.Shots.Traces()})), p.Config.Kirchhoff.Accuracy, p.Use)
	if p.Clusters = c; c == nil || c.None() {
		return
	}
	groups := c.Sources()
	if a := p.Config.Kirchhoff.Aperture; len(a) > 0 {
		groups = alongX(p.Places, groups, a[0])
	}
	var from []int32
	cuts, listed := []int{0}, make([]bool, p.Places.Len())
	for _, places := range groups {
		from = append(from, slices.Sorted(slices.Values(places))...)
		cuts = append(cuts, len(from))
	}
	for _, place := range from {
		listed[place] = true
	}
	for place, l := range listed {
		if !l {
			from = append(from, int32(place))
		}
	}
	to, in := make([]int32, len(from)), *p.Inputs
	for n, place := range from {
		to[place] = int32(n)
	}
	in.Places = p.Places.Ordered(from)
	p.Inputs, p.Clusters = &in, c.Renumbered(to)
	p.Shots = newShots(in.Places)
	p.Shots.clusters = cuts
	p.findWindows()
}

// applications is about how often a command applies the operator in either direction.
func applications(p *Plan) int {
	c := p.Config.Solver
	switch {
	case p.Need == Geometry || p.Need == Once:
		return 1
	case p.Matches():
		return 5
	}
	n := 1 + 2*c.Iterations
	if c.DefectCorrection { // which iterates half as often again
		n += c.Iterations
	}
	return n
}

// alongX orders groups of sources by the stretch of x, of the given length in m, in which the
// middle of the midpoints of their traces lies.
func alongX(p *survey.Positions, groups [][]int32, length float64) [][]int32 {
	lo, hi := slices.Repeat([]float64{math.Inf(1)}, p.Len()), slices.Repeat([]float64{math.Inf(-1)}, p.Len())
	for i, s := range p.Source {
		x := p.At(int(s))[0] + p.At(int(p.Receiver[i]))[0]
		lo[s], hi[s] = min(lo[s], x), max(hi[s], x)
	}
	stretch := func(places []int32) float64 {
		first, last := math.Inf(1), math.Inf(-1)
		for _, s := range places {
			first, last = min(first, lo[s]), max(last, hi[s])
		}
		return math.Floor((first + last) / 2 / length)
	}
	out := slices.Clone(groups)
	slices.SortStableFunc(out, func(a, b []int32) int { return cmp.Compare(stretch(a), stretch(b)) })
	return out
}

// unbroken reports whether neither clusters of sources nor windows of the image may be cut between
// ranks: where sums are factorised and must be the same on any number of them.
func unbroken(p *Plan) bool { return p.Exact() && Dense(p) == "" }

// checkUnbroken refuses a grid of ranks that would cut what must not be cut.
func checkUnbroken(p *Plan, grid [2]int) error {
	if p.Config.Solver.DefectCorrection && grid[1] > 1 {
		return status.Hint(status.Usage(fmt.Errorf("comm.grid: %s over image blocks, where all sums are direct and solver.defect_correction has nothing to correct",
			readable.Count(grid[1], "rank"))), "lay out all ranks over shots")
	}
	if !unbroken(p) {
		return nil
	}
	const way = `or set solver.reproducible = "run", or kirchhoff.accuracy = 0`
	if n := len(p.Shots.clusters) - 1; grid[0] > n {
		return status.Hint(status.Usage(fmt.Errorf("comm.grid: %s over shots, the survey has %s of sources, which factorised sums (kirchhoff.accuracy) do not cut",
			readable.Count(grid[0], "rank"), readable.Count(n, "cluster"))), "start fewer ranks, "+way)
	}
	if grid[1] > 1 {
		return status.Hint(status.Usage(fmt.Errorf("comm.grid: %s over image blocks, factorised sums (kirchhoff.accuracy) are not offered over more than 1",
			readable.Count(grid[1], "rank"))), "lay out all ranks over shots, "+way)
	}
	return nil
}

// dealShots cuts shots into consecutive parts as deal, where sums are factorised between clusters if
// there are as many. It returns the first shot of each part and their number.
func dealShots(p *Plan, parts int) []int {
	cost, clusters := shotCosts(p), p.Shots.clusters
	if len(clusters)-1 < parts || Dense(p) != "" {
		return deal(cost, parts)
	}
	var of []int64
	for i, at := range clusters[1:] {
		sum := int64(0)
		for _, c := range cost[clusters[i]:at] {
			sum += c
		}
		of = append(of, sum)
	}
	cuts := deal(of, parts)
	for i, at := range cuts {
		cuts[i] = clusters[at]
	}
	return cuts
}

// Factorises reports whether the operator of a share may have parts factorised.
func Factorises(p *Plan, s *Share) bool {
	return Dense(p) == "" && s.Grid[1] == 1
}

// Among returns the share with all places of the survey instead of those of its own traces, as
// package butterfly wants them.
func Among(p *Plan, s *Share) *Share {
	t := *s
	t.Places, t.From = p.Places.Of(p.Shots.List(s.First, s.Last)), make([]int32, p.Places.Len())
	for i := range t.From {
		t.From[i] = int32(i)
	}
	return &t
}
