package pipeline

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// several asks for three arrivals, and the first where none comes.
var several = []string{"traveltime.method=rays", "traveltime.arrivals=3+first", "traveltime.smoothing=0", "kirchhoff.dynamic=true", "kirchhoff.spreading=ray"}

// lensed puts slow lenses under the places of a problem, behind which rays cross.
func lensed(t *testing.T, p *problem) *problem {
	t.Helper()
	v, at := make([]float64, p.grid.Len()), make([]float64, p.grid.Dim())
	for i := range v {
		p.grid.Point(at, i)
		away, down := math.Mod(at[0]+1000, 60)-30, at[len(at)-1]-18
		v[i] = 1700 * (1 - 0.45*math.Exp(-(away*away+down*down)/(10*10)))
	}
	must(t, h5.WriteModel(p.path("model.h5"), p.grid, v, h5.WriteOptions{Force: true}))
	return p
}

func lensedSparse(t *testing.T) *problem { return lensed(t, sparse(t)) }

func lensedLong(t *testing.T) *problem { return lensed(t, longOf(t, 85, 7, 4)) }

// TestSeveralArrivals: with several arrivals the cpu engine agrees with the reference, they make an image of their own,
// and the program says which branches have how much.
func TestSeveralArrivals(t *testing.T) {
	for _, p := range []*problem{lensedSparse(t), lensedLong(t)} {
		want := p.migrate(t, "reference", several...)
		got := p.migrate(t, "cpu", several...)
		first := p.migrate(t, "cpu", append(slices.Clone(several), "traveltime.arrivals=first")...)
		largest, off, apart := 0.0, 0.0, 0.0
		for i := range want {
			largest = max(largest, math.Abs(float64(want[i])))
			off = max(off, math.Abs(float64(got[i]-want[i])))
			apart = max(apart, math.Abs(float64(first[i]-want[i])))
		}
		if off > 1e-5*largest || apart < 1e-2*largest {
			t.Errorf("%d axes: images differ by %.1e from the reference and by %.1e from that of first arrivals", p.grid.Dim(), off/largest, apart/largest)
		}
		j := p.open(t, NeedTraces, progress.Discard(), "cpu", several...)
		if b := j.plan.Branches; len(b) != 6 || !(b[0] > 0.99 && b[3] > 0.1 && b[3] < 1) {
			t.Errorf("%d axes: shares of branches are %v", p.grid.Dim(), b)
		}
	}
}

// TestArrivalsOnRanks: in 3-D, where rays take long, a few grids of ranks have the same bits. In 2-D
// TestAnyGridHasTheSameBits tells of many.
func TestArrivalsOnRanks(t *testing.T) {
	p, set := lensedLong(t), append([]string{"solver.iterations=1", "kirchhoff.aperture=150", "traveltime.margin=40", "machine.threads=1"}, several...)
	want := p.solveOn(t, 1, set...)
	for grid, ranks := range map[string]int{"3,1": 3, "1,2": 2} {
		sameResult(t, grid, p.solveOn(t, ranks, append(slices.Clone(set), "comm.grid="+grid)...), want)
	}
}

// TestArrivalsFromTables: a table file of several arrivals has the image of the rays that made it.
func TestArrivalsFromTables(t *testing.T) {
	p := lensedSparse(t)
	want := p.migrate(t, "cpu", several...)
	tables := p.path("tables.h5")
	must(t, p.open(t, NeedPlanning, progress.Discard(), "cpu", several...).WriteTimes(t.Context(), tables, false, Source{}))
	given, err := h5.OpenTables(tables)
	must(t, err)
	defer given.Close()
	if given.NumArrivals() != 3 || !given.Grid().Equal(p.grid) {
		t.Errorf("the file has %d arrivals on %v", given.NumArrivals(), given.Grid())
	}
	from := []string{"traveltime.method=table", "traveltime.file=" + tables, "kirchhoff.dynamic=true", "kirchhoff.spreading=ray"}
	got := p.migrate(t, "cpu", from...)
	largest, off := 0.0, 0.0
	for i := range want {
		largest, off = max(largest, math.Abs(float64(want[i]))), max(off, math.Abs(float64(got[i]-want[i])))
	}
	if off > 1e-6*largest {
		t.Errorf("images from tables and rays differ by %.1e", off/largest)
	}
	must(t, p.refused(strings.Join(append(from, "kirchhoff.takeoff_limit=[40,80]"), " "), "takeoff_limit"))
	must(t, p.refused(strings.Join(append(from, "kirchhoff.tables=coarse"), " "), "coarse"))
	err = p.onEngine(1, "cuda", from, func(*Job) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "have several") {
		t.Errorf("on a card: %v", err)
	}
}

// TestArrivalsRefused: what does not go with several arrivals is an error that names it.
func TestArrivalsRefused(t *testing.T) {
	p := lensedSparse(t)
	for set, want := range map[string]string{
		"kirchhoff.tables=coarse":          "kirchhoff.tables",
		"velocity.receiver_constant=1000":  "traveltime.method",
		"traveltime.arrivals=6":            "traveltime.arrivals",
		"image.domain=time":                "image.domain",
		"traveltime.smoothing=-1":          "traveltime.smoothing",
		"traveltime.arrivals=second+first": "traveltime.arrivals",
	} {
		must(t, p.refused(strings.Join(append(slices.Clone(several), set), " "), want))
	}
	err := p.onEngine(1, "cuda", several, func(*Job) error { return nil })
	if err == nil || !strings.Contains(err.Error(), `"cuda" takes one arrival at each point`) {
		t.Errorf("on a card: %v", err)
	}
}

// TestLateArrivals: check finds what comes behind lenses, and nothing where there are none.
func TestLateArrivals(t *testing.T) {
	for _, c := range []struct {
		p           *problem
		later, warn bool
	}{{lensedSparse(t), true, true}, {sparse(t), false, false}, {lensedLong(t), true, false}, {longOf(t, 85, 7, 4), false, false}} {
		j := c.p.open(t, NeedPlanning, progress.Discard(), "cpu", "traveltime.smoothing=0")
		f, err := j.Forecast([]int{0, 1}, 1)
		must(t, err)
		late, found, err := f.FindLate(t.Context())
		must(t, err)
		if (found.Level == "warning") != c.warn || (late.First < leastFirst) != c.warn || !(late.First > 0 && late.First <= 1) || (late.Later > 0.2) != c.later {
			t.Errorf("%d axes: %+v: %+v", c.p.grid.Dim(), late, found)
		}
	}
	if traveltime.Traced(line(t).open(t, NeedPlanning, progress.Discard(), "cpu").plan.Times.Method) {
		t.Error("rays are traced by default")
	}
}
