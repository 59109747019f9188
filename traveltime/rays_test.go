package traveltime

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

func rayPlaces(xyz ...float64) *survey.Positions {
	p := &survey.Positions{Dim: 2, XYZ: xyz}
	for i := range len(xyz) / 2 {
		p.Role, p.Row = append(p.Role, survey.AtSource), append(p.Row, int32(i))
	}
	return p
}

func medium(g grid.Grid, v func(x, z float64) float64) Medium {
	m := Medium{Grid: g, Slab: [2]int{0, g.Shape[0]}, Least: math.Inf(1)}
	x := make([]float64, 2)
	for i := range g.Len() {
		g.Point(x, i)
		m.Values = append(m.Values, v(x[0], x[1]))
		m.Least, m.Greatest = min(m.Least, m.Values[i]), max(m.Greatest, m.Values[i])
	}
	return m
}

func TestRaysInAGradient(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{401, 301}}
	const v0, slope = 1500., 0.6
	m := medium(g, func(_, z float64) float64 { return v0 + slope*z })
	r, err := newRaysIn(m, g, RayOptions{Kept: Kept{3}, Latest: 10, Period: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	p := rayPlaces(1003, 4, 2000, 0, 1500, 1200)
	worst, worstB, second, missing := 0.0, 0.0, 0, 0
	began := time.Now()
	err = r.Solve(context.Background(), p, []int{0, 1, 2}, Options{Threads: 1, Spreading: RaySpreading, Gradient: true}, func(place int, f Field) error {
		at, x := p.At(place), make([]float64, 2)
		va := v0 + slope*at[1]
		for i := range f.Branches[0].Time {
			g.Point(x, i)
			d := math.Hypot(x[0]-at[0], x[1]-at[1])
			v := v0 + slope*x[1]
			want := math.Acosh(1+slope*slope*d*d/(2*va*v)) / slope
			if math.IsInf(f.Branches[0].Time[i], 1) {
				missing++
				continue
			}
			for _, b := range f.Branches[1:] {
				if b.Spreading[i] != 0 {
					second++
				}
			}
			if d < 40 {
				continue
			}
			if e := math.Abs(f.Branches[0].Time[i]/want - 1); e > worst {
				worst = e
				t.Log(place, x, e)
			}
			// Rays are circles: the tube's width a radian is sinh(slope T) va / slope times ... see below
			q := va / slope * math.Sinh(slope*want) * v / va * va / v
			_ = q
			wide := math.Sinh(slope*want) * v / slope // dw/dα
			b := math.Sqrt(v / va / wide)
			if e := math.Abs(f.Branches[0].Spreading[i]/b - 1); e > worstB {
				worstB = e
				t.Log("b", place, x, e)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(began)/3, "worst", worst, worstB, "second", second, "missing", missing)
}
