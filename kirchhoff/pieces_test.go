package kirchhoff

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// layout is a way to share a problem out.
type layout struct {
	shots, blocks, threads int
	budget                 int64
}

// exactEverywhere checks that p's exact results are those of the reference, adjoint,
// and the same bits in every layout; it returns the number of values that are not 0.
func exactEverywhere(t *testing.T, p *Problem, near float64, seed uint64, layouts ...layout) (nonzero int) {
	p = sorted(p)
	ref, err := NewReference(t.Context(), p, Work{})
	if err != nil {
		t.Fatal(err)
	}
	m, d := noise(seed, p.Grid.Len()), noise(seed+1, p.NumTraces()*p.NT)
	h := device.NewHost(1)
	wantD, wantM := make([]float64, len(d)), make([]float64, len(m))
	if err := only(ref).Forward(t.Context(), device.Wrap(h, wantD), device.Wrap(h, wide(m))); err != nil {
		t.Fatal(err)
	}
	if err := only(ref).Adjoint(t.Context(), device.Wrap(h, wantM), device.Wrap(h, wide(d))); err != nil {
		t.Fatal(err)
	}
	for isa := simd.Portable; isa <= simd.Best(); isa++ {
		t.Setenv("LSM_CPU_ISA", isa.String())
		if isa.HasCells(p.mode()) && seed%2 == 0 {
			setLeastLanes(t, 1)
		}
		var data, image []float32
		var bounds [2][]float64
		var peaks [2]float64
		for i, l := range append([]layout{{shots: 1, blocks: 1, threads: 1}}, layouts...) {
			g := split(t, p, l.shots, l.blocks, l.threads, l.budget, seed+uint64(i))
			for k, src := range [2][]float32{dist.Forward: m, dist.Backward: d} {
				direction := dist.Direction(k)
				q, peak, parts := g.quantum(t, direction, src)
				got := g.apply(t, direction, src, q, seed)
				want, first := wantD, &data
				if direction == dist.Backward {
					want, first = wantM, &image
				}
				if i == 0 {
					*first, bounds[k], peaks[k] = got, parts, peak
					if diff := difference(wide(got), want); !(diff <= near) {
						t.Errorf("%v: exact %v differs from the reference by %.2e", isa, direction, diff)
					}
					continue
				}
				if peak != peaks[k] || !slices.Equal(parts, bounds[k]) {
					t.Errorf("%v, %+v: %v: peak %g and bounds %v, in one share %g and %v", isa, l, direction, peak, parts, peaks[k], bounds[k])
				}
				if !slices.Equal(got, *first) {
					t.Errorf("%v, %+v: exact %v has other bits, difference %.2e", isa, l, direction, difference(wide(got), wide(*first)))
				}
			}
			g.clean(t)
			g.close()
		}
		left, right, normD, normM := 0.0, 0.0, 0.0, 0.0
		for i, v := range data {
			left += float64(v) * float64(d[i])
			normD += float64(v) * float64(v)
		}
		norm := 0.0
		for _, v := range d {
			norm += float64(v) * float64(v)
		}
		for i, v := range image {
			right += float64(v) * float64(m[i])
			normM += float64(v) * float64(v)
		}
		if normD > 0 && !(math.Abs(left-right) <= 1e-6*math.Sqrt(normD*norm)) {
			t.Errorf("%v: exact dot test %.2e", isa, math.Abs(left-right)/math.Sqrt(normD*norm))
		}
		if normM > 0 {
			nonzero++
		}
	}
	return nonzero
}

// TestExactConformance: exact sums pass what the engine's others do, whatever the
// operator is made of, and do not depend on how shots are shared out.
func TestExactConformance(t *testing.T) {
	nonzero := 0
	for i, c := range trials() {
		if testing.Short() && i%5 != 0 {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			p := c.problem(t, uint64(i))
			near := 5e-6
			if slices.Max(p.Grid.Spacing) > 40 {
				near = 2e-5
			}
			nonzero += exactEverywhere(t, p, near, uint64(i), layout{shots: 1 + i%5, blocks: 1, threads: 1 + i%3},
				layout{shots: 1 + i%2, blocks: 2, threads: 2, budget: 12})
		})
	}
	if nonzero == 0 {
		t.Error("all images are zero")
	}
}

