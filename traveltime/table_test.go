package traveltime_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
	"pgregory.net/rapid"
)

// rows are tables whose value names its role, row and point.
type rows struct {
	bad   float64
	badAt int
	fail  error
}

func (r rows) Row(dst []float64, role survey.Role, row int) error {
	for i := range dst {
		dst[i] = 1000*float64(role) + 100*float64(row) + float64(i*i)
	}
	if r.badAt > 0 {
		dst[r.badAt] = r.bad
	}
	return r.fail
}

func TestTable(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{2, 0.5}, Shape: []int{3, 4}}
	m, err := traveltime.NewTable(rows{}.Row, g, g)
	if err != nil {
		t.Fatal(err)
	}
	p := &survey.Positions{Dim: 2, XYZ: make([]float64, 8),
		Role: []survey.Role{survey.AtSource, survey.AtSource, survey.AtReceiver, survey.AtReceiver},
		Row:  []int32{0, 3, 1, 2}}
	fields := traveltime.Solved(t, m, p, traveltime.Options{Gradient: true, Threads: 3})
	want := make([]float64, g.Len())
	grad := [][]float64{make([]float64, g.Len()), make([]float64, g.Len())}
	for i := range p.Len() {
		if err := (rows{}).Row(want, p.Role[i], int(p.Row[i])); err != nil {
			t.Fatal(err)
		}
		traveltime.CentralGradient(grad, want, g)
		if fmt.Sprint(fields[i].Time, fields[i].Gradient) != fmt.Sprint(want, grad) {
			t.Errorf("place %d: got %v, want %v and %v", i, fields[i], want, grad)
		}
	}
}

func TestTableRefuses(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{2, 0.5}, Shape: []int{3, 4}}
	other := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{2, 0.5}, Shape: []int{3, 5}}
	if _, err := traveltime.NewTable(rows{}.Row, other, g); err == nil || !strings.Contains(err.Error(), "same grid") {
		t.Errorf("other grid: error %v", err)
	}
	p := positions(2, 0, 0, 0, 0)
	broken := errors.New("no such row")
	for _, c := range []struct {
		rows rows
		want string
	}{
		{rows{bad: math.NaN(), badAt: 6}, "table of source 1 has NaN s at [2 1] m, must be finite"},
		{rows{bad: math.Inf(1), badAt: 6}, "has +Inf s"},
		{rows{bad: -1e-9, badAt: 6}, "has -1e-09 s"},
		{rows{fail: broken}, "table of source 1: no such row"},
	} {
		m, err := traveltime.NewTable(c.rows.Row, g, g)
		if err != nil {
			t.Fatal(err)
		}
		err = m.Solve(context.Background(), p, []int{1}, traveltime.Options{}, func(int, traveltime.Field) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want %q", err, c.want)
		}
	}
}

// TestCentralGradient compares with values worked out by hand from the definition
// of numpy.gradient, for
// np.gradient(np.array([[0,1,4,9],[2,3,7,1],[5,5,0,8]],float), 2.0, 0.5).
func TestCentralGradient(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{2, 0.5}, Shape: []int{3, 4}}
	f := []float64{0, 1, 4, 9, 2, 3, 7, 1, 5, 5, 0, 8}
	want := [][]float64{
		{1, 1, 1.5, -4, 1.25, 1, -1, -0.25, 1.5, 1, -3.5, 3.5},
		{2, 4, 8, 10, 2, 5, -2, -12, 0, -5, 3, 16},
	}
	got := [][]float64{make([]float64, 12), make([]float64, 12)}
	traveltime.CentralGradient(got, f, g)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestCentralGradientOfPlane holds for any shape: a linear field has its own
// slopes as gradient, and an axis of one point none.
func TestCentralGradientOfPlane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(2, 3).Draw(t, "dim")
		g := grid.Grid{Origin: make([]float64, dim), Spacing: make([]float64, dim), Shape: make([]int, dim)}
		slope := make([]float64, dim)
		for a := range dim {
			g.Shape[a] = rapid.IntRange(1, 6).Draw(t, "n")
			g.Spacing[a] = float64(rapid.IntRange(1, 40).Draw(t, "h")) / 4
			slope[a] = float64(rapid.IntRange(-9, 9).Draw(t, "slope"))
		}
		f, x := make([]float64, g.Len()), make([]float64, dim)
		got := make([][]float64, dim)
		for a := range got {
			got[a] = make([]float64, g.Len())
		}
		for i := range f {
			g.Point(x, i)
			for a := range dim {
				f[i] += slope[a] * x[a]
			}
		}
		traveltime.CentralGradient(got, f, g)
		for a := range dim {
			for i, v := range got[a] {
				want := slope[a]
				if g.Shape[a] == 1 {
					want = 0
				}
				if math.Abs(v-want) > 1e-12*(1+math.Abs(want)) {
					t.Fatalf("axis %d, point %d: %g, want %g", a, i, v, want)
				}
			}
		}
	})
}
