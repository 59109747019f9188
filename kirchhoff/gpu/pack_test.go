package gpu

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// tablesBy makes the tables of an engine on the card or on the host, and returns where they are
// and what the forward's windows are for them.
func tablesBy(t *testing.T, e *Engine, p *kirchhoff.Problem, card bool) (memoryOfTables, int) {
	t.Helper()
	like := func(b device.Buf) device.Buf {
		c, err := e.dev.Alloc(b.Len(), b.Type())
		must(t, err)
		return c
	}
	to, lengths := memoryOfTables{table: like(e.tables.table), groups: like(e.tables.groups), boxes: like(e.tables.boxes)}, new(spans)
	if e.layout.Compact {
		to.span = like(e.tables.span)
	}
	if card {
		k := &packer{e: e}
		defer k.close()
		done, err := k.pack(t.Context(), p, e.tables.columns, to, lengths)
		if must(t, err); !done {
			t.Error("the card leaves tables to the host")
		}
	} else {
		must(t, e.copyTables(t.Context(), p, e.tables.columns, to, lengths))
	}
	return to, windowEntries(e.dev.Card(), e.layout, lengths)
}

// bent replaces the times of p by those of a velocity model with layers, larger than the image
// and of other cells.
func bent(t testing.TB, p *kirchhoff.Problem) {
	t.Helper()
	g := grid.Grid{}
	for a, n := range p.Grid.Shape {
		h := 0.9 * p.Grid.Spacing[a]
		g.Origin, g.Spacing = append(g.Origin, p.Grid.Origin[a]-10*h), append(g.Spacing, h)
		g.Shape = append(g.Shape, int(math.Ceil(float64(n)/0.9))+20)
	}
	v, x := make([]float64, g.Len()), make([]float64, g.Dim())
	for i := range v {
		g.Point(x, i)
		v[i] = 1800 + 0.3*x[0] + []float64{0, 900, 300}[int(math.Abs(x[len(x)-1])/70)%3]
	}
	var err error
	p.Times, err = traveltime.NewEikonal(v, g, p.Grid)
	must(t, err)
	p.Threads = 1 // so that few places are enough for the card
}

// same compares two tables, whose weights may differ by a rounding.
func same(t *testing.T, what string, got, want device.Buf, times func(word int) bool) {
	t.Helper()
	if got.Len() != want.Len() {
		t.Fatalf("%s: %d words, want %d", what, got.Len(), want.Len())
	}
	a, b := download(t, got), download(t, want)
	for i := range a {
		x, y := math.Float32bits(a[i]), math.Float32bits(b[i])
		if x != y && (times(i) || !(math.Abs(float64(a[i]-b[i])) <= 2e-7*math.Abs(float64(b[i])))) {
			t.Fatalf("%s: word %d is %#x (%g), want %#x (%g)", what, i, x, a[i], y, b[i])
		}
	}
}

// TestTablesMade: tables that the card makes have the words of those that the host makes and
// copies; nothing but lists crosses then.
func TestTablesMade(t *testing.T) {
	d := open(t, driver.CUDA)
	problems := map[string]*kirchhoff.Problem{}
	for i, c := range trials() {
		p := c.problem(t, uint64(i))
		if problems[fmt.Sprint(i, " ", c)] = p; i%3 == 0 {
			p.Amplitude = func(place int) ([]float64, error) {
				b := make([]float64, p.Grid.Len())
				for n := range b {
					b[n] = math.Sin(float64(n + place))
				}
				return b, nil
			}
		}
	}
	for _, dynamic := range []bool{false, true} {
		p := spread(t, []int{130, 260}, 10, 6, 24, 400, dynamic)
		bent(t, p)
		problems[fmt.Sprint("eikonal 2D, dynamic=", dynamic)] = p
		q := *p
		q.Threads = 64 // the processor solves, and the card makes tables of its times
		problems[fmt.Sprint("solved on the host, dynamic=", dynamic)] = &q
		p = spread(t, []int{34, 48, 20}, 10, 6, 24, 200, dynamic)
		bent(t, p)
		p.Aperture, p.ApertureTaper, p.Margin = []float64{110, 40}, []float64{20, 0}, 40
		p.Slab = [2]int{16, 32}
		p.Velocity = p.Velocity[:p.ImageLen()]
		problems[fmt.Sprint("eikonal 3D, dynamic=", dynamic)] = p
	}
	for name, p := range problems {
		t.Run(name, func(t *testing.T) {
			up := func() int64 { n, _ := d.Traffic(); return n }
			before := up()
			e := engine(t, d, p)
			if g := p.Times.Domain(); g != nil && p.Threads == 1 && up()-before > 4*int64(g.Len())+8*int64(p.Grid.Len())+1<<17 {
				t.Errorf("%d bytes went to the card, too many for the image's lists, places and the model", up()-before)
			}
			got, here := tablesBy(t, e, p, true)
			want, window := tablesBy(t, e, p, false)
			each, weights := e.layout.Words/4, (e.layout.Fields-1)*bunch // of a bunch
			same(t, "table", got.table, want.table, func(word int) bool { return word%each < each-weights })
			exact := func(int) bool { return true }
			if e.layout.Compact {
				same(t, "span", got.span, want.span, exact)
			}
			same(t, "groups", got.groups, want.groups, exact)
			same(t, "boxes", got.boxes, want.boxes, exact)
			if here != window || e.window != window {
				t.Errorf("windows of %d samples, those of the engine %d, want %d", here, e.window, window)
			}
		})
	}
}

// TestEikonal: an operator whose traveltimes are solved on the card is the processor's.
func TestEikonal(t *testing.T) {
	d, h := open(t, driver.CUDA), device.NewHost(2)
	p := spread(t, []int{70, 230}, 8, 6, 24, 300, true)
	bent(t, p)
	e := engine(t, d, p)
	cpu, err := kirchhoff.New(t.Context(), p, kirchhoff.Work{})
	must(t, err)
	defer cpu.Close()
	if dot, err := dist.DotTest(t.Context(), d, lifted(p, e), 7); err != nil || !(dot <= 1e-6) {
		t.Errorf("dot test %.2e (%v), want at most 1e-6", dot, err)
	}
	m, x := noise(3, p.Grid.Len()), noise(4, p.NumTraces()*p.NT)
	data, image := both(t, d, e, m, x)
	wantData, wantImage := both(t, h, cpu, m, x)
	if a, b := difference(data, wantData), difference(image, wantImage); !(a <= 1e-5 && b <= 1e-5) {
		t.Errorf("differs from cpu by %.2e and %.2e", a, b)
	}
}

// TestTablesRefused: a place outside the velocity model is the error that the processor's
// engine has, and times that lie too far apart are an error that names the place.
func TestTablesRefused(t *testing.T) {
	d := open(t, driver.CUDA)
	p := spread(t, []int{70, 230}, 8, 6, 24, 300, false)
	bent(t, p)
	p.Positions.XYZ[1] = -1e4
	_, want := kirchhoff.New(t.Context(), p, kirchhoff.Work{})
	if _, err := New(t.Context(), d, p, kirchhoff.Work{}); err == nil || want == nil || err.Error() != want.Error() {
		t.Errorf("the error is %v, want %v", err, want)
	}
	p = spread(t, []int{64, 64}, 100, 2, 2, 1<<14, false)
	bent(t, p)
	p.DT, p.Wavelet.DT, p.Slowest = 0.001, 0.001, 20000
	if _, err := New(t.Context(), d, p, kirchhoff.Work{}); err == nil || !strings.Contains(err.Error(), "place 0: times of a box of tiles lie ") {
		t.Errorf("the error is %v", err)
	}
}