// TestExactOnManyShares: the same bits for slabs, shots, threads, full tables and
// recomputed ones, in problems of several slabs and pieces.
func TestExactOnManyShares(t *testing.T) {
	layouts := []layout{{1, 1, 3, 0}, {2, 1, 1, 0}, {1, 3, 2, 0}, {3, 2, 1, 0}, {5, 4, 1, 0}, {1, 1, 1, 40}, {2, 2, 2, 41}}
	for i, c := range []struct {
		shape     []int
		h         float64
		sources   [2]int
		receivers [2]int
		nt        int
		dynamic   bool
	}{
		{[]int{201, 11}, 10, [2]int{6, 1}, [2]int{35, 1}, 250, true},
		{[]int{37, 6, 9}, 20, [2]int{2, 2}, [2]int{7, 5}, 100, true},
		{[]int{130, 40}, 15, [2]int{5, 1}, [2]int{33, 1}, 200, false},
	} {
		p := fixedSpread(t, c.shape, c.h, c.sources, c.receivers, c.nt, c.dynamic)
		p.T0 = []float64{0, 0.03, -0.02}[i]
		if i == 0 {
			p.Times = folded{p.Times, 2}
		}
		if exactEverywhere(t, p, 5e-6, uint64(i), layouts...) == 0 {
			t.Error("the images are zero")
		}
	}
}

// TestManyPieces: the forward of a survey of many traces, and the adjoint of an image
// of many tiles, work in several pieces and give the same bits as the engine at once
// without a quantum, and the same on any shares with one.
func TestManyPieces(t *testing.T) {
	p := fixedSpread(t, []int{330, 300}, 5, [2]int{100, 1}, [2]int{3, 1}, 30, false)
	q := fixedSpread(t, []int{70, 20}, 5, [2]int{130, 1}, [2]int{50, 1}, 40, true)
	for _, p := range []*Problem{p, q} {
		m, d := noise(1, p.Grid.Len()), noise(2, p.NumTraces()*p.NT)
		h := device.NewHost(1)
		one := split(t, p, 1, 1, 2, 0, 0)
		e := one.share[0][0].kernel
		for k, src := range [2][]float32{m, d} {
			direction := dist.Direction(k)
			want := make([]float32, []int{len(d), len(m)}[k])
			apply := []func(context.Context, device.Buf, device.Buf) error{e.Forward, e.Adjoint}[k]
			if err := apply(t.Context(), device.Wrap(h, want), device.Wrap(h, src)); err != nil {
				t.Fatal(err)
			}
			if got := one.apply(t, direction, src, 0, 1); !slices.Equal(got, want) {
				t.Errorf("%v: other bits in pieces than at once", direction)
			}
			quantum, _, _ := one.quantum(t, direction, src)
			exact := one.apply(t, direction, src, quantum, 1)
			if diff := difference(wide(exact), wide(want)); !(diff <= 2e-6) {
				t.Errorf("exact %v differs by %.2e", direction, diff)
			}
			for i, l := range []layout{{3, 2, 1, 0}, {1, 1, 2, 120}} {
				g := split(t, p, l.shots, l.blocks, l.threads, l.budget, uint64(i))
				if !slices.Equal(g.apply(t, direction, src, quantum, 5), exact) {
					t.Errorf("%+v: exact %v has other bits", l, direction)
				}
				g.close()
			}
		}
		pieces := [2]int{len(e.(*kernel).image.TraceCuts) - 1, len(e.(*kernel).cpu.tileCuts) - 1}
		if max(pieces[0], pieces[1]) < 3 {
			t.Errorf("%d pieces of traces, %d of tiles", pieces[0], pieces[1])
		}
		one.close()
	}
}

// TestBrokenOff: after an application that ended early, and after another between its
// pieces, results are what they were; the first must not go on.
func TestBrokenOff(t *testing.T) {
	p := fixedSpread(t, []int{130, 70}, 10, [2]int{6, 1}, [2]int{20, 1}, 200, true)
	for _, budget := range []int64{0, 20} {
		g := split(t, p, 1, 1, 2, budget, 0)
		e := g.share[0][0].kernel
		m, d := noise(1, p.Grid.Len()), noise(2, p.NumTraces()*p.NT)
		for k, src := range [2][]float32{m, d} {
			direction := dist.Direction(k)
			quantum, _, _ := g.quantum(t, direction, src)
			want := g.apply(t, direction, src, quantum, 1)
			begin := func(ctx context.Context) (dist.Application, error) {
				dst := device.Wrap(device.NewHost(1), make([]float32, len(want)))
				return e.Begin(ctx, direction, dst, device.Wrap(device.NewHost(1), src), quantum)
			}
			ctx, cancel := context.WithCancel(t.Context())
			app, err := begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			if _, err := app.Sum(0); err == nil {
				t.Errorf("budget %d: %v went on after its context ended", budget, direction)
			}
			if _, err := begin(ctx); err == nil && direction == dist.Forward {
				t.Errorf("budget %d: %v began after its context ended", budget, direction)
			}
			if app, err = begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(g.apply(t, direction, src, quantum, 1), want) {
				t.Errorf("budget %d: exact %v has other bits after one that was broken off", budget, direction)
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("budget %d: %v went on after another", budget, direction)
					}
				}()
				_, _ = app.Sum(0)
			}()
		}
		g.close()
	}
}

