package job

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// With solver.preconditioner the solver looks for x, the image being P x, with the
// diagonal P = √((1 + ε) max D / (D + ε max D)) and D the diagonal of what is minimised:
// S AᵀW²A S, exactly, and the squares of the rows below it, of derivatives at points
// away from the image's edges. P is 1 where the image is lit best and 1/√ε at most.

// leastLight is ε: points lit by less hardly gain from P, for what they would gain is
// mostly noise.
const leastLight = 0.01

// precondition changes variables.
func (j *Job) precondition(ctx context.Context, op *Operator, f *formulation) error {
	switch j.Config.Solver.Preconditioner {
	case "none":
		return nil
	case "two-level":
		return j.addTwoLevel(ctx, f)
	}
	defer j.Report.Time("preconditioner")()
	d, err := j.diagonal(ctx, op)
	if err != nil {
		return err
	}
	p, err := j.scaling(d, f.rows)
	if err != nil {
		return err
	}
	if f.start != nil {
		if err := invert(d, p); err != nil {
			return err
		}
		if err := dist.Multiply(f.start, d); err != nil {
			return err
		}
	}
	d.Free()
	return f.change(p)
}

// diagonal is that of S AᵀW²A S.
func (j *Job) diagonal(ctx context.Context, op *Operator) (*dist.Vector, error) {
	k := op.Engine.Squared()
	if k == nil {
		return nil, status.Usage(fmt.Errorf("solver.preconditioner: kirchhoff.engine = %q does not know the diagonal of its operator", op.Engine.Name()))
	}
	o := j.lift()
	o.Choose = nil
	squared, err := dist.LiftWith(k, op.Domain(), op.Range(), o)
	if err := comm.Together(j.World, err); err != nil {
		return nil, err
	}
	w2, err := j.squaredWeights(op.Range())
	if err != nil {
		return nil, err
	}
	defer w2.Free()
	d, err := dist.NewVector(j.Device, op.Domain())
	if err != nil {
		return nil, err
	}
	if err := squared.ApplyAdjoint(ctx, d, w2); err != nil {
		return nil, err
	}
	s, err := j.below(d.Layout)
	for range 2 {
		if err != nil || s == nil {
			return d, err
		}
		err = dist.Multiply(d, s)
	}
	return d, err
}

// squaredWeights are the squares of the data's weights.
func (j *Job) squaredWeights(l *dist.Layout) (*dist.Vector, error) {
	w, err := j.weights(l)
	if err != nil {
		return nil, err
	}
	if w != nil {
		return product(w, w)
	}
	w2, err := dist.NewVector(j.Device, l)
	if err != nil {
		return nil, err
	}
	return w2, each(w2, w2, func(float64) float64 { return 1 })
}

// scaling is P for the diagonal d of the data's part and a constant for that of the
// rows below it.
func (j *Job) scaling(d *dist.Vector, rows float64) (*dist.Vector, error) {
	most := []float64{0}
	p, err := d.Clone()
	if err == nil {
		err = each(p, d, func(v float64) float64 {
			most[0] = max(most[0], v+rows) // NaN stays
			return 0
		})
	}
	if err := comm.Together(j.World, err); err != nil {
		return nil, err
	}
	if err := j.blocks.Host().AllReduce(most, comm.Max); err != nil {
		return nil, err
	}
	top := most[0]
	if math.IsNaN(top) || math.IsInf(top, 0) {
		return nil, status.Numerical(fmt.Errorf("solver.preconditioner: the diagonal of the operator is not finite (%g)", top))
	}
	return p, each(p, d, func(v float64) float64 {
		if top == 0 {
			return 1
		}
		return math.Sqrt((1 + leastLight) * top / (v + rows + leastLight*top))
	})
}

// invert sets dst to 1/x.
func invert(dst, x *dist.Vector) error { return each(dst, x, func(v float64) float64 { return 1 / v }) }

// each sets every element of dst to f of that of src, in order.
func each(dst, src *dist.Vector, f func(float64) float64) error {
	const most = 1 << 16 // elements on the host at a time
	for lo := 0; lo < src.Layout.N; lo += most {
		n := min(most, src.Layout.N-lo)
		x := make([]float64, n)
		if err := device.Download(x, src.Buf.Slice(lo, n)); err != nil {
			return err
		}
		for i, v := range x {
			x[i] = f(v)
		}
		if err := device.Upload(dst.Buf.Slice(lo, n), x); err != nil {
			return err
		}
	}
	return nil
}

// rowsDiagonal is what the row r R of a kind of regularization, of weight r, adds to
// the diagonal away from the image's edges.
func rowsDiagonal(kind string, dim int, r float64) float64 {
	n := float64(dim)
	switch kind {
	case "gradient":
		return 2 * n * r * r
	case "laplacian":
		return (4*n*n + 2*n) * r * r
	}
	return r * r // along layers: the squares of unit vectors' components
}
