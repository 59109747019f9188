package traveltime_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// positions makes a list of places, all of them sources.
func positions(dim int, xyz ...float64) *survey.Positions {
	p := &survey.Positions{Dim: dim, XYZ: xyz}
	for i := range len(xyz) / dim {
		p.Role = append(p.Role, survey.AtSource)
		p.Row = append(p.Row, int32(i))
	}
	return p
}

func all(p *survey.Positions) []int {
	v := make([]int, p.Len())
	for i := range v {
		v[i] = i
	}
	return v
}

func TestAnalytic(t *testing.T) {
	g := grid.Grid{Origin: []float64{-20, 5, 0}, Spacing: []float64{10, 5, 2}, Shape: []int{5, 4, 7}}
	const v = 1700.0
	m, err := traveltime.NewAnalytic(v, g)
	if err != nil {
		t.Fatal(err)
	}
	p := positions(3, 0, 10, 4, 3.3, -50, 7.1)
	fields := traveltime.Solved(t, m, p, traveltime.Options{Gradient: true})
	x := make([]float64, 3)
	for s := range p.Len() {
		for i := range g.Len() {
			g.Point(x, i)
			at := p.At(s)
			d := []float64{x[0] - at[0], x[1] - at[1], x[2] - at[2]}
			r := math.Sqrt(d[0]*d[0] + d[1]*d[1] + d[2]*d[2])
			if got := fields[s].Time[i]; math.Abs(got-r/v) > 1e-15*(1+r/v) {
				t.Fatalf("source %d: time at %v is %g, want %g", s, x, got, r/v)
			}
			for a := range 3 {
				want := 0.0
				if r > 0 {
					want = d[a] / (r * v)
				}
				if got := fields[s].Gradient[a][i]; math.Abs(got-want) > 1e-15/v {
					t.Fatalf("source %d: gradient %d at %v is %g, want %g", s, a, x, got, want)
				}
			}
		}
	}
}

func TestAnalyticRefuses(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{3, 3}}
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := traveltime.NewAnalytic(v, g); err == nil || !strings.Contains(err.Error(), "must be positive") {
			t.Errorf("velocity %g: error %v", v, err)
		}
	}
	g.Shape[1] = 0
	if _, err := traveltime.NewAnalytic(1500, g); err == nil || !strings.Contains(err.Error(), "image") {
		t.Errorf("empty grid: error %v", err)
	}
}

func TestSolveStops(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{3, 3}}
	m, err := traveltime.NewAnalytic(1500, g)
	if err != nil {
		t.Fatal(err)
	}
	p := positions(2, make([]float64, 200)...)
	broken := errors.New("disk full")
	err = m.Solve(context.Background(), p, all(p), traveltime.Options{Threads: 3}, func(int, traveltime.Field) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("error of the sink: got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err = m.Solve(ctx, p, all(p), traveltime.Options{}, func(int, traveltime.Field) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	var done atomic.Int64
	err = m.Solve(context.Background(), p, all(p), traveltime.Options{Threads: 4, Progress: func() { done.Add(1) }},
		func(int, traveltime.Field) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if done.Load() != 100 {
		t.Fatalf("%d calls of progress, want 100", done.Load())
	}
}
