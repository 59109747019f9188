package gpu

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// bent replaces the times of p by those of a velocity model with layers, larger than the image
// and of other cells.
func bent(t testing.TB, p *kirchhoff.Problem) {
	t.Helper()
	g := grid.Grid{}
	for a, n := range p.Grid.Shape {
		h := 0.9 * p.Grid.Spacing[a]
		g.Origin, g.Spacing = append(g.Origin, p.Grid.Origin[a]-4*h), append(g.Spacing, h)
		g.Shape = append(g.Shape, int(math.Ceil(float64(n)/0.9))+8)
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

// wanted are tables as tables.go describes them, made on the host.
type wanted struct {
	*Engine
	fading               kirchhoff.Fading
	words, groupsOf, all []uint32 // of the table, reaches and slopes
	lengths              lengths
}

// reach is the kernels' struct.
type reach struct{ first, last, base, gaps int32 }

func (r *reach) add(o reach) {
	r.gaps |= o.gaps
	switch {
	case o.first > o.last:
	case r.first > r.last:
		r.first, r.last = o.first, o.last
	default:
		r.first, r.last = min(r.first, o.first), max(r.last, o.last)
	}
}

func (r reach) words() []uint32 {
	return []uint32{uint32(r.first), uint32(r.last), uint32(r.base), uint32(r.gaps)}
}

// want makes the tables of e's problem.
func want(t *testing.T, e *Engine, p *kirchhoff.Problem) *wanted {
	t.Helper()
	w := &wanted{Engine: e, fading: p.Fading(), words: make([]uint32, e.tables.held.rows*e.geometry.layout.Words),
		groupsOf: make([]uint32, reachWords*e.tables.held.groups), all: make([]uint32, e.tables.held.rows)}
	where := slots(e.tables.columns, p.Positions.Len())
	places, opt := p.TimesNeeded()
	opt.Threads = 1
	must(t, p.Arrivals(t.Context(), places, opt, func(place, _ int, window traveltime.Window, b traveltime.Branch) error {
		var given []float64
		if host := kirchhoff.HostAmplitudes(p); host != nil {
			var err error
			if given, err = host(place, window, b); err != nil {
				return err
			}
		}
		g := window.Grid(p.Grid)
		gradient := make([][]float64, g.Dim())
		for a := range gradient {
			gradient[a] = make([]float64, g.Len())
		}
		traveltime.CentralGradient(gradient, b.Time, g)
		of := func(n int32) point { return w.point(p, place, window, b.Time, gradient, given, int(max(n, ^n))) }
		for _, s := range where[place] {
			c := &e.tables.columns[s.column]
			at := c.before
			at.add(c.each, s.number)
			for box := c.Boxes[0]; box < c.Boxes[1]; box++ {
				w.box(p, box, at, of)
				at.add(held{e.geometry.firstTile[box+1] - e.geometry.firstTile[box], e.geometry.firstGroup[box+1] - e.geometry.firstGroup[box]}, 1)
			}
		}
		return nil
	}))
	return w
}

// point is what there is to store of one.
type point struct {
	at     float64 // samples; infinite where the time does not count
	fields []float64
	slope  float32
}

// point returns point n of the slab, of a place with the given times, gradient and amplitudes.
func (w *wanted) point(p *kirchhoff.Problem, place int, window traveltime.Window, time []float64, gradient [][]float64, given []float64, n int) (out point) {
	dim, i, l := p.Grid.Dim(), 0, w.geometry.layout
	var k [3]int
	n += p.Slab[0] * (p.Grid.Len() / p.Grid.Shape[0])
	for a := dim - 1; a >= 0; a-- {
		k[a], n = n%p.Grid.Shape[a], n/p.Grid.Shape[a]
	}
	squares, g := 0.0, window.Grid(p.Grid)
	for a := range dim {
		if a < dim-1 {
			k[a] -= window.Lo[a]
		}
		i = i*g.Shape[a] + k[a]
		x := g.Coord(a, k[a]) - p.Positions.At(place)[a]
		squares += x * x
	}
	out.at = time[i]/p.DT - p.T0/(2*p.DT)
	if !(math.Abs(out.at) < 5e8) {
		out.at = math.Inf(1)
	}
	for a, h := range p.Antialias {
		if s := float32(math.Pow(2, 0.25) * h / (2 * p.DT) * math.Abs(gradient[a][i])); s <= w.geometry.plan.Steepness().Most {
			out.slope = max(out.slope, s)
		}
	}
	if out.fields = make([]float64, l.Fields-1); l.Fields == 1 || math.IsInf(out.at, 1) {
		return out
	}
	b, z, norm := 1.0, gradient[dim-1][i], 0.0
	for a := range dim {
		norm += gradient[a][i] * gradient[a][i]
	}
	norm = math.Sqrt(norm)
	angle := math.Acos(z / norm)
	if dim == 2 {
		angle = math.Atan2(gradient[0][i], z)
	}
	switch d := math.Sqrt(squares) + w.fading.Stabiliser; {
	case given != nil:
		b = given[i]
	case p.Dynamic:
		b = math.Pow(d, -0.5*float64(dim-1))
	}
	vectors := dim == 3 || l.Unequal
	switch a := math.Abs(angle); {
	case l.Unequal && norm > 0 && !math.IsInf(norm, 1): // the host tapers
	case !(a < w.fading.Hi) || vectors && (!(norm > 0) || math.IsInf(norm, 1)):
		b = 0
	case a >= w.fading.Lo:
		b *= w.fading.Taper[min(20, int(20*(a-w.fading.Lo)/(w.fading.Hi-w.fading.Lo)))]
	}
	switch {
	case b == 0 && (!vectors || !(norm > 0) || math.IsInf(norm, 1)):
	case l.Unequal:
		speed, longest := w.geometry.plan.Vectors()
		scale := min(speed, longest/norm)
		out.fields = []float64{b, scale * gradient[0][i], 0, scale * z}
		if dim == 3 {
			out.fields[2] = scale * gradient[1][i]
		}
	case dim == 3:
		out.fields = []float64{b, gradient[0][i] / norm, gradient[1][i] / norm, z / norm}
	case l.Limits:
		out.fields = []float64{b, angle}
	default:
		out.fields = []float64{b * math.Cos(angle/2), b * math.Sin(angle/2)}
	}
	return out
}

// box makes the tables of a box, which begin at the given row and group.
func (w *wanted) box(p *kirchhoff.Problem, box int, at held, of func(int32) point) {
	first, end := w.geometry.firstTile[box], w.geometry.firstTile[box+1]
	points, firsts, bases := make([][]point, end-first), make([]int32, end-first), make([]int32, end-first)
	for tile := range points {
		least, any := math.Inf(1), w.geometry.layout.Fields == 1
		for _, n := range w.geometry.plan.Points[(first+tile)*simd.TileSize:][:simd.TileSize] {
			q := of(n)
			points[tile], least = append(points[tile], q), min(least, q.at)
			for _, v := range q.fields[:min(1, len(q.fields))] {
				any = any || v != 0 || !w.geometry.layout.Limits && len(q.fields) == 2 && q.fields[1] != 0
			}
		}
		firsts[tile] = math.MaxInt32
		if any && !math.IsInf(least, 1) {
			firsts[tile] = int32(math.Floor(least))
		}
	}
	reaches := make([]reach, len(points))
	for h := w.geometry.firstHalf[box]; h < w.geometry.firstHalf[box+1]; h++ {
		lo, hi := int(w.geometry.halves[h].tile)-first, int(w.geometry.halves[h+1].tile)-first
		all := reach{1, 0, slices.Min(firsts[lo:hi]), 0}
		for tile := lo; tile < hi; tile++ {
			bases[tile] = all.base
			reaches[tile] = w.tile(at.rows+tile, points[tile], firsts[tile], all.base)
			all.add(reaches[tile])
		}
		if all.first <= all.last {
			w.lengths[min(int(all.last-all.first), len(w.lengths)-1)]++
		}
	}
	for g := w.geometry.firstGroup[box]; g < w.geometry.firstGroup[box+1]; g++ {
		tiles := w.geometry.groupList[g*groupTiles:][:groupTiles]
		r := reach{1, 0, bases[int(tiles[0])-first], 0}
		for _, tile := range tiles {
			if tile >= 0 {
				r.add(reaches[int(tile)-first])
			}
		}
		copy(w.groupsOf[reachWords*(at.groups+g-w.geometry.firstGroup[box]):], r.words())
	}
}

// tile makes a row.
func (w *wanted) tile(row int, points []point, first, base int32) reach {
	l, out, slope := w.geometry.layout, reach{1, 0, base, 0}, float32(0)
	words, each := w.words[row*l.Words:][:l.Words], l.Words/4 // of a bunch
	for i, q := range points {
		part := words[i/bunch*each:]
		time, after := uint32(math.MaxUint32), float64(float32(q.at-float64(first)))
		slope = max(slope, q.slope)
		switch {
		case first < math.MaxInt32 && !math.IsInf(q.at, 1) && float64(first-base)+after < farthest(w.bits):
			time = uint32(first-base)<<w.bits + uint32(math.RoundToEven(math.Ldexp(after, w.bits)))
			out.add(reach{first, base + int32(time>>w.bits), 0, 0})
			for field, v := range q.fields {
				part[(1+field)*bunch+i%bunch] = math.Float32bits(float32(v))
			}
		case l.Fields == 1:
			out.gaps = 1
		default:
			time = 0
		}
		part[i%bunch] = time
	}
	w.all[row] = math.Float32bits(slope)
	return out
}

// same compares words of a card with those that are wanted; weights may differ by a rounding.
func same(t *testing.T, what string, on device.Buf, want []uint32, weight func(word int) bool) {
	t.Helper()
	got := download(t, on)
	if len(got) != len(want) {
		t.Fatalf("%s: %d words, want %d", what, len(got), len(want))
	}
	for i, v := range want {
		x, y := math.Float32bits(got[i]), math.Float32frombits(v)
		if x != v && !(weight(i) && math.Abs(float64(got[i]-y)) <= 2e-7*math.Abs(float64(y))) {
			t.Fatalf("%s: word %d is %#x (%g), want %#x (%g)", what, i, x, got[i], v, y)
		}
	}
}

// crossed is how many bytes may go to the card for the engine of p: lists, the image, a velocity
// model, and where the host solves, times and amplitudes.
func crossed(e *Engine, p *kirchhoff.Problem) int64 {
	bytes := 12*int64(p.Grid.Len()) + 1<<17
	if g := p.Times.Domain(); g != nil {
		bytes += 4 * int64(g.Len())
	}
	if _, solves := e.task(p); !solves {
		bytes += 16 * int64(p.Grid.Len()*p.Positions.Len())
	}
	return bytes
}

// TestTablesMade: tables have the words that tables.go describes, of the times that the host
// computes, and nothing but lists crosses where the card solves.
func TestTablesMade(t *testing.T) {
	d := open(t, driver.CUDA)
	problems := map[string]*kirchhoff.Problem{}
	for i, c := range trials() {
		if !gputest.Part(i, 3, 10) {
			continue
		}
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
	for i, dynamic := range []bool{false, true} {
		if i == 0 && !gputest.Part(i, 1, 1<<30) {
			continue
		}
		p := spread(t, []int{70, 130}, 10, 6, 22, 200, dynamic)
		bent(t, p)
		problems[fmt.Sprint("eikonal 2D, dynamic=", dynamic)] = p
		q := *p
		q.Threads = 64 // the processor solves, and the card makes tables of its times
		problems[fmt.Sprint("solved on the host, dynamic=", dynamic)] = &q
		p = spread(t, []int{34, 24, 12}, 10, 2, 8, 150, dynamic)
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
			if _, solves := e.task(p); !solves && d.Compiles() && strings.HasPrefix(name, "eikonal") {
				t.Error("the host solves")
			}
			if got, most := up()-before, crossed(e, p); got > most {
				t.Errorf("%d bytes went to the card, want at most %d", got, most)
			}
			w := want(t, e, p)
			each, weights := e.geometry.layout.Words/4, (e.geometry.layout.Fields-1)*bunch // of a bunch
			same(t, "table", e.tables.table, w.words, func(word int) bool { return word%each >= each-weights })
			exact := func(int) bool { return false }
			if e.geometry.layout.Bands > 1 {
				same(t, "slope", e.tables.slope, w.all, exact)
			}
			same(t, "groups", e.tables.groups, w.groupsOf, exact)
			if window := windowEntries(d.Card(), e.geometry.layout, w.lengths); e.window != window {
				t.Errorf("windows of %d samples, want %d", e.window, window)
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
	if _, solves := e.task(p); !solves && d.Compiles() { // the program that solves is not carried
		t.Error("the host solves")
	}
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

// TestTablesRefused: a place outside the velocity model is the error that the processor's engine
// has. Where times lie too far apart, the error names the place where they lie farthest, and how
// far.
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
	p.Positions.XYZ[0] = 0.9 * p.Grid.End(0) // the first place is not the farthest
	farthest, most := 0, 0.0
	places, opt := p.TimesNeeded()
	opt.Threads = 1
	must(t, p.Arrivals(t.Context(), places, opt, func(place, _ int, window traveltime.Window, b traveltime.Branch) error {
		half := kirchhoff.SlabPoints(2) / 2 * p.Grid.Shape[1] // points of half a box
		for part := range slices.Chunk(b.Time, half) {
			if apart := slices.Max(part)/p.DT - math.Floor(slices.Min(part)/p.DT); apart > most {
				farthest, most = place, apart
			}
		}
		return nil
	}))
	if farthest == 0 || most > float64(p.NT) {
		t.Fatalf("times of place %d lie %g samples apart, that proves nothing", farthest, most)
	}
	say := fmt.Sprintf("kirchhoff: place %d: times of a box of tiles lie %.0f samples apart, ", farthest, most)
	if _, err := New(t.Context(), d, p, kirchhoff.Work{}); err == nil || !strings.HasPrefix(err.Error(), say) {
		t.Errorf("the error is %v, want %s", err, say)
	}
}
