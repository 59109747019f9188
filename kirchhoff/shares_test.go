package kirchhoff

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// share is what one of several engines holds of a problem: traces first to last and
// a slab.
type share struct {
	first, last int
	slab        [2]int
	engine      Engine
	kernel      dist.Pieced // what is applied: the operator, or the squared one
}

// process is a problem on a grid of shots × blocks.
type process struct {
	p             *Problem
	shots, blocks int
	share         [][]share // [shots][blocks]
}

// sorted is p with its traces in the order of sources.
func sorted(p *Problem) *Problem {
	order := count(p.NumTraces())
	slices.SortStableFunc(order, func(a, b int32) int { return int(p.Positions.Source[a]) - int(p.Positions.Source[b]) })
	q := *p
	q.Positions, _ = p.Positions.Subset(order)
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

// split makes engines for shots × blocks shares of p, cut at random. With budget,
// tables of that many places are recomputed.
func split(t testing.TB, p *Problem, shots, blocks, threads int, budget int64, seed uint64) *process {
	r := rand.New(rand.NewPCG(seed, 3))
	starts, slabs := []int{}, []int{}
	for i, s := range p.Positions.Source {
		if i > 0 && s != p.Positions.Source[i-1] {
			starts = append(starts, i)
		}
	}
	starts = append(starts, p.NumTraces())
	for x := SlabPoints(p.Grid.Dim()); x < p.Grid.Shape[0]; x += SlabPoints(p.Grid.Dim()) {
		slabs = append(slabs, x)
	}
	slabs = append(slabs, p.Grid.Shape[0])
	g := &process{p: p, shots: min(shots, len(starts)), blocks: blocks}
	rows, columns := cutAt(r, starts, g.shots, false), cutAt(r, slabs, blocks, true)
	for i := range g.shots {
		var line []share
		for j := range blocks {
			s := share{first: rows[i], last: rows[i+1], slab: [2]int{columns[j], columns[j+1]}}
			q := *p
			q.Threads = threads
			q.MaxDistance[0], q.MaxDistance[1] = MaxDistance(p.Grid, p.Positions)
			takeSlab(&q, s.slab)
			traces := count(p.NumTraces())[s.first:s.last]
			var from []int32
			q.Positions, from = p.Positions.Subset(traces)
			if p.Amplitude != nil {
				q.Amplitude = func(place int) ([]float64, error) { return p.Amplitude(int(from[place])) }
			}
			s.engine = newCPUEngine(t, &q, Work{Remake: budget > 0, Budget: budget * Needs(&q, Work{}).Place})
			s.kernel = only(s.engine).(dist.Pieced)
			line = append(line, s)
		}
		g.share = append(g.share, line)
	}
	return g
}

// square makes the squared operator what is applied.
func (g *process) square() {
	for _, line := range g.share {
		for j := range line {
			line[j].kernel = line[j].engine.Squared()[0].(dist.Pieced)
		}
	}
}

func (g *process) close() {
	for _, line := range g.share {
		for _, s := range line {
			s.engine.Close()
		}
	}
}

// clean checks that exact sums left nothing in any windows: every entry that a box
// wrote was in reach.
func (g *process) clean(t testing.TB) {
	for _, line := range g.share {
		for _, s := range line {
			for _, w := range s.engine.(*cpu).windows {
				if !w.dirty && slices.ContainsFunc(w.S, func(v float32) bool { return v != 0 }) {
					t.Error("windows that should be empty are not")
				}
			}
		}
	}
}

// quantum is what package dist would choose; parts are the numbers of Bound.
func (g *process) quantum(t testing.TB, d dist.Direction, src []float32) (q, peak float64, parts []float64) {
	for i, line := range g.share {
		for j, s := range line {
			peak = max(peak, s.kernel.Peak())
			got, err := s.kernel.Bound(d, g.part(s, d == dist.Backward, src))
			if err != nil {
				t.Fatal(err)
			}
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
		return 1, peak, parts
	}
	_, e := math.Frexp(bound * peak)
	return math.Ldexp(1, e-52), peak, parts
}

// part is a share's part of the data or of the image.
func (g *process) part(s share, data bool, x []float32) device.Buf {
	h := device.NewHost(1)
	if data {
		return device.Wrap(h, x[s.first*g.p.NT:s.last*g.p.NT])
	}
	return device.Wrap(h, x[s.slab[0]*g.p.plane():s.slab[1]*g.p.plane()])
}

// apply adds what the ranks of a line hold for each piece, in random order, as an
// all-reduce would, and returns the result of the first of each line.
func (g *process) apply(t testing.TB, d dist.Direction, src []float32, quantum float64, seed uint64) []float32 {
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
		for k, s := range line {
			dst := g.part(s, d == dist.Forward, out)
			if k > 0 {
				dst = device.Wrap(device.NewHost(1), make([]float32, dst.Len()))
			}
			app, err := s.kernel.Begin(t.Context(), d, dst, g.part(s, d == dist.Backward, src), quantum)
			if err != nil {
				t.Fatal(err)
			}
			if k > 0 && (app.Pieces() != apps[0].Pieces() || app.Ahead() != apps[0].Ahead()) {
				t.Fatalf("%v of %d and %d pieces", d, apps[0].Pieces(), app.Pieces())
			}
			apps, results = append(apps, app), append(results, dst)
		}
		under := [][]device.Buf{}
		finish := func(i int) {
			total(r, under[0])
			under = under[1:]
			for _, app := range apps {
				if err := app.Finish(i); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range apps[0].Pieces() {
			if len(under) == apps[0].Ahead() {
				finish(i - len(under))
			}
			var bufs []device.Buf
			for _, app := range apps {
				buf, err := app.Sum(i)
				if err != nil {
					t.Fatal(err)
				}
				bufs = append(bufs, buf)
			}
			under = append(under, bufs)
		}
		for len(under) > 0 {
			finish(apps[0].Pieces() - len(under))
		}
		for _, copy := range results[1:] {
			if !slices.Equal(device.Slice[float32](copy), device.Slice[float32](results[0])) {
				t.Errorf("%v: copies differ", d)
			}
		}
	}
	return out
}

// total sets all buffers to their sum, in random order.
func total(r *rand.Rand, bufs []device.Buf) {
	r.Shuffle(len(bufs), func(i, j int) { bufs[i], bufs[j] = bufs[j], bufs[i] })
	if bufs[0].Type() == device.F32 {
		add[float32](bufs)
	} else {
		add[float64](bufs)
	}
}

func add[T float32 | float64](bufs []device.Buf) {
	sum := device.Slice[T](bufs[0])
	for _, b := range bufs[1:] {
		for i, v := range device.Slice[T](b) {
			sum[i] += v
		}
	}
	for _, b := range bufs[1:] {
		copy(device.Slice[T](b), sum)
	}
}

func noise(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 6))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func wide(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}
