package gpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// share is what one of several engines holds of a problem: traces first to last and
// a slab.
type share struct {
	first, last int
	slab        [2]int
	engine      *Engine
}

// process is a problem on a grid of shots × blocks.
type process struct {
	p      *kirchhoff.Problem
	d      *card.Device
	blocks int
	share  [][]share // [shots][blocks]
}

// sorted is p with its traces in the order of sources.
func sorted(p *kirchhoff.Problem) *kirchhoff.Problem {
	list := make([]int32, p.NumTraces())
	for i := range list {
		list[i] = int32(i)
	}
	slices.SortStableFunc(list, func(a, b int32) int { return int(p.Positions.Source[a]) - int(p.Positions.Source[b]) })
	q := *p
	q.Positions, _ = p.Positions.Subset(list)
	return &q
}

// cutAt cuts [0, n) at random among the places allowed, which end with n, into parts;
// some may be empty.
func cutAt(r *rand.Rand, allowed []int, parts int, empty bool) []int {
	n := allowed[len(allowed)-1]
	for {
		cuts := []int{0, n}
		for range parts - 1 {
			cuts = append(cuts, allowed[r.IntN(len(allowed))])
		}
		slices.Sort(cuts)
		if empty || len(slices.Compact(slices.Clone(cuts))) == len(cuts) {
			return cuts
		}
	}
}

// dealt is the work of an engine that has traces first to last of a problem.
type dealt func(p *kirchhoff.Problem, first, last int) kirchhoff.Work

func resident(*kirchhoff.Problem, int, int) kirchhoff.Work { return kirchhoff.Work{} }

// split makes engines for shots × blocks shares of p, cut at random.
func split(t testing.TB, d *card.Device, p *kirchhoff.Problem, work dealt, shots, blocks int, seed uint64) *process {
	r := rand.New(rand.NewPCG(seed, 3))
	starts, slabs := []int{}, []int{}
	for i, s := range p.Positions.Source {
		if i > 0 && s != p.Positions.Source[i-1] {
			starts = append(starts, i)
		}
	}
	starts = append(starts, p.NumTraces())
	n, width := p.Grid.Shape[0], kirchhoff.SlabPoints(p.Grid.Dim())
	for x := width; x < n; x += width {
		slabs = append(slabs, x)
	}
	slabs = append(slabs, n)
	g := &process{p: p, d: d, blocks: blocks}
	shots = min(shots, len(starts))
	rows, columns := cutAt(r, starts, shots, false), cutAt(r, slabs, blocks, true)
	for i := range shots {
		var line []share
		for j := range blocks {
			s := share{first: rows[i], last: rows[i+1], slab: [2]int{columns[j], columns[j+1]}}
			q := *p
			q.MaxDistance[0], q.MaxDistance[1] = kirchhoff.MaxDistance(p.Grid, p.Positions)
			if q.Slab = s.slab; q.Slab == [2]int{} { // which would mean the whole
				q.Slab = [2]int{n, n}
			}
			if plane := p.Grid.Len() / n; q.Velocity != nil {
				q.Velocity = q.Velocity[q.Slab[0]*plane : q.Slab[1]*plane]
			}
			list := make([]int32, s.last-s.first)
			for k := range list {
				list[k] = int32(s.first + k)
			}
			q.Positions, _ = p.Positions.Subset(list)
			s.engine = working(t, d, &q, work(&q, s.first, s.last))
			line = append(line, s)
		}
		g.share = append(g.share, line)
	}
	return g
}

func (g *process) close() {
	for _, line := range g.share {
		for _, s := range line {
			s.engine.Close()
		}
	}
}

// within is a share's part of the data or of the image.
func (g *process) within(s share, data bool, x []float32) []float32 {
	if data {
		return x[s.first*g.p.NT : s.last*g.p.NT]
	}
	plane := g.p.Grid.Len() / g.p.Grid.Shape[0]
	return x[s.slab[0]*plane : s.slab[1]*plane]
}

// quantum is what package dist would choose; parts are the numbers of Bound.
func (g *process) quantum(t testing.TB, d dist.Direction, src []float32) (q float64, parts []float64) {
	t.Helper()
	peak := 0.0
	for i, line := range g.share {
		for j, s := range line {
			peak = max(peak, s.engine.kernels[0].Peak())
			got, err := s.engine.kernels[0].Bound(d, upload(t, g.d, g.within(s, d == dist.Backward, src)))
			must(t, err)
			if d == dist.Forward && i == 0 || d == dist.Backward && j == 0 {
				parts = append(parts, got...)
			}
		}
	}
	bound := 0.0
	for _, v := range parts {
		bound += v
	}
	if bound == 0 {
		return 1, parts
	}
	_, e := math.Frexp(bound * peak)
	return math.Ldexp(1, e-52), parts
}

