package butterfly

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

const (
	sampledWindows = 8  // most windows of a sample, with one part of each
	sampledPlaces  = 12 // about as many sources and receivers of each part, more where there are fewer parts
	truth          = 16 // Problem.Finer of the sums that parts are compared with
	draws          = 4  // of data and images: a window holds few independent waves
)

// Found is what a sample of parts brings, compared with the same pairs of traces and points summed
// directly from the band-limited wavelet: root-mean-square errors, as shares, for data and images of
// random numbers.
type Found struct {
	Parts, Traces    int
	Forward, Adjoint float64
	Worst            float64 // of one part, in the worse direction
}

// Off is the error in the worse direction.
func (f Found) Off() float64 { return max(f.Forward, f.Adjoint) }

// sample is an operator of some parts with some traces of each.
type sample struct {
	*Operator
	traces  []int32 // of the whole problem
	windows []int   // with a part
}

// Measure compares a sample of o's parts, spread over all depths, with direct sums. It solves the
// traveltimes of their places. It is the last that needs velocities, of which it lets go: with dynamic
// weights it can be called once. Errors are those of kirchhoff.New.
func (o *Operator) Measure(ctx context.Context) (Found, error) {
	defer func() { o.problem.Velocity = nil }()
	s := o.sample()
	defer s.memory.free()
	q := o.problem
	q.Positions, q.Progress = q.Positions.Of(s.traces), nil
	q.Elsewhere = factorised{s}
	fast, err := kirchhoff.New(ctx, &q, kirchhoff.Work{})
	if err != nil {
		return Found{}, err
	}
	defer fast.Close()
	q.Elsewhere, q.Curve = direct{s}, 0
	for q.Finer = truth; q.Validate() != nil && q.Finer > 1; q.Finer /= 2 { // long triangles allow less
	}
	exact, err := kirchhoff.New(ctx, &q, kirchhoff.Work{})
	if err != nil {
		return Found{}, err
	}
	defer exact.Close()
	traces, windows := make([]squares, len(s.blocks)), make([]squares, len(s.windows))
	r := rand.New(rand.NewPCG(11, 12))
	for range draws {
		if err := s.compare(ctx, r, fast, exact, traces, windows); err != nil {
			return Found{}, err
		}
	}
	f := Found{Parts: len(s.windows), Traces: len(s.traces)}
	f.Forward, f.Adjoint = f.of(traces), f.of(windows)
	return f, nil
}

// of is the error of all parts, whose errors are counted.
func (f *Found) of(parts []squares) float64 {
	var all squares
	for _, e := range parts {
		f.Worst = max(f.Worst, e.share())
		all = all.with(e)
	}
	return all.share()
}

// compare adds what two engines make of random numbers to the squares of the traces of each block and of
// the points of each of the sample's windows.
func (s *sample) compare(ctx context.Context, r *rand.Rand, fast, exact kirchhoff.Engine, traces, windows []squares) error {
	nt, host := s.problem.NT, device.NewHost(s.problem.Threads)
	data, image := make([]float32, len(s.traces)*nt), make([]float32, s.problem.ImageLen())
	for i := range data {
		data[i] = float32(r.NormFloat64())
	}
	for _, w := range s.windows {
		for _, point := range s.Operator.windows[w].points {
			image[point] = float32(r.NormFloat64())
		}
	}
	var d, m [2][]float32
	for i, e := range [2]kirchhoff.Engine{fast, exact} {
		d[i], m[i] = make([]float32, len(data)), make([]float32, len(image))
		k := e.Kernels()[0]
		if err := k.Forward(ctx, device.Wrap(host, d[i]), device.Wrap(host, image)); err != nil {
			return err
		}
		if err := k.Adjoint(ctx, device.Wrap(host, m[i]), device.Wrap(host, data)); err != nil {
			return err
		}
	}
	for n, b := range s.blocks {
		for _, trace := range b.traces {
			for k := range nt {
				traces[n].add(d[0], d[1], int(trace)*nt+k)
			}
		}
	}
	for n, w := range s.windows {
		for _, point := range s.Operator.windows[w].points {
			windows[n].add(m[0], m[1], int(point))
		}
	}
	return nil
}

