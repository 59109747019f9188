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
	sampledPlaces  = 12 // about as many sources and receivers of each part
	truth          = 16 // Problem.Finer of the sums that parts are compared with
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
// traveltimes of their places. Errors are those of kirchhoff.New.
func (o *Operator) Measure(ctx context.Context) (Found, error) {
	s := o.sample()
	defer s.memory.free()
	q := o.problem
	q.Positions, q.Progress = q.Positions.Of(s.traces), nil
	r := rand.New(rand.NewPCG(11, 12))
	data, image := make([]float32, len(s.traces)*q.NT), make([]float32, q.ImageLen())
	for i := range data {
		data[i] = float32(r.NormFloat64())
	}
	for _, w := range s.windows {
		for _, point := range o.windows[w].points {
			image[point] = float32(r.NormFloat64())
		}
	}
	var d, m [2][]float32
	for i, e := range [2]kirchhoff.Elsewhere{factorised{s}, direct{s}} {
		q.Elsewhere = e
		if i == 1 {
			q.Curve = 0
			for q.Finer = truth; q.Validate() != nil && q.Finer > 1; q.Finer /= 2 { // long triangles allow less
			}
		}
		var err error
		if d[i], m[i], err = applied(ctx, &q, data, image); err != nil {
			return Found{}, err
		}
	}
	f := Found{Parts: len(s.windows), Traces: len(s.traces)}
	var all [2]squares
	for _, b := range s.blocks {
		var e squares
		for _, trace := range b.traces {
			for k := range q.NT {
				e.add(d[0], d[1], int(trace)*q.NT+k)
			}
		}
		f.Worst = max(f.Worst, e.share())
		all[0] = all[0].with(e)
	}
	for _, w := range s.windows {
		var e squares
		for _, point := range o.windows[w].points {
			e.add(m[0], m[1], int(point))
		}
		f.Worst = max(f.Worst, e.share())
		all[1] = all[1].with(e)
	}
	f.Forward, f.Adjoint = all[0].share(), all[1].share()
	return f, nil
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
			b.traces, b.slots = o.some(o.blocks[p.number])
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

// some are traces of a block, those of some of its rows and some of its columns, and their slots. Places
// are drawn, since any step through them would prefer one side of a cluster.
func (o *Operator) some(b *block) (traces, slots []int32) {
	r := rand.New(rand.NewPCG(uint64(b.ends[0]), uint64(b.ends[1])))
	drawn := func(n int) []bool {
		in := make([]bool, n)
		for _, i := range r.Perm(n)[:min(n, sampledPlaces)] {
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
		n := min(len(b.traces), sampledPlaces*sampledPlaces)
		return slices.Clone(b.traces[:n]), slices.Clone(b.slots[:n])
	}
	return traces, slots
}

// applied is what an engine makes of an image and of data.
func applied(ctx context.Context, p *kirchhoff.Problem, data, image []float32) (d, m []float32, err error) {
	e, err := kirchhoff.New(ctx, p, kirchhoff.Work{})
	if err != nil {
		return nil, nil, err
	}
	defer e.Close()
	d, m = make([]float32, len(data)), make([]float32, len(image))
	host, k := device.NewHost(p.Threads), e.Kernels()[0]
	if err := k.Forward(ctx, device.Wrap(host, d), device.Wrap(host, image)); err != nil {
		return nil, nil, err
	}
	return d, m, k.Adjoint(ctx, device.Wrap(host, m), device.Wrap(host, data))
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
