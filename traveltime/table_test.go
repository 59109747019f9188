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

// arrivalsOf are given tables of two arrivals, [arrival][points], one of which a point may lack.
type arrivalsOf struct{ bad func(a *traveltime.Arrivals) }

func (r arrivalsOf) rows(dst *traveltime.Arrivals, role survey.Role, row int) error {
	n := len(dst.Time) / 2
	for i := range dst.Time {
		dst.Time[i], dst.Amplitude[i], dst.Turns[i] = float64(10*row)+float64(i), 0.5+float64(i), float64(i%4)
	}
	for i := range dst.Gradient {
		dst.Gradient[i] = float64(i) / 8
	}
	dst.Time[n+1], dst.Amplitude[n+1] = math.NaN(), 0
	if r.bad != nil {
		r.bad(dst)
	}
	return nil
}

// TestArrivalTables: given arrivals come as branches by the parity of their turns, in windows too.
func TestArrivalTables(t *testing.T) {
	g := square(2, 3, 4)
	m, err := traveltime.NewArrivalTables(arrivalsOf{}.rows, 2, g, g)
	if err != nil {
		t.Fatal(err)
	}
	p := positions(2, 0, 0, 0, 0)
	opt := everything
	opt.Windows = []traveltime.Window{{}, {Lo: [2]int{1, 0}, Hi: [2]int{3, 1}}}
	n, total := g.Len(), 0
	err = m.Solve(context.Background(), p, []int{1}, opt, func(_ int, f traveltime.Field) error {
		for i := range 8 {
			found := map[float64]int{}
			for k, b := range f.Branches {
				if !math.IsInf(b.Time[i], 1) {
					found[b.Time[i]] = k
				}
			}
			for _, arrival := range []int{0, 1} {
				at := arrival*n + 4 + i
				if at == n+1 {
					continue
				}
				time, b := float64(10*p.Row[1])+float64(at), 0.5+float64(at)
				k, there := found[time]
				turns := at % 4
				if turns >= 2 {
					b = -b
				}
				if !there || (k >= 2) != (turns%2 == 1) || f.Branches[k].Spreading[i] != b || f.Branches[k].Gradient[1][i] != float64((2*arrival+1)*n+4+i)/8 {
					t.Errorf("point %d, arrival %d: branch %d, %v", i, arrival, k, there)
				}
				total++
			}
		}
		return nil
	})
	if err != nil || total != 16 {
		t.Errorf("%d arrivals, error %v", total, err)
	}
	for want, bad := range map[string]func(a *traveltime.Arrivals){
		"arrival 1 at [0 6] m has the time NaN s": func(a *traveltime.Arrivals) { a.Time[n+3] = math.NaN() },
		"amplitude -1":  func(a *traveltime.Arrivals) { a.Amplitude[2] = -1 },
		"0.5 turns":     func(a *traveltime.Arrivals) { a.Turns[2] = 0.5 },
		"gradient [NaN": func(a *traveltime.Arrivals) { a.Gradient[2] = math.NaN() },
	} {
		m, err := traveltime.NewArrivalTables(arrivalsOf{bad}.rows, 2, g, g)
		if err != nil {
			t.Fatal(err)
		}
		err = m.Solve(context.Background(), p, []int{1}, everything, func(int, traveltime.Field) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