// sample chooses windows evenly among those with parts, and the parts in turn.
func (o *Operator) sample() *sample {
	s := *o
	out := &sample{Operator: &s}
	var with []int
	for i, list := range o.parts {
		if len(list) > 0 {
			with = append(with, i)
		}
	}
	s.memory = &memory{}
	s.parts, s.blocks = make([][]part, len(o.parts)), make([]*block, len(o.blocks))
	for n, b := range o.blocks {
		empty := *b
		empty.traces, empty.slots, empty.windows = nil, nil, nil
		s.blocks[n] = &empty
	}
	n := min(sampledWindows, len(with))
	places := int(math.Sqrt(sampledPlaces * sampledPlaces * sampledWindows / float64(max(1, n))))
	for k := range n {
		w := with[(2*k+1)*len(with)/(2*n)]
		p := o.parts[w][k*len(o.parts[w])/n]
		for _, term := range o.parts[w] {
			if term.number == p.number {
				s.parts[w] = append(s.parts[w], term)
			}
		}
		b := s.blocks[p.number]
		b.windows, out.windows = append(b.windows, int32(w)), append(out.windows, w)
		if b.traces == nil {
			b.traces, b.slots = o.some(o.blocks[p.number], places)
			out.traces = append(out.traces, b.traces...)
		}
	}
	slices.Sort(out.traces)
	for _, b := range s.blocks {
		for i, trace := range b.traces {
			at, _ := slices.BinarySearch(out.traces, trace)
			b.traces[i] = int32(at)
		}
	}
	return out
}

// some are traces of a block, those of so many of its rows and of its columns, and their slots. Places
// are drawn, since any step through them would prefer one side of a cluster.
func (o *Operator) some(b *block, places int) (traces, slots []int32) {
	r := rand.New(rand.NewPCG(uint64(b.ends[0]), uint64(b.ends[1])))
	drawn := func(n int) []bool {
		in := make([]bool, n)
		for _, i := range r.Perm(n)[:min(n, places)] {
			in[i] = true
		}
		return in
	}
	row, column := drawn(o.rows(b)), drawn(o.columns(b))
	for i, slot := range b.slots {
		if row[int(slot)/b.width] && column[int(slot)%b.width] {
			traces, slots = append(traces, b.traces[i]), append(slots, slot)
		}
	}
	if len(traces) == 0 { // few pairs of them are traces
		n := min(len(b.traces), places*places)
		return slices.Clone(b.traces[:n]), slices.Clone(b.slots[:n])
	}
	return traces, slots
}

// factorised has a sample's parts summed and nothing else.
type factorised struct{ *sample }

// Sums implements kirchhoff.Elsewhere.
func (factorised) Sums(source, receiver int32, box int) bool { return true }

// direct leaves a sample's parts to the engine and has nothing else summed.
type direct struct{ s *sample }

// Sums implements kirchhoff.Elsewhere.
func (d direct) Sums(source, receiver int32, box int) bool {
	return !d.s.Operator.Sums(source, receiver, box)
}

// Forward implements kirchhoff.Elsewhere.
func (direct) Forward(context.Context, []float32, func(worker, trace int, u []float32)) error {
	return nil
}

// Adjoint implements kirchhoff.Elsewhere.
func (direct) Adjoint(context.Context, []float64, float64, func(worker, trace int, to []float32)) error {
	return nil
}

// squares are sums of squares of a difference and of what it is relative to.
type squares struct{ diff, norm float64 }

func (s *squares) add(got, want []float32, i int) {
	e := float64(got[i]) - float64(want[i])
	s.diff += e * e
	s.norm += float64(want[i]) * float64(want[i])
}

// with is the sum.
func (s squares) with(t squares) squares { return squares{s.diff + t.diff, s.norm + t.norm} }

// share is the error, 0 of nothing.
func (s squares) share() float64 {
	if s.diff == 0 {
		return 0
	}
	return math.Sqrt(s.diff / s.norm)
}