// TestShortBudget: tables of fewer places than a run has allow no exact sums. Receivers
// are places 3 to 22, the first 13 of which share a cell with the sources.
func TestShortBudget(t *testing.T) {
	p := fixedSpread(t, []int{40, 20}, 10, [2]int{3, 1}, [2]int{20, 1}, 100, false)
	e := split(t, p, 1, 1, 1, 10, 0).share[0][0].kernel
	h := device.NewHost(1)
	d, m := device.Wrap(h, make([]float32, p.NumTraces()*p.NT)), device.Wrap(h, make([]float32, p.Grid.Len()))
	if _, err := e.Begin(t.Context(), dist.Forward, d, m, 0); err != nil {
		t.Errorf("without a quantum: %v", err)
	}
	if _, err := e.Begin(t.Context(), dist.Forward, d, m, 1); err == nil || !strings.Contains(err.Error(), "14 places") {
		t.Errorf("with a quantum: %v", err)
	}
}

// TestPeak: no weight of the reference is larger than the peak, and the peak is not
// far above the largest.
func TestPeak(t *testing.T) {
	for i, c := range []trial{{dim: 2, weights: 1}, {dim: 3, weights: 1}, {dim: 2}, {dim: 3, weights: 2, irregular: true}} {
		p := c.problem(t, uint64(i+5))
		r, err := NewReference(t.Context(), p, Work{})
		if err != nil {
			t.Fatal(err)
		}
		most := 0.0
		for trace := range p.NumTraces() {
			for n := range p.Grid.Len() {
				if k, _, a := r.(*referenceEngine).images[0].at(trace, n, pairing{}); k >= 0 {
					if p.Dynamic { // the image's share
						a *= p.Velocity[n] / 2
						if c.dim == 3 {
							a *= 2
						}
					}
					most = max(most, a)
				}
			}
		}
		if got := newCPUEngine(t, p, Work{}).plan.Peak; !(got > most && got < 20*most) {
			t.Errorf("%v: peak %g, largest weight %g", c, got, most)
		}
	}
}

// takeSlab limits a problem of the whole grid to a slab.
func takeSlab(p *Problem, slab [2]int) {
	if n := p.Grid.Shape[0]; slab == [2]int{} { // which would mean the whole
		slab = [2]int{n, n}
	}
	p.Slab = slab
	if p.Velocity != nil {
		p.Velocity = p.Velocity[slab[0]*p.plane() : slab[1]*p.plane()]
	}
}

// TestPeakOfReach: with an aperture the peak is that of the points that traces reach, even
// where weights beyond are larger.
func TestPeakOfReach(t *testing.T) {
	for _, shape := range [][]int{{390, 20}, {100, 20, 9}} {
		p := streamer(t, shape, 12, 8)
		p.Positions = p.Positions.Of([]int32{0, 1, 2, 9})
		dim := len(shape)
		p.Aperture, p.ApertureTaper = []float64{300, 0}[:dim-1], []float64{0, 0}[:dim-1]
		p.Dynamic, p.Velocity = true, slices.Repeat([]float64{2000}, p.Grid.Len())
		p.Amplitude = func(int) ([]float64, error) { // grows along x
			b := make([]float64, p.Grid.Len())
			for i := range b {
				b[i] = float64(1 + i/(p.Grid.Len()/shape[0]))
			}
			return b, nil
		}
		whole := newCPUEngine(t, p, Work{}).plan.Peak
		q := *p
		lo, hi := p.Reach()
		takeSlab(&q, [2]int{lo, hi})
		if part := newCPUEngine(t, &q, Work{}).plan.Peak; q.Slab[1] > shape[0]*2/3 || part != whole || whole > 2*1.01*float64(q.Slab[1]*q.Slab[1]) {
			t.Errorf("%v: peak %g in %v, %g of the whole grid", shape, part, q.Slab, whole)
		}
	}
}

