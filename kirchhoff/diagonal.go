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

var (
	// ErrSquaredForward is the error of the forward of Engine.Squared.
	ErrSquaredForward = errors.New("kirchhoff: the squared operator has an adjoint only")
	// ErrSquaredBands is that of its adjoint with anti-aliasing.
	ErrSquaredBands = errors.New("kirchhoff: the squared operator is not known with anti-aliasing (kirchhoff.antialias)")
)

// products returns the products h[j] h[j−lag] of a response's samples, indexed by j.
func (r response) products(lag int) response {
	g := make([]float64, len(r.h))
	for j := lag; j < len(g); j++ {
		g[j] = r.h[j] * r.h[j-lag]
	}
	return response{g, r.zero, r.step}
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
	if r.bands.n > 1 {
		return ErrSquaredBands
	}
	w2, image := r.slices("diagonal", src, dst)
	squares, neighbours := r.response.products(0), r.response.products(1)
	e, f := make([]float64, r.inner.nt), make([]float64, r.inner.nt)
	for trace := range r.p.NumTraces() {
		if err := ctx.Err(); err != nil {
			return err
		}
		squares.correlate(e, r.row(w2, trace))
		neighbours.correlate(f, r.row(w2, trace))
		for i := range image {
			if k, w, a := r.at(trace, r.first+i); k >= 0 {
				early, late := r.inner.weights(w)
				image[i] += a * a * (early*early*e[k] + late*late*e[k+1] + 2*late*early*f[k])
			}
		}
	}
	return nil
}

// squared is the squared operator of a kernel on the cpu. For each trace it makes what
// the kernels in package simd need: correlations of w² with the squares of the wavelet
// and with the products of its neighbouring samples.
type squared struct {
	*kernel
	norms, inner []*Filter   // by phase
	ends         [][2]phases // by worker
	scale        []float32   // Scale²; nil for 1
}

var _ dist.Pieced = (*squared)(nil)

// Squares are the filters that make E and F (see Engine.Squared) of the squared weights of a
// trace, by phase.
func (l *Plan) Squares() (norms, inner []*Filter) {
	r := newResponse(&l.Problem)
	_, norms = r.products(0).filters(l.Problem.NT)
	_, inner = r.products(1).filters(l.Problem.NT)
	return norms, inner
}

func (e *cpu) Squared() (out []dist.Kernel) {
	if e.Problem.Elsewhere != nil {
		return nil
	}
	var q squared // what the images share
	q.norms, q.inner = e.Squares()
	for range e.threads {
		q.ends = append(q.ends, [2]phases{newPhases(q.norms, &memory{}, e.Problem.NT), newPhases(q.inner, &memory{}, e.Problem.NT)})
	}
	if e.Scale != nil {
		q.scale = make([]float32, len(e.Scale))
		for i, v := range e.Scale {
			q.scale[i] = v * v
		}
	}
	for _, k := range e.kernels {
		of := q
		of.kernel = k
		out = append(out, &of)
	}
	return out
}

// correlations sets e and f, of a kernel's samples, from the squared weights of a trace, and
// returns the range of samples over which they do not change.
func (q *squared) correlations(worker int, e, f, w2 []float32) (flat [2]int32) {
	q.ends[worker][0].correlate(q.isa, q.norms, e, w2)
	q.ends[worker][1].correlate(q.isa, q.inner, f, w2)
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
	nt := q.Problem.NT
	for i := nt; i < len(w2); i += nt {
		if !slices.Equal(w2[i:i+nt], w2[:nt]) {
			return false
		}
	}
	return true
}

// largest returns the largest squared norm of each trace.
func (q *squared) largest(ctx context.Context, w2 []float32) ([]float64, error) {
	nt := q.Plan.inner.nt
	out := make([]float64, q.Own.NumTraces())
	return out, workers.Each(ctx, q.threads, len(out), func(worker, trace int) error {
		e, f := make([]float32, nt), make([]float32, nt)
		q.correlations(worker, e, f, q.row(w2, trace))
		out[trace] = q.isa.Largest(e)
		return nil
	})
}

// squares makes what the kernels need of a unit's traces from the squared weights of all
// traces.
func (q *squared) squares(ctx context.Context, o *lists, w2 []float32, m *memory) (*simd.Squares, error) {
	nt, stride, n := q.Plan.inner.nt, o.op.Stride, len(o.rows.S)/o.op.Pitch()
	s := &simd.Squares{Shared: q.alike(w2)}
	if s.Shared {
		n = min(1, n)
	}
	s.Norms, s.Inner, s.Flat = alloc[float32](m, n*stride), alloc[float32](m, n*stride), alloc[int32](m, 2*n)
	if m.err != nil {
		return nil, m.err
	}
	return s, workers.Each(ctx, q.threads, n, func(worker, trace int) error {
		at := trace * stride
		flat := q.correlations(worker, s.Norms.S[at:at+nt], s.Inner.S[at:at+nt], q.row(w2, int(o.trace[trace])))
		copy(s.Flat.S[2*trace:], flat[:])
		return nil
	})
}

// sum sets the sums of all tiles at its first call.
func (q *squared) sum(ctx context.Context, lo, hi int, w2 []float32, quantum float64) error {
	if q.bands.n > 1 {
		return ErrSquaredBands
	}
	return q.sumTiles(ctx, lo, hi, true, func(o *lists, lo, hi int) error {
		var m memory
		defer m.free()
		s, err := q.squares(ctx, o, w2, &m)
		if err != nil {
			return err
		}
		return q.eachBox(ctx, lo, hi, func(worker, box, lo, hi int) {
			o.blocks(ctx, worker, box, func(op *simd.Operator) {
				first := q.Boxes[box].First
				q.isa.Diagonal(op, q.image64.S[first*simd.TileSize:], s, lo-first, hi-first, quantum)
			})
		})
	})
}

// Forward is an error.
func (q *squared) Forward(context.Context, device.Buf, device.Buf) error { return ErrSquaredForward }

// Adjoint adds the diagonal to dst.
func (q *squared) Adjoint(ctx context.Context, dst, src device.Buf) error {
	w2, image := q.slices("diagonal", src, dst)
	q.room.Lock()
	defer q.room.Unlock()
	if err := q.sum(ctx, 0, q.Tiles, w2, 0); err != nil {
		return err
	}
	return q.unloadSums(ctx, image, q.scale, 0, q.Tiles)
}

// Peak implements dist.Pieced. Each weight counts twice, so it is the square of the
// operator's peak.
func (q *squared) Peak() float64 { return q.Plan.Peak * q.Plan.Peak }

// Bound implements dist.Pieced for squared weights. It returns the sum of the largest
// squared norms of each shot's traces.
func (q *squared) Bound(d dist.Direction, src device.Buf) ([]float64, error) {
	if d == dist.Forward {
		return nil, ErrSquaredForward
	}
	q.room.Lock()
	defer q.room.Unlock()
	largest, err := q.largest(context.Background(), device.Slice[float32](src))
	return q.Shots(largest), err
}

// Begin implements dist.Pieced.
func (q *squared) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	if d == dist.Forward {
		return nil, ErrSquaredForward
	}
	if err := q.Exactly(quantum); err != nil {
		return nil, err
	}
	q.room.Lock()
	defer q.room.Unlock()
	w2, image := q.slices("diagonal", src, dst)
	return q.backward(ctx, image, q.scale, quantum, func(lo, hi int) error { return q.sum(ctx, lo, hi, w2, quantum) }), nil
}
