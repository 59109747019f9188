package kirchhoff

import (
	"context"
	"errors"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// ErrSquaredForward is the error of the forward of Engine.Squared.
var ErrSquaredForward = errors.New("kirchhoff: the squared operator has an adjoint only")

// smoothed is the response to a sample that a band's triangle has spread; nil: to the sample.
func (r response) smoothed(triangle *Filter) response {
	if triangle == nil {
		return r
	}
	h := make([]float64, len(r.h)+len(triangle.Taps)-1)
	for i, v := range r.h {
		for j, tap := range triangle.Taps {
			h[i+j] += v * float64(tap)
		}
	}
	return response{h, r.zero - triangle.First}
}

// products returns the products h[j] h[j−lag] of a response's samples, indexed by j.
func (r response) products(lag int) response {
	g := make([]float64, len(r.h))
	for j := lag; j < len(g); j++ {
		g[j] = r.h[j] * r.h[j-lag]
	}
	return response{g, r.zero}
}

type squaredReference struct{ r *reference }

func (e *referenceEngine) Squared() (out []dist.Kernel) {
	for _, r := range e.images {
		out = append(out, squaredReference{r})
	}
	return out
}

func (q squaredReference) Forward(context.Context, device.Buf, device.Buf) error {
	return ErrSquaredForward
}

func (q squaredReference) Adjoint(ctx context.Context, dst, src device.Buf) error {
	r := q.r
	w2, image := r.slices("diagonal", src, dst)
	nt := r.p.NT
	e, f := make([]float64, r.bands.n*nt), make([]float64, r.bands.n*nt)
	for trace := range r.p.NumTraces() {
		if err := ctx.Err(); err != nil {
			return err
		}
		clear(e)
		clear(f)
		for band, triangle := range r.bands.triangle {
			h, at := r.responses[0].smoothed(triangle), band*nt
			h.products(0).correlate(e[at:at+nt], r.row(w2, trace))
			h.products(1).correlate(f[at:at+nt], r.row(w2, trace))
		}
		for _, of := range r.pairings {
			for i := range image {
				if k, w, a := r.at(trace, r.first+i, of); k >= 0 {
					k += r.band(trace, i, of) * nt
					image[i] += a * a * ((1-w)*(1-w)*e[k] + w*w*e[k+1] + 2*w*(1-w)*f[k])
				}
			}
		}
	}
	return nil
}

// squared is the squared operator of a kernel on the cpu. For each trace it makes what
// the kernels in package simd need: correlations of w² with the squares of the wavelet
// and with the products of its neighbouring samples.
type squared struct {
	kernel       *kernel
	norms, inner []*Filter     // by band
	ends         [][][2]padded // by worker and band
	scale        []float32     // Scale²; nil for 1
}

var _ dist.Pieced = (*squared)(nil)

// Squares are the filters that make E and F (see Engine.Squared) of the squared weights of a
// trace, by band.
func (l *Plan) Squares() (norms, inner []*Filter) {
	r := responseOf(&l.Problem)
	for _, triangle := range l.bands.triangle {
		h := r.smoothed(triangle)
		_, n := h.products(0).filters(l.Problem.NT)
		_, i := h.products(1).filters(l.Problem.NT)
		norms, inner = append(norms, n), append(inner, i)
	}
	return norms, inner
}

func (e *cpu) Squared() (out []dist.Kernel) {
	q := newSquares(e, &memory{}) // what the images share
	for _, k := range e.kernels {
		of := q
		of.kernel = k
		out = append(out, &of)
	}
	return out
}

// newSquares makes what the images share.
func newSquares(e *cpu, m *memory) (q squared) {
	q.norms, q.inner = e.plan.Squares()
	nt := e.plan.Problem.NT
	for range e.threads {
		var ends [][2]padded
		for band := range q.norms {
			ends = append(ends, [2]padded{q.norms[band].padded(m, nt), q.inner[band].padded(m, nt)})
		}
		q.ends = append(q.ends, ends)
	}
	if e.plan.Scale != nil {
		q.scale = onHeap[float32](m, len(e.plan.Scale))
		for i := range q.scale {
			q.scale[i] = e.plan.Scale[i] * e.plan.Scale[i]
		}
	}
	return q
}

// correlations sets e and f of a band from the squared weights of a trace, and
// returns the range of samples over which they do not change.
func (q *squared) correlations(worker, band int, e, f, w2 []float32) (flat [2]int32) {
	norms, inner := q.ends[worker][band][0], q.ends[worker][band][1]
	copy(norms.trace, w2)
	copy(inner.trace, w2)
	q.norms[band].apply(q.kernel.cpu.isa, e, norms, false)
	q.inner[band].apply(q.kernel.cpu.isa, f, inner, false)
	nt := len(e)
	middle := nt / 2
	lo, hi := middle, middle
	for lo > 0 && e[lo-1] == e[middle] && f[lo-1] == f[middle] {
		lo--
	}
	for hi < nt-1 && e[hi+1] == e[middle] && f[hi+1] == f[middle] {
		hi++
	}
	return [2]int32{int32(lo), int32(hi) - 1} // point k needs sample k + 1
}

// alike reports whether all traces have the same squared weights.
func (q *squared) alike(w2 []float32) bool {
	nt := q.kernel.cpu.plan.Problem.NT
	for i := nt; i < len(w2); i += nt {
		if !slices.Equal(w2[i:i+nt], w2[:nt]) {
			return false
		}
	}
	return true
}

// largest returns the largest squared norm of each trace, of all bands.
func (q *squared) largest(ctx context.Context, w2 []float32) ([]float64, error) {
	nt := q.kernel.cpu.plan.Problem.NT
	out := make([]float64, q.kernel.image.Own.NumTraces())
	return out, workers.Each(ctx, q.kernel.cpu.threads, len(out), func(worker, trace int) error {
		e, f := make([]float32, nt), make([]float32, nt)
		for band := range q.norms {
			q.correlations(worker, band, e, f, q.kernel.row(w2, trace))
			out[trace] = max(out[trace], q.kernel.cpu.isa.Largest(e))
		}
		return nil
	})
}

// allocateSquares makes room for the given number of rows.
func allocateSquares(s *simd.Squares, m *memory, rows, stride int) {
	s.Norms, s.Inner, s.Flat = alloc[float32](m, rows*stride), alloc[float32](m, rows*stride), alloc[int32](m, 2*rows)
}

// squares makes what the kernels need of a unit's traces from the squared weights of all
// traces, [trace][band].
func (q *squared) squares(ctx context.Context, o *lists, w2 []float32, m *memory) (*simd.Squares, error) {
	nt, stride, bands := q.kernel.cpu.plan.Problem.NT, o.op.Stride, o.op.Bands
	n := len(o.trace)
	s := &simd.Squares{Step: bands}
	if q.alike(w2) {
		s.Step, n = 0, min(1, n)
	}
	allocateSquares(s, m, n*bands, stride)
	if m.err != nil {
		return nil, m.err
	}
	return s, workers.Each(ctx, q.kernel.cpu.threads, n*bands, func(worker, row int) error {
		at := row * stride
		flat := q.correlations(worker, row%bands, s.Norms.S[at:at+nt], s.Inner.S[at:at+nt], q.kernel.row(w2, int(o.trace[row/bands])))
		copy(s.Flat.S[2*row:], flat[:])
		return nil
	})
}

// sum sets the sums of all tiles at its first call.
func (q *squared) sum(ctx context.Context, lo, hi int, w2 []float32, quantum float64) error {
	return q.kernel.sumTiles(ctx, lo, hi, true, func(o *lists, lo, hi int) error {
		var m memory
		defer m.free()
		s, err := q.squares(ctx, o, w2, &m)
		if err != nil {
			return err
		}
		return q.kernel.cpu.eachBox(ctx, lo, hi, func(worker, box, lo, hi int) {
			for _, of := range q.kernel.cpu.plan.pairings {
				o.blocks(ctx, worker, box, of, 1, func(op *simd.Operator) {
					first := q.kernel.cpu.plan.Boxes[box].First
					q.kernel.cpu.isa.Diagonal(op, q.kernel.cpu.image64.S[first*simd.TileSize:], s, lo-first, hi-first, quantum)
				})
			}
		})
	})
}

// Forward is an error.
func (q *squared) Forward(context.Context, device.Buf, device.Buf) error { return ErrSquaredForward }

// Adjoint adds the diagonal to dst.
func (q *squared) Adjoint(ctx context.Context, dst, src device.Buf) error {
	w2, image := q.kernel.slices("diagonal", src, dst)
	q.kernel.cpu.room.Lock()
	defer q.kernel.cpu.room.Unlock()
	if err := q.sum(ctx, 0, q.kernel.cpu.plan.Tiles, w2, 0); err != nil {
		return err
	}
	return q.kernel.cpu.unloadSums(ctx, image, q.scale, 0, q.kernel.cpu.plan.Tiles)
}

// Peak implements dist.Pieced. Each weight counts twice, so it is the square of the
// operator's peak.
func (q *squared) Peak() float64 { return q.kernel.cpu.plan.Peak * q.kernel.cpu.plan.Peak }

// Bound implements dist.Pieced for squared weights. It returns the sum of the largest
// squared norms of each shot's traces.
func (q *squared) Bound(d dist.Direction, src device.Buf) ([]float64, error) {
	if d == dist.Forward {
		return nil, ErrSquaredForward
	}
	q.kernel.cpu.room.Lock()
	defer q.kernel.cpu.room.Unlock()
	largest, err := q.largest(context.Background(), device.Slice[float32](src))
	return q.kernel.image.Shots(largest), err
}

// Begin implements dist.Pieced.
func (q *squared) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	if d == dist.Forward {
		return nil, ErrSquaredForward
	}
	if err := q.kernel.image.Exactly(quantum); err != nil {
		return nil, err
	}
	q.kernel.cpu.room.Lock()
	defer q.kernel.cpu.room.Unlock()
	w2, image := q.kernel.slices("diagonal", src, dst)
	return q.kernel.cpu.backward(ctx, image, q.scale, quantum, func(lo, hi int) error { return q.sum(ctx, lo, hi, w2, quantum) }), nil
}