// TestSlabs: an operator on a slab is that of the whole grid on its points, and one on
// no points is nothing.
func TestSlabs(t *testing.T) {
	for _, dim := range []int{2, 3} {
		p := trial{dim: dim, weights: 2, irregular: true}.problem(t, 11)
		p.Grid.Shape = map[int][]int{2: {150, 20}, 3: {37, 6, 11}}[dim]
		p.Velocity = make([]float64, p.Grid.Len())
		for i := range p.Velocity {
			p.Velocity[i] = 1500 + float64(i%500)
		}
		var err error
		if p.Times, err = traveltime.NewAnalytic(2000, p.Grid); err != nil {
			t.Fatal(err)
		}
		n, width := p.Grid.Shape[0], SlabPoints(dim)
		m, d := noise(1, p.Grid.Len()), noise(2, p.NumTraces()*p.NT)
		whole, parts := everyEngine(t, p), [][]Engine{}
		for _, cut := range [][2]int{{0, width}, {width, width}, {width, n}, {n, n}} {
			q := *p
			takeSlab(&q, cut)
			parts = append(parts, everyEngine(t, &q))
		}
		for k, e := range whole {
			wantD, wantM := outcome(t, e, m, d)
			sumD := make([]float64, len(d))
			var gotM []float64
			for i, slab := range [][2]int{{0, width}, {width, width}, {width, n}, {n, n}} {
				e := parts[i][k]
				x, y := outcome(t, e, m[slab[0]*p.plane():slab[1]*p.plane()], d)
				for i, v := range x {
					sumD[i] += v
				}
				gotM = append(gotM, y...)
				q := *p
				q.Slab = slab
				if q.Triples() != int64(p.NumTraces()*(slab[1]-slab[0])*p.plane()) {
					t.Errorf("%s: slab %v visits %d triples", name(e), slab, q.Triples())
				}
			}
			if !slices.Equal(gotM, wantM) {
				t.Errorf("%s: images of slabs differ from the whole", name(e))
			}
			if diff := difference(sumD, wantD); !(diff <= 1e-6) {
				t.Errorf("%s: traces of slabs add up to others, %.2e", name(e), diff)
			}
		}
	}
}

// outcome applies an engine in both directions.
func outcome(t *testing.T, e Engine, m, d []float32) (data, image []float64) {
	h := device.NewHost(1)
	alloc := func(x []float64) device.Buf {
		b, err := h.Alloc(len(x), e.Type())
		if err == nil {
			err = device.Upload(b, x)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	data, image = make([]float64, len(d)), make([]float64, len(m))
	dst := alloc(data)
	if err := only(e).Forward(t.Context(), dst, alloc(wide(m))); err != nil {
		t.Fatal(err)
	}
	if err := device.Download(data, dst); err != nil {
		t.Fatal(err)
	}
	dst = alloc(image)
	if err := only(e).Adjoint(t.Context(), dst, alloc(wide(d))); err != nil {
		t.Fatal(err)
	}
	if err := device.Download(image, dst); err != nil {
		t.Fatal(err)
	}
	return data, image
}

// TestBadSlabs: a slab that cuts a tile's box or leaves the grid is an error.
func TestBadSlabs(t *testing.T) {
	p := fixedSpread(t, []int{150, 20}, 10, [2]int{2, 1}, [2]int{2, 1}, 100, false)
	for _, slab := range [][2]int{{0, 32}, {8, 64}, {64, 0}, {-64, 64}, {64, 192}, {128, 149}} {
		p.Slab = slab
		if err := p.Validate(); err == nil {
			t.Errorf("slab %v of 150 points was accepted", slab)
		}
	}
	for _, slab := range [][2]int{{0, 64}, {64, 150}, {150, 150}, {64, 64}, {0, 150}} {
		p.Slab = slab
		if err := p.Validate(); err != nil {
			t.Errorf("slab %v: %v", slab, err)
		}
	}
}

// TestRunsOfParts: the runs of a part of the shots are those of the whole.
func TestRunsOfParts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	p := &survey.Positions{Role: make([]survey.Role, 90), Row: make([]int32, 90), XYZ: make([]float64, 180), Dim: 2}
	for s := range int32(20) {
		for range 1 + r.IntN(4*adjointCells.limit) { // mostly one pair: runs beyond the limit
			p.Source, p.Receiver = append(p.Source, s), append(p.Receiver, 20+int32(max(0, r.IntN(200)-130)))
		}
	}
	longest := 0
	list := func(q *survey.Positions, first int32) map[string]bool {
		b := newBlocking(q, count(len(q.Source)), adjointCells)
		out := map[string]bool{}
		for _, run := range b.runs {
			longest = max(longest, int(run.Pair1-run.Pair0))
			s := fmt.Sprint(q.NumberOf(run.Source))
			for _, pair := range b.pairs[run.Pair0:run.Pair1] {
				s += fmt.Sprint(" ", pair.row+first)
			}
			out[s] = true
		}
		return out
	}
	whole := list(p, 0)
	found := 0
	for lo := 0; lo < len(p.Source); {
		hi := lo
		for hi < len(p.Source) && p.Source[hi]/3 == p.Source[lo]/3 {
			hi++
		}
		sub, _ := p.Subset(count(len(p.Source))[lo:hi])
		for s := range list(sub, int32(lo)) {
			if !whole[s] {
				t.Errorf("traces %s are a run of a part but not of the whole", s)
			}
			found++
		}
		lo = hi
	}
	if found != len(whole) || longest != adjointCells.limit {
		t.Errorf("%d runs in parts, %d in the whole, the longest of %d traces", found, len(whole), longest)
	}
}
