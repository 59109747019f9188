package traveltime

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
	"pgregory.net/rapid"
)

// even is a grid of one spacing from the origin.
func even(h float64, shape ...int) grid.Grid {
	g := grid.Grid{Shape: shape}
	for range shape {
		g.Origin, g.Spacing = append(g.Origin, 0), append(g.Spacing, h)
	}
	return g
}

// ramp is a velocity that rises along each axis, m/s per m; it is 1500 m/s at the origin.
type ramp []float64

// deepening is v = 1500 + 0.6 z m/s in so many dimensions.
func deepening(dim int) ramp {
	r := make(ramp, dim)
	r[dim-1] = 0.6
	return r
}

func (r ramp) at(x []float64) float64 {
	v := 1500.0
	for a := range r {
		v += r[a] * x[a]
	}
	return v
}

func (r ramp) on(g grid.Grid) []float64 {
	v, x := make([]float64, g.Len()), make([]float64, g.Dim())
	for i := range v {
		g.Point(x, i)
		v[i] = r.at(x)
	}
	return v
}

// time is that of the ray, in closed form: see linearTime in eikonal_test.go.
func (r ramp) time(x, at []float64) float64 {
	r2, g2 := 0.0, 0.0
	for a := range x {
		r2 += (x[a] - at[a]) * (x[a] - at[a])
		g2 += r[a] * r[a]
	}
	y := g2 * r2 / (2 * r.at(x) * r.at(at))
	return math.Log1p(y+math.Sqrt(y*(2+y))) / math.Sqrt(g2)
}

func sources(dim int, xyz ...float64) *survey.Positions {
	n := len(xyz) / dim
	p := &survey.Positions{Dim: dim, XYZ: xyz, Role: make([]survey.Role, n), Row: make([]int32, n)}
	for i := range n {
		p.Row[i] = int32(i)
	}
	return p
}

// cropped is the part of an arrival on all of g that is on a window, point by point.
func cropped(b Branch, g grid.Grid, w Window) Branch {
	return b.each(func(all []float64) (v []float64) {
		for i, t := range all {
			column := i / g.Shape[g.Dim()-1]
			x, y := column/Whole(g).columnsAlongY(), column%Whole(g).columnsAlongY()
			if x >= w.Lo[0] && x < w.Hi[0] && y >= w.Lo[1] && y < w.Hi[1] {
				v = append(v, t)
			}
		}
		return v
	})
}

// farthest is the largest difference of the times, in s, and of the gradients times
// 1500 m/s.
func farthest(f, g Branch) (time, slope float64) {
	for i := range f.Time {
		time = math.Max(time, math.Abs(f.Time[i]-g.Time[i]))
		for a := range f.Gradient {
			slope = math.Max(slope, 1500*math.Abs(f.Gradient[a][i]-g.Gradient[a][i]))
		}
	}
	return time, slope
}

// rect makes a window: lo, hi along x, and along y in 3-D.
func rect(k ...int) Window {
	w := Window{Hi: [2]int{1: 1}}
	for a := range len(k) / 2 {
		w.Lo[a], w.Hi[a] = k[2*a], k[2*a+1]
	}
	return w
}

