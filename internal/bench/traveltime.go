package bench

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// TimesResult is one line of `lsm bench traveltime`.
type TimesResult struct {
	PerSource float64 // median, wall time × threads over sources
	RMS       float64 // root mean square of (T − exact)/exact
	Worst     float64
	Sources   int
	Threads   int
	Points    int
	Verdict   string // "OK" if rms_relative ≤ 1e-5, otherwise "FAILED"
}

// Traveltimes measures the eikonal solver against the exact solution.
func Traveltimes(ctx context.Context, shape []int, sources, threads, runs int) (*TimesResult, error) {
	g, err := square(shape, spacing)
	if err != nil {
		return nil, err
	}
	m, err := eikonal(g)
	if err != nil {
		return nil, err
	}
	p, all := scattered(g, sources)
	var mu sync.Mutex
	var sum, worst float64
	var count int
	accuracy := func(place int, f traveltime.Field) error {
		s, w, n := compare(g, p.At(place), f.Branches[0].Time)
		mu.Lock()
		defer mu.Unlock()
		sum, worst, count = sum+s, math.Max(worst, w), count+n
		return nil
	}
	opt := traveltime.Options{Threads: threads}
	if err := m.Solve(ctx, p, all, opt, accuracy); err != nil {
		return nil, err
	}
	ns, err := medianOf(runs, device.NewHost(1), func() error {
		return m.Solve(ctx, p, all, opt, func(int, traveltime.Field) error { return nil })
	})
	if err != nil {
		return nil, err
	}
	r := &TimesResult{
		PerSource: ns * float64(threads) / float64(sources) / 1e6,
		RMS:       math.Sqrt(sum / float64(count)), Worst: worst,
		Sources: sources, Threads: threads, Points: g.Len(), Verdict: "OK",
	}
	if !(r.RMS <= 1e-5) {
		r.Verdict = "FAILED"
	}
	return r, nil
}

// scattered lays n sources along the top, each a little further off the grid, and numbers them.
func scattered(g grid.Grid, n int) (p *survey.Positions, all []int) {
	s := &survey.Survey{Dim: g.Dim(), Fixed: true, Receivers: make([]float64, g.Dim())}
	for i := range n {
		all = append(all, i)
		at := (float64(i) + 0.37) / float64(n)
		s.Sources = append(s.Sources, at*g.End(0))
		if g.Dim() == 3 {
			s.Sources = append(s.Sources, (1-at*at)*g.End(1))
		}
		s.Sources = append(s.Sources, math.Mod(1.7*float64(i), 2)*g.Spacing[g.Dim()-1])
	}
	s.Receivers = s.Sources[:g.Dim()]
	return s.Distinct(true), all
}

// compare returns the sum of squared relative errors, the worst, and the number
// of points compared; the source's own point has no relative error.
func compare(g grid.Grid, at, t []float64) (sum, worst float64, n int) {
	x := make([]float64, g.Dim())
	for i := range t {
		g.Point(x, i)
		if slices.Equal(x, at) {
			continue
		}
		want := exact(at, x)
		e := math.Abs(t[i]-want) / want
		sum += e * e
		worst = math.Max(worst, e)
		n++
	}
	return sum, worst, n
}
