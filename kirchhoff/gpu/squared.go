package gpu

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
)

// squaredKernel is the adjoint of SquaredProgram, which is compiled when it is first used.
const squaredKernel = "squared"

// squared is the operator with its elements squared. It takes turns with the operator's own
// applications. It uses the same lists, tables and sums, and rows for E and F,
// [trace][band][2][pitch].
type squared struct {
	kernel  *kernel
	filters *squareFilters
}

// squareFilters make E and F, the same for all images, once they are needed.
type squareFilters struct{ norms, inner []taps } // by band

var _ dist.Pieced = (*squared)(nil)

// Squared implements kirchhoff.Engine.
func (e *Engine) Squared() (out []dist.Kernel) {
	of := &squareFilters{}
	for _, k := range e.kernels {
		out = append(out, &squared{k, of})
	}
	return out
}

// Forward is an error.
func (q *squared) Forward(context.Context, device.Buf, device.Buf) error {
	return kirchhoff.ErrSquaredForward
}

// Adjoint adds the diagonal to dst.
func (q *squared) Adjoint(ctx context.Context, dst, src device.Buf) error {
	q.kernel.engine.room.Lock()
	defer q.kernel.engine.room.Unlock()
	defer q.kernel.engine.buffers.dev.Clock.Main(device.MarkSquared)()
	w, err := q.prepare(ctx, dst, src, 0, true)
	if err != nil {
		return err
	}
	if err := w.Run(ctx); err != nil {
		return err
	}
	return q.kernel.engine.context.Err()
}

// prepare prepares an application: a whole one, or one in pieces.
func (q *squared) prepare(ctx context.Context, image, w2 device.Buf, quantum float64, whole bool) (pieces.Work, error) {
	by, err := q.pass()
	if err != nil {
		return pieces.Work{}, err
	}
	return q.kernel.imageWork(ctx, by, image, w2, quantum, whole, false)
}

// pass is the pass of the squared operator, from squared weights. The first call compiles its program.
func (q *squared) pass() (pass, error) {
	by := pass{squaredKernel, q.correlate, 1, 2, max(1, q.kernel.engine.geometry.layout.Bands)}
	if q.filters.norms != nil {
		return by, nil
	}
	module, err := q.kernel.engine.buffers.dev.Build(SquaredProgram(q.kernel.engine.geometry.layout))
	if err != nil {
		return by, err
	}
	if q.kernel.engine.functions[squaredKernel], err = module.Function("adjoint"); err != nil {
		return by, err
	}
	norms, inner := q.kernel.engine.geometry.plan.Squares()
	for band := range norms {
		q.filters.norms = append(q.filters.norms, newTaps(&q.kernel.engine.buffers, norms[band]))
		q.filters.inner = append(q.filters.inner, newTaps(&q.kernel.engine.buffers, inner[band]))
	}
	return by, q.kernel.engine.buffers.err
}

// correlate sets the first rows from the squared weights of traces lo to hi, by their numbers
// in of.
func (q *squared) correlate(w2 device.Buf, of numbered, lo, hi int) {
	x, list := of.of(w2, q.kernel.engine.nt, lo, hi)
	for band := range q.filters.norms {
		first := band * 2 * q.kernel.engine.pitch
		for at, t := range map[int]taps{first: q.filters.norms[band], first + q.kernel.engine.pitch: q.filters.inner[band]} {
			q.kernel.engine.filterRows("square", segment, q.kernel.engine.rows.Slice(at, q.kernel.engine.rows.Len()-at), int(q.kernel.engine.rowLen()), x, q.kernel.engine.nt, hi-lo, t, list)
		}
	}
}

// Peak implements dist.Pieced. Each weight counts twice, so it is the square of the
// operator's peak.
func (q *squared) Peak() float64 {
	return q.kernel.engine.geometry.plan.Peak * q.kernel.engine.geometry.plan.Peak
}

// Bound implements dist.Pieced with the numbers of the cpu engine: for each shot the sum of
// the largest squared norms of its traces.
func (q *squared) Bound(d dist.Direction, src device.Buf) ([]float64, error) {
	if d == dist.Forward {
		return nil, kirchhoff.ErrSquaredForward
	}
	q.kernel.engine.room.Lock()
	defer q.kernel.engine.room.Unlock()
	defer q.kernel.engine.buffers.dev.Clock.Main(device.MarkSquared)()
	if err := q.kernel.engine.mine("bound", src); err != nil {
		return nil, err
	}
	by, err := q.pass()
	if err != nil {
		return nil, err
	}
	q.kernel.engine.ready = nil
	return q.kernel.largest(by, src)
}

// Begin implements dist.Pieced.
func (q *squared) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	if d == dist.Forward {
		return nil, kirchhoff.ErrSquaredForward
	}
	if err := q.kernel.image.Exactly(quantum); err != nil {
		return nil, err
	}
	q.kernel.engine.room.Lock()
	defer q.kernel.engine.room.Unlock()
	defer q.kernel.engine.buffers.dev.Clock.Main(device.MarkSquared)()
	w, err := q.prepare(ctx, dst, src, quantum, false)
	if err != nil {
		return nil, err
	}
	return q.kernel.engine.begin(ctx, device.MarkSquared, w), q.kernel.engine.context.Err()
}