// TestWindowOfEikonal compares windows with the whole model and with the closed form: of
// places on and off the nodes, inside and outside their window, at the ends of window and
// model, on the model's grid and on another.
func TestWindowOfEikonal(t *testing.T) {
	for _, c := range []struct {
		name         string
		v            ramp
		model, image grid.Grid
		at           [][]float64
		windows      []Window
		solved       int // at most so many of the model's columns in every window
	}{
		{"2-D", deepening(2), even(10, 601, 121), even(10, 601, 121),
			[][]float64{{3000, 0}, {3003.7, 14.2}, {0, 0}, {6000, 5}, {5996.3, 300}, {1500, 3}, {2900, 600}},
			[]Window{rect(240, 360), rect(280, 340), rect(0, 90), rect(500, 601), rect(598, 601), rect(200, 280), rect(290, 291)}, 385},
		{"2-D, other grid", deepening(2), even(10, 601, 121), grid.Grid{Origin: []float64{203.3, 2}, Spacing: []float64{14.3, 7.1}, Shape: []int{400, 165}},
			[][]float64{{3000, 0}, {3003.7, 14.2}, {0, 0}, {6000, 5}, {1500, 3}, {203.3, 2}},
			[]Window{rect(150, 240), rect(180, 240), rect(0, 70), rect(330, 400), rect(150, 190), rect(0, 1)}, 385},
		{"3-D", deepening(3), even(20, 121, 101, 41), even(20, 121, 101, 41),
			[][]float64{{1200, 1000, 0}, {1203.7, 996.1, 14.2}, {0, 0, 0}, {2400, 1995, 5}, {300, 1400, 3}},
			[]Window{rect(50, 70, 40, 60), rect(55, 66, 45, 52), rect(0, 15, 0, 20), rect(100, 121, 80, 101), rect(30, 45, 40, 55)}, 96 * 101},
		{"3-D, aslant, other grid", ramp{0.05, 0.1, 0.6}, even(20, 121, 101, 41), grid.Grid{Origin: []float64{31, 10, 3}, Spacing: []float64{17, 31, 9}, Shape: []int{130, 60, 80}},
			[][]float64{{1203.7, 996.1, 14.2}, {0, 0, 0}, {300, 1400, 3}},
			[]Window{rect(60, 80, 26, 37), rect(0, 15, 0, 12), rect(30, 50, 24, 37)}, 96 * 101},
	} {
		m, err := NewEikonal(c.v.on(c.model), c.model, c.image)
		if err != nil {
			t.Fatal(err)
		}
		p := sources(c.model.Dim(), slices.Concat(c.at...)...)
		all := make([]int, p.Len())
		for i := range all {
			all[i] = i
		}
		whole := Solved(t, m, p, Options{Gradient: true})
		for i, w := range c.windows {
			x := make([]float64, p.Dim)
			opt := Options{Gradient: true, Windows: c.windows}
			opt.Margin = float64(w.Hi[0]-w.Lo[0]) / 2 * c.image.Spacing[0]
			region := m.Region(p, i, opt)
			if n := region.count(); n > c.solved {
				t.Errorf("%s, place %d: %d columns are solved, want at most %d", c.name, i, n, c.solved)
			}
			got := Solved(t, m, p, opt, i)[i]
			time, slope := farthest(cropped(whole[i], c.image, w), got)
			if !(time <= 1e-7 && slope <= 1e-6) {
				t.Errorf("%s, place %d: times differ from the whole by %.2g s, directions by %.2g", c.name, i, time, slope)
			}
			part, worst := w.Grid(c.image), 0.0
			if part.Len() != len(got.Time) {
				t.Fatalf("%s, place %d: %d times in a window of %v", c.name, i, len(got.Time), part)
			}
			for k, time := range got.Time {
				part.Point(x, k)
				worst = math.Max(worst, math.Abs(time-c.v.time(x, p.At(i))))
			}
			t.Logf("%s, place %d in %v: %.1e s from the whole, directions %.1e, %.1e s from the closed form", c.name, i, region, time, slope, worst)
			if !(worst <= 1e-5) {
				t.Errorf("%s, place %d: times are up to %.2g s from the closed form", c.name, i, worst)
			}
		}
	}
}

// TestWindowWithoutMargin: rays of this model run between their ends, so that times and
// their slopes are right even without a margin.
func TestWindowWithoutMargin(t *testing.T) {
	g := even(10, 401, 81)
	m, err := NewEikonal(deepening(g.Dim()).on(g), g, g)
	if err != nil {
		t.Fatal(err)
	}
	p := sources(2, 2003, 4, 900, 0)
	opt := Options{Gradient: true, Windows: []Window{rect(192, 221), rect(150, 170)}}
	whole := Solved(t, m, p, Options{Gradient: true})
	for i, f := range Solved(t, m, p, opt) {
		w := opt.Windows[i]
		if _, slope := farthest(cropped(whole[i], g, w), f); slope > 1e-6 {
			t.Errorf("place %d: directions differ from the whole by %.2g", i, slope)
		}
		x, part := make([]float64, 2), w.Grid(g)
		for k, got := range f.Time {
			part.Point(x, k)
			if want := deepening(2).time(x, p.At(i)); math.Abs(got-want) > 1e-5 {
				t.Fatalf("place %d: %g s at %v m, want %g", i, got, x, want)
			}
		}
	}
}

