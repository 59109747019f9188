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
// [trace][2][nt].
type squared struct {
	*kernel
	norms, inner taps
}

var _ dist.Pieced = (*squared)(nil)

// Squared implements kirchhoff.Engine, for the first image.
func (e *Engine) Squared() dist.Kernel { return &squared{kernel: e.kernels[0]} }

// Forward is an error.
func (q *squared) Forward(context.Context, device.Buf, device.Buf) error {
	return kirchhoff.ErrSquaredForward
}

// Adjoint adds the diagonal to dst.
func (q *squared) Adjoint(ctx context.Context, dst, src device.Buf) error {
	q.room.Lock()
	defer q.room.Unlock()
	defer q.dev.Mark(dist.Backward.String())()
	w, err := q.application(dst, src, 0, true)
	if err != nil {
		return err
	}
	if err := w.Run(ctx); err != nil {
		return err
	}
	return q.context.Err()
}

// application prepares one: a whole one, or one in pieces.
func (q *squared) application(image, w2 device.Buf, quantum float64, whole bool) (pieces.Work, error) {
	if err := q.check("diagonal", w2, image); err != nil {
		return pieces.Work{}, err
	}
	if q.layout.Bands > 1 {
		return pieces.Work{}, kirchhoff.ErrSquaredBands
	}
	o := q.kept
	return q.backward(image, 2, quantum, whole, func(lo, hi int, sums device.Buf) (int, error) {
		o.migrate(squaredKernel, lo, hi, sums, quantum)
		return o.adjointParts, nil
	}), q.correlate(w2)
}

// correlate sets the rows from squared weights.
func (q *squared) correlate(w2 device.Buf) error {
	if q.norms.count == 0 {
		module, err := q.dev.Build(SquaredProgram(q.layout))
		if err != nil {
			return err
		}
		if q.functions[squaredKernel], err = module.Function("adjoint"); err != nil {
			return err
		}
		norms, inner := q.plan.Squares()
		q.norms = taps{words(&q.buffers, norms.Taps), len(norms.Taps), norms.First}
		q.inner = taps{words(&q.buffers, inner.Taps), len(inner.Taps), inner.First}
		if q.err != nil {
			return q.err
		}
	}
	q.ready = nil
	if err := q.dev.Zero(q.rows); err != nil {
		return err
	}
	x, list := q.kept.of(w2, q.nt, 0, q.kept.count)
	for at, t := range map[int]taps{0: q.norms, q.nt: q.inner} {
		to := q.rows.Slice(at, q.rows.Len()-at)
		q.filterRows("square", segment, to, 2*q.nt, x, q.nt, q.kept.count, t, list)
	}
	return nil
}

// Peak implements dist.Pieced. Each weight counts twice, so it is the square of the
// operator's peak.
func (q *squared) Peak() float64 { return q.plan.Peak * q.plan.Peak }

// Bound implements dist.Pieced with the numbers of the cpu engine: for each shot the sum of
// the largest squared norms of its traces.
func (q *squared) Bound(d dist.Direction, src device.Buf) ([]float64, error) {
	if d == dist.Forward {
		return nil, kirchhoff.ErrSquaredForward
	}
	q.room.Lock()
	defer q.room.Unlock()
	if err := q.mine("bound", src); err != nil {
		return nil, err
	}
	if err := q.correlate(src); err != nil {
		return nil, err
	}
	return q.largest(1)
}

// Begin implements dist.Pieced.
func (q *squared) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	if d == dist.Forward {
		return nil, kirchhoff.ErrSquaredForward
	}
	if err := q.Exactly(quantum); err != nil {
		return nil, err
	}
	q.room.Lock()
	defer q.room.Unlock()
	w, err := q.application(dst, src, quantum, false)
	if err != nil {
		return nil, err
	}
	return q.begin(ctx, d, w)
}