// apply adds what the ranks of a line hold for each piece, in random order, as an
// all-reduce would, and returns the result of the first of each line.
func (g *process) apply(t testing.TB, d dist.Direction, src []float32, quantum float64, seed uint64) []float32 {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 4))
	n, lines := g.p.Grid.Len(), make([][]share, g.blocks)
	if d == dist.Forward {
		n, lines = g.p.NumTraces()*g.p.NT, g.share
	} else {
		for _, line := range g.share {
			for j, s := range line {
				lines[j] = append(lines[j], s)
			}
		}
	}
	out := make([]float32, n)
	for _, line := range lines {
		var apps []dist.Application
		var results []device.Buf
		for _, s := range line {
			result := upload(t, g.d, g.within(s, d == dist.Forward, out))
			app, err := s.engine.kernels[0].Begin(t.Context(), d, result, upload(t, g.d, g.within(s, d == dist.Backward, src)), quantum)
			must(t, err)
			apps, results = append(apps, app), append(results, result)
		}
		under := [][]device.Buf{}
		finish := func(i int) {
			total(t, r, under[0])
			under = under[1:]
			for _, app := range apps {
				must(t, app.Finish(i))
			}
		}
		for i := range apps[0].Pieces() {
			if len(under) == apps[0].Ahead() {
				finish(i - len(under))
			}
			var bufs []device.Buf
			for _, app := range apps {
				buf, err := app.Sum(i)
				must(t, err)
				bufs = append(bufs, buf)
			}
			under = append(under, bufs)
		}
		for len(under) > 0 {
			finish(apps[0].Pieces() - len(under))
		}
		for k, s := range line {
			got := download(t, results[k])
			if k == 0 {
				copy(g.within(s, d == dist.Forward, out), got)
			} else if !slices.Equal(got, g.within(line[0], d == dist.Forward, out)) {
				t.Errorf("%v: copies differ", d)
			}
		}
	}
	return out
}

// total sets all buffers to their sum, in random order.
func total(t testing.TB, r *rand.Rand, bufs []device.Buf) {
	t.Helper()
	sum := make([]float64, bufs[0].Len())
	part := make([]float64, len(sum))
	for _, i := range r.Perm(len(bufs)) {
		must(t, device.Download(part, bufs[i]))
		for n, v := range part {
			sum[n] += v
		}
	}
	for _, b := range bufs {
		must(t, device.Upload(b, sum))
	}
}

// exactEverywhere checks that p's exact results are those of the engine at once,
// adjoint, and the same bits on every grid of shots and blocks.
func exactEverywhere(t *testing.T, d *card.Device, p *kirchhoff.Problem, seed uint64, layouts ...[2]int) {
	t.Helper()
	p = sorted(p)
	one := engine(t, d, p)
	exactOf(t, d, p, one, resident, seed, layouts...)
}

// exactOf is exactEverywhere for some work. The engine is that of all traces.
func exactOf(t *testing.T, d *card.Device, p *kirchhoff.Problem, one *Engine, work dealt, seed uint64, layouts ...[2]int) {
	t.Helper()
	m, x := noise(seed, p.Grid.Len()), noise(seed+1, p.NumTraces()*p.NT)
	wantData, wantImage := both(t, d, one, m, x)
	var first [2][]float32
	var bounds [2][]float64
	for i, l := range append([][2]int{{1, 1}}, layouts...) {
		g := split(t, d, p, work, l[0], l[1], seed+uint64(i))
		for k, src := range [2][]float32{dist.Forward: m, dist.Backward: x} {
			direction := dist.Direction(k)
			q, parts := g.quantum(t, direction, src)
			got := g.apply(t, direction, src, q, seed)
			if i == 0 {
				first[k], bounds[k] = got, parts
				want := [2][]float32{wantData, wantImage}[k]
				if diff := difference(got, want); !(diff <= 2e-6) {
					t.Errorf("exact %v differs by %.2e", direction, diff)
				}
				continue
			}
			if !slices.Equal(parts, bounds[k]) {
				t.Errorf("%v: %v: bounds %v, in one share %v", l, direction, parts, bounds[k])
			}
			if !slices.Equal(got, first[k]) {
				t.Errorf("%v: exact %v has other bits, difference %.2e", l, direction, difference(got, first[k]))
			}
		}
		g.close()
	}
	left, right, normD, normX := 0.0, 0.0, 0.0, 0.0
	for i, v := range first[dist.Forward] {
		left += float64(v) * float64(x[i])
		normD += float64(v) * float64(v)
		normX += float64(x[i]) * float64(x[i])
	}
	for i, v := range first[dist.Backward] {
		right += float64(v) * float64(m[i])
	}
	if normD > 0 && !(math.Abs(left-right) <= 1e-6*math.Sqrt(normD*normX)) {
		t.Errorf("exact dot test %.2e", math.Abs(left-right)/math.Sqrt(normD*normX))
	}
}

// TestExact: exact sums have the same bits however shots and slabs are shared out,
// whatever the operator is made of.
func TestExact(t *testing.T) {
	d := open(t, driver.CUDA)
	for i, c := range trials() {
		if i%6 != 1 || !gputest.Part(i, 1, 4) {
			continue
		}
		t.Run(c.String(), func(t *testing.T) { exactEverywhere(t, d, c.problem(t, uint64(i)), uint64(i), [2]int{1 + i%5, 1}) })
	}
}

// TestExactOnManyShares: the same bits for shots and slabs, in problems of several
// slabs, boxes and blocks of traces.
func TestExactOnManyShares(t *testing.T) {
	d := open(t, driver.CUDA)
	for i, p := range []*kirchhoff.Problem{
		spread(t, []int{201, 19}, 10, 9, 50, 250, true),
		spread(t, []int{37, 9, 21}, 20, 4, 19, 150, true),
		spread(t, []int{130, 70}, 15, 5, 43, 200, false),
	} {
		p.T0 = []float64{0, 0.03, -0.02}[i]
		exactEverywhere(t, d, p, uint64(i), [2]int{2, 1}, [2]int{1, 3}, [2]int{4, 2})
	}
}