// TestMargin: a fast stripe beside the window speeds waves up if the margin reaches it, and
// only then.
func TestMargin(t *testing.T) {
	g := even(10, 401, 121)
	v := slices.Repeat([]float64{1500}, g.Len())
	for i := range 5 * 121 {
		v[100*121+i] = 6000
	}
	m, err := NewEikonal(v, g, g)
	if err != nil {
		t.Fatal(err)
	}
	p := sources(2, 1320, 0)
	w := rect(130, 135)
	want := cropped(Solved(t, m, p, Options{}, 0)[0], g, w)
	for margin, late := range map[float64]bool{0: true, 500: false, math.Inf(1): false} {
		got := Solved(t, m, p, Options{Windows: []Window{w}, Margin: margin}, 0)[0]
		if time, _ := farthest(got, want); late != (time > 0.1) || !late && time > 1e-5 {
			t.Errorf("margin of %g m: times differ by up to %.2g s", margin, time)
		}
	}
}

// TestWindowOfOthers: analytic, given and coarse times in a window are those of the whole
// grid, bit by bit, as are eikonal ones with an endless margin and in whole windows.
func TestWindowOfOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, g := range []grid.Grid{even(10, 40, 23), even(10, 17, 13, 11)} {
		var xyz []float64
		windows := make([]Window, 9)
		for i := range windows {
			for a := range g.Dim() {
				xyz = append(xyz, g.End(a)*r.Float64())
				if a < g.Dim()-1 {
					windows[i].Lo[a] = r.IntN(g.Shape[a])
					windows[i].Hi[a] = windows[i].Lo[a] + 1 + r.IntN(g.Shape[a]-windows[i].Lo[a])
				}
			}
		}
		windows[8] = Whole(g)
		p := sources(g.Dim(), xyz...)
		// On a coarse node at the edge of those that its window needs.
		windows[0] = rect(8, 9, 8, 9)
		for a := range g.Dim() {
			p.At(0)[a] = 60
		}
		places := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
		analytic, err := NewAnalytic(1777, g)
		if err != nil {
			t.Fatal(err)
		}
		table, err := NewTable(func(dst []float64, _ survey.Role, row int) error {
			for i := range dst {
				dst[i] = float64(row) + math.Sqrt(float64(i))
			}
			return nil
		}, g, g)
		if err != nil {
			t.Fatal(err)
		}
		eikonal, err := NewEikonal(deepening(g.Dim()).on(g), g, g)
		if err != nil {
			t.Fatal(err)
		}
		opt := Options{Gradient: true, Windows: windows, Margin: math.Inf(1), Threads: 2}
		for _, m := range []Method{analytic, table, eikonal} {
			whole := Solved(t, m, p, Options{Gradient: true}, places...)
			for i, f := range Solved(t, m, p, opt, places...) {
				w := opt.Window(g, i)
				if !Identical(f, cropped(whole[i], g, w)) {
					t.Errorf("%d-D, %s: window %v differs from the whole", g.Dim(), m.Name(), w)
				}
			}
		}
		for n := range 6 {
			factor, m := 1+n/2, []Method{analytic, table}[n%2]
			whole, err := NewCoarse(context.Background(), m, p, factor, Options{})
			if err != nil {
				t.Fatal(err)
			}
			part, err := NewCoarse(context.Background(), m, p, factor, opt)
			if err != nil {
				t.Fatal(err)
			}
			want := Solved(t, whole, p, Options{Gradient: true}, places...)
			for i, f := range Solved(t, part, p, opt, places...) {
				if w := opt.Window(g, i); !Identical(f, cropped(want[i], g, w)) {
					t.Errorf("%d-D, coarse %s at factor %d: window %v differs from the whole", g.Dim(), m.Name(), factor, w)
				}
			}
			if part.Bytes() != int64(4*len(part.tau)) || part.Bytes() >= whole.Bytes() {
				t.Errorf("%d-D, coarse %s at factor %d: windows have %d bytes, %d of them kept, the whole %d", g.Dim(), m.Name(), factor, part.Bytes(), 4*len(part.tau), whole.Bytes())
			}
			err = part.Solve(context.Background(), p, places, Options{}, func(int, Field) error { return nil })
			if err == nil {
				t.Errorf("%d-D: coarse tables of windows served the whole grid", g.Dim())
			}
		}
	}
}

// TestWindowsCompany: a field has the same bits alone and beside others with other windows,
// in any order and number, on any number of threads and lanes.
func TestWindowsCompany(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, g := range []grid.Grid{even(10, 333, 40), even(10, 70, 50, 17)} {
		windowsCompany(t, r, g, Medium{Values: variedModel(g, r)}, 41)
		windowsCompany(t, r, g, halfTilted(g, variedModel(g, r), r), 25)
	}
}

func windowsCompany(t *testing.T, r *rand.Rand, g grid.Grid, m Medium, n int) {
	image := g
	if g.Dim() == 3 {
		image = grid.Grid{Origin: []float64{3, 4, 5}, Spacing: []float64{7, 11, 13}, Shape: []int{80, 40, 11}}
	}
	m.Grid, m.Slab, m.Least = g, [2]int{0, g.Shape[0]}, slices.Min(m.Values)
	e, err := newEikonalIn(m, image)
	if err != nil {
		t.Fatal(err)
	}
	var xyz []float64
	opt := Options{Gradient: true, Margin: 33, Windows: make([]Window, n)}
	for i := range n {
		for a := range g.Dim() {
			u := r.Float64()
			xyz = append(xyz, g.End(a)*u)
			if a < g.Dim()-1 {
				mid := int(u * float64(image.Shape[a]))
				opt.Windows[i].Lo[a] = max(0, mid-1-r.IntN(12))
				opt.Windows[i].Hi[a] = min(image.Shape[a], mid+1+r.IntN(12))
			}
		}
	}
	p := sources(g.Dim(), xyz...)
	want := map[int]Branch{}
	everyone := make([]int, n)
	for i := range n {
		want[i] = Solved(t, e, p, opt, i)[i]
		everyone[i] = i
	}
	mixed := 0
	for _, j := range e.groupPlaces(p, everyone, opt) {
		if own := e.Region(p, j.places[0], opt); own != j.model {
			mixed++
		}
	}
	if mixed < 3 {
		t.Errorf("%d-D: %d batches of places whose windows differ, want some", g.Dim(), mixed)
	}
	all := widths()
	for range 6 {
		opt.Threads = 1 + r.IntN(3)
		e.widths = all[r.IntN(len(all)):]
		places := r.Perm(n)[:1+r.IntN(n)]
		for i, f := range Solved(t, e, p, opt, places...) {
			if !Identical(f, want[i]) {
				t.Errorf("%d-D: place %d among %d on %d threads differs from itself alone", g.Dim(), i, len(places), opt.Threads)
			}
		}
	}
}

// TestRegion: the window of the model holds the image window's stencils, the margin and the
// place's start box, as far as they lie inside the model, and no more.
func TestRegion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(2, 3).Draw(t, "dim")
		shape := make([]int, dim)
		for a := range shape {
			shape[a] = rapid.IntRange(1, 400).Draw(t, "n")
		}
		shape[dim-1] = 2
		e := &Eikonal{placewise: placewise{g: even(10, shape...)}, model: even(10, shape...)}
		at, opt := make([]float64, dim), Options{Windows: make([]Window, 1)}
		opt.Margin = float64(rapid.IntRange(0, 900).Draw(t, "margin"))
		for a := range dim - 1 {
			at[a] = rapid.Float64Range(0, e.model.End(a)).Draw(t, "x")
			opt.Windows[0].Lo[a] = rapid.IntRange(0, shape[a]-1).Draw(t, "lo")
			opt.Windows[0].Hi[a] = rapid.IntRange(opt.Windows[0].Lo[a]+1, shape[a]).Draw(t, "hi")
		}
		w := opt.Window(e.g, 0)
		r := e.Region(sources(dim, at...), 0, opt)
		whole := w == Whole(e.g)
		for a := range dim - 1 {
			margin := int(math.Ceil(opt.Margin / 10))
			lo, hi := w.Lo[a]-1-margin, w.Hi[a]+margin
			first, last := startRange(e.model, a, at[a])
			lo, hi = max(0, min(lo, first)), min(shape[a]-1, max(hi, last))
			switch {
			case whole && (r.Lo[a] != 0 || r.Hi[a] != shape[a]):
				t.Fatalf("axis %d: %v for a whole window", a, r)
			case !whole && (r.Lo[a] != lo || r.Hi[a] != hi+1):
				t.Fatalf("axis %d: %v, want [%d, %d] of %d columns", a, r, lo, hi, shape[a])
			}
		}
	})
}

// TestWindowBatches: places along a line, each with a window round it, fill their batches.
func TestWindowBatches(t *testing.T) {
	g := even(12.5, 3841, 11)
	e := &Eikonal{placewise: placewise{g: g}, model: g, widths: []int{16, 8}}
	var xyz []float64
	opt := Options{Threads: 1, Margin: 1000}
	for x := 2000.0; x < 46000; x += 50 {
		xyz = append(xyz, x, 0)
		at := int(x / 12.5)
		opt.Windows = append(opt.Windows, rect(at-160, at+81))
	}
	p := sources(2, xyz...)
	places := rand.New(rand.NewPCG(1, 1)).Perm(p.Len())
	jobs := e.groupPlaces(p, places, opt)
	if most := p.Len()/16 + 2; len(jobs) > most {
		t.Errorf("%d places are solved in %d batches, want at most %d", p.Len(), len(jobs), most)
	}
	var got []int
	for _, j := range jobs {
		for _, i := range j.places {
			// 160 + 81 columns, 80 on each side for the margin and 1 for slopes
			own := e.Region(p, i, opt)
			if own.count() > 403 || !own.inside(j.model) || j.model.count() > 403+15*4 {
				t.Fatalf("place %d with %v is in a batch on %v", i, own, j.model)
			}
		}
		got = append(got, j.places...)
	}
	slices.Sort(got)
	slices.Sort(places)
	if !slices.Equal(got, places) {
		t.Errorf("batches hold %v", got)
	}
}

// TestBatchesFit: the window of a batch holds those of its places, and has room in a worker
// that knows more places than it is given.
func TestBatchesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim, n := rapid.IntRange(2, 3).Draw(t, "dim"), rapid.IntRange(1, 40).Draw(t, "places")
		shape := []int{rapid.IntRange(1, 90).Draw(t, "nx"), rapid.IntRange(1, 90).Draw(t, "ny"), 2}
		g := even(10, shape[3-dim:]...)
		e := &Eikonal{placewise: placewise{g: g}, model: g, widths: []int{16, 8}}
		opt := Options{Threads: 1, Margin: float64(rapid.IntRange(0, 50).Draw(t, "margin")), Windows: make([]Window, n)}
		var xyz []float64
		var all []int
		for i := range n {
			all = append(all, i)
			for a := range dim {
				at := rapid.IntRange(0, g.Shape[a]-1).Draw(t, "at")
				xyz = append(xyz, g.Coord(a, at))
				if a < dim-1 {
					opt.Windows[i].Lo[a] = max(0, at-rapid.IntRange(0, 9).Draw(t, "before"))
					opt.Windows[i].Hi[a] = min(at+rapid.IntRange(1, 9).Draw(t, "after"), g.Shape[a])
				}
			}
		}
		p := sources(dim, xyz...)
		room := e.worker(p, all, opt).model.leastRoom(Whole(g))
		some := all[:rapid.IntRange(1, n).Draw(t, "some")]
		for _, j := range e.groupPlaces(p, some, opt) {
			for _, i := range j.places {
				if own := e.Region(p, i, opt); !own.inside(j.model) {
					t.Fatalf("place %d with %v is in a batch on %v", i, own, j.model)
				}
			}
			need := room
			if need.grow(j.model); need != room {
				t.Fatalf("a batch on %v does not fit into %v", j.model, room)
			}
		}
	})
}

// TestWindowScratch: a worker's memory is that foreseen for all windows together, however
// many places and lanes its batches have, and less than that of the whole.
func TestWindowScratch(t *testing.T) {
	for _, g := range []grid.Grid{even(10, 601, 40), even(10, 130, 110, 20)} {
		finer := even(8, g.Shape...)
		for _, image := range []grid.Grid{g, finer} {
			e, err := NewEikonal(deepening(g.Dim()).on(g), g, image)
			if err != nil {
				t.Fatal(err)
			}
			p := sources(g.Dim(), make([]float64, 5*g.Dim())...)
			opt := Options{Gradient: true, Margin: 100, Windows: []Window{rect(0, 9, 0, 60), rect(0, 80, 0, 7), rect(0, 30, 0, 30), rect(0, 5, 0, 5), {}}}
			coarse, err := NewCoarse(context.Background(), e, p, 2, opt)
			if err != nil {
				t.Fatal(err)
			}
			if len(coarse.places) != 4 {
				t.Errorf("%d-D: %d coarse tables, want 4", g.Dim(), len(coarse.places))
			}
			outline, err := OutlineCoarse(e, p, 2, opt)
			if err != nil {
				t.Fatal(err)
			}
			places := []int{3, 0, 2, 1} // 4 has no window
			w := e.worker(p, places, opt)
			defer w.free()
			for _, j := range e.groupPlaces(p, places, opt) {
				if err := w.solve(context.Background(), j); err != nil {
					t.Fatal(err)
				}
				for lane, place := range j.places {
					if _, err := w.field(lane, place); err != nil {
						t.Fatal(err)
					}
				}
			}
			r := coarse.room(p, places, opt)
			defer r.free()
			if err := r.solve(context.Background(), job{}); err != nil {
				t.Fatal(err)
			}
			for _, place := range places {
				if _, err := r.field(0, place); err != nil {
					t.Fatal(err)
				}
			}
			for name, c := range map[string]struct {
				took int
				m    Method
			}{"eikonal": {w.memory.Bytes(), e}, "coarse": {r.memory.Bytes(), coarse}} {
				foreseen := c.m.ScratchBytes(p, places, opt)
				if foreseen != int64(c.took) {
					t.Errorf("%d-D, %s: foreseen %d bytes, took %d", g.Dim(), name, foreseen, c.took)
				}
				if whole := c.m.ScratchBytes(p, places, Options{Gradient: true}); foreseen > whole/2 {
					t.Errorf("%d-D, %s: windows take %d bytes, the whole %d", g.Dim(), name, foreseen, whole)
				}
			}
			if got, want := outline.ScratchBytes(p, places, opt), coarse.ScratchBytes(p, places, opt); got != want || outline.Bytes() != coarse.Bytes() {
				t.Errorf("%d-D: foreseen %d bytes for coarse tables of %d, want %d and %d", g.Dim(), got, outline.Bytes(), want, coarse.Bytes())
			}
		}
	}
}

// TestBadWindows: an empty window, one outside the grid, too few and a negative margin are
// mistakes of the caller.
func TestBadWindows(t *testing.T) {
	g := even(10, 11, 6)
	m, err := NewAnalytic(1500, g)
	if err != nil {
		t.Fatal(err)
	}
	p := sources(2, 50, 0, 60, 0)
	solve := func(opt Options) (failure any) {
		defer func() { failure = recover() }()
		if err := m.Solve(context.Background(), p, []int{1}, opt, func(int, Field) error { return nil }); err != nil {
			t.Fatal(err)
		}
		return nil
	}
	ok := rect(0, 11)
	for name, opt := range map[string]Options{
		"empty":           {Windows: []Window{ok, rect(4, 4)}},
		"left of grid":    {Windows: []Window{ok, rect(-1, 4)}},
		"right of grid":   {Windows: []Window{ok, rect(4, 12)}},
		"too few":         {Windows: []Window{ok}},
		"negative margin": {Windows: []Window{ok, ok}, Margin: -1},
		"no margin":       {Windows: []Window{ok, ok}, Margin: math.NaN()},
	} {
		if solve(opt) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if got := solve(Options{Windows: []Window{{}, {Lo: [2]int{3}, Hi: [2]int{5}}}}); got != nil {
		t.Errorf("a window of one place, in 2-D without second elements: %v", got)
	}
}

// BenchmarkWindows solves places every 50 m along lines of growing length, each in a window
// of 3 km with a margin of 1 km, and reports the time of one place.
func BenchmarkWindows(b *testing.B) {
	for _, km := range []int{6, 12, 24, 48} {
		g := even(12.5, km*80+1, 241)
		m, err := NewEikonal(deepening(g.Dim()).on(g), g, g)
		if err != nil {
			b.Fatal(err)
		}
		var xyz []float64
		var places []int
		opt := Options{Threads: 1, Margin: 1000}
		for x := 0.0; x <= g.End(0); x += 50 {
			places = append(places, len(places))
			xyz = append(xyz, x, 6)
			at := int(x / 12.5)
			opt.Windows = append(opt.Windows, rect(max(0, at-120), min(at+121, g.Shape[0])))
		}
		p := sources(2, xyz...)
		for name, opt := range map[string]Options{"window": opt, "whole": {Threads: 1}} {
			b.Run(fmt.Sprintf("%dkm/%s", km, name), func(b *testing.B) {
				for range b.N {
					if err := m.Solve(context.Background(), p, places, opt, func(int, Field) error { return nil }); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N*p.Len()), "ms/place")
			})
		}
	}
}
