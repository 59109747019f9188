package job

import (
	"context"
	"fmt"
	"time"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/formulation"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// alternation is a solve that takes turns between image and wavelet.
type alternation struct {
	*Job
	f    *formulation.Formulation
	x    *dist.Vector // the iterate; nil: zero
	h    solver.History
	live *progress.Solver
	ctx  context.Context // of the solve, which ends with it between iterations
	last solver.Reason
}

// alternate is Solve for solver.wavelet = "estimate": stretches of iterations for the image with
// the wavelet as it is, and between them updates of the wavelet with the image as it is. Both
// minimise the same functional, so that its value never rises. The history has one entry for each
// iteration; the update before an iteration is part of it.
func alternate(ctx context.Context, j *Job, d *dist.Vector) (*Result, error) {
	f, err := j.formulate(ctx, d)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a := &alternation{Job: j, f: f, x: f.Start, ctx: ctx}
	defer func() {
		if a.live != nil {
			a.live.End()
		}
	}()
	stretches := f.Stretches()
	for i, n := range stretches {
		if err := a.improve(n); err != nil {
			return nil, failure(err)
		}
		if a.last == solver.ConvergedResidual || i == len(stretches)-1 {
			break
		}
		a.collect()
		if err := a.update(i+1, len(stretches)-1); err != nil {
			return nil, failure(err)
		}
		a.collect()
	}
	r := &Result{History: a.h, Reason: a.last}
	if r.Wavelets, err = j.Signature.All(); err != nil {
		return nil, err
	}
	if len(r.Wavelets) == 1 {
		j.Plan = withWavelet(j.Plan, r.Wavelets[0])
	}
	if err := r.takeImage(f, a.x); err != nil {
		return nil, err
	}
	return r, j.finish(r, 1, a.h.Gradient[0] == 0)
}

// withWavelet is the plan whose survey has another wavelet, for the files that it is written to.
func withWavelet(p *plan.Plan, w survey.Wavelet) *plan.Plan {
	q, in, s := *p, *p.Inputs, *p.Survey
	s.Wavelet, in.Survey, q.Inputs = w, &s, &in
	return &q
}

// rise is how much, relative to itself, a norm may rise from the end of a stretch of iterations to
// the start of the next: the difference between a recurrence in single precision and the truth.
const rise = 1e-4

// improve does a stretch of iterations for the image.
func (a *alternation) improve(n int) error {
	whole := context.WithoutCancel(a.ctx)
	a.f.Options.Last, a.f.Options.Orthogonalize = n, min(a.f.Options.Orthogonalize, n)
	m, err := a.f.Method()
	if err != nil {
		return status.Usage(err)
	}
	end := a.Report.Time("solver vectors")
	err = m.Init(whole, a.f.Problem, a.x)
	end()
	if err != nil {
		return err
	}
	h := &m.State().History
	if a.live == nil {
		a.h = solver.History{Residual: h.Residual[:1:1], Total: h.Total[:1:1], Gradient: h.Gradient[:1:1]}
		a.live = a.Report.Solver("solver vectors", relative(h.Residual))
	} else if before := a.h.Total[len(a.h.Total)-1]; h.Total[0] > (1+rise)*before {
		return status.Numerical(fmt.Errorf("solver.wavelet: an update of the wavelet raised what is minimised from %g to %g", before, h.Total[0]))
	}
	stop := solver.Stop{
		Iterations: n, Tolerance: a.Config.Solver.Tolerance, Comm: a.World,
		Asked: func() solver.Reason {
			if a.ctx.Err() != nil {
				return solver.StoppedSignal
			}
			return ""
		},
	}
	a.last, err = solver.Run(whole, m, stop, a.observe(len(a.h.Residual)-1))
	if err != nil {
		return err
	}
	if a.last == solver.StoppedSignal {
		return fmt.Errorf("solver.wavelet = \"estimate\", which keeps no checkpoints, was interrupted: %w", context.Canceled)
	}
	if err := a.intact(); err != nil {
		return err
	}
	h = &m.State().History
	a.h.Residual = append(a.h.Residual, h.Residual[1:]...)
	a.h.Total = append(a.h.Total, h.Total[1:]...)
	a.h.Gradient = append(a.h.Gradient, h.Gradient[1:]...)
	a.x = m.X()
	return nil
}

// observe reports each iterate of a stretch on the live line, which so many iterations came before.
func (a *alternation) observe(done int) solver.Observer {
	var before time.Duration
	return func(_ context.Context, m *solver.Method, r solver.Report) error {
		took := r.Elapsed - before
		before = r.Elapsed
		if r.Iteration == 0 {
			return nil
		}
		gradient := 0.0
		if a.h.Gradient[0] > 0 {
			gradient = r.Gradient / a.h.Gradient[0]
		}
		residual := 0.0
		if a.h.Residual[0] > 0 {
			residual = r.Residual / a.h.Residual[0]
		}
		a.live.Iteration(progress.Iteration{
			N: done + r.Iteration, Limit: a.Config.Solver.Iterations,
			Residual: residual, Gradient: gradient, Adjoint: r.AdjointError, Took: took,
		})
		if r.AdjointWarning {
			a.Report.Warn(fmt.Sprintf("iteration %d: operator and adjoint differ by %.1e relative; the image may be wrong", done+r.Iteration, r.AdjointError))
		}
		return nil
	}
}

// update estimates the wavelet anew, for the i-th of so many times.
func (a *alternation) update(i, of int) error {
	at := len(a.h.Residual) - 1
	fit, err := a.f.UpdateWavelet(context.WithoutCancel(a.ctx), a.x, a.h.Residual[at], a.h.Total[at])
	if err != nil {
		return err
	}
	if fit == nil {
		a.Report.Infof("wavelet: update %d of %d changes nothing", i, of)
		return nil
	}
	a.Report.Infof("wavelet: update %d of %d, misfit %.4g of what it was", i, of, fit.Share())
	a.Report.Event("wavelet", "update", i, "of", of, "iteration", at, "misfit", fit.Share(), "scale", fit.Norm)
	return nil
}

// FitWavelet finds the wavelet with which an image on the job's grid predicts the weighted traces
// d best, with a ridge relative to the mean of the diagonal of the normal equations. The
// configuration has solver.wavelet = "estimate". It is collective.
func FitWavelet(ctx context.Context, j *Job, d *dist.Vector, image operator.Reader, ridge float64) (*wavelet.Fit, error) {
	x, err := j.below(image)
	if err != nil {
		return nil, err
	}
	s, err := j.setting(d)
	if err != nil {
		return nil, err
	}
	if d, err = s.WeightedData(); err != nil {
		return nil, err
	}
	fit, err := j.Signature.Fit(ctx, x, d, s.Weights, 0, ridge, 0)
	if err != nil {
		return nil, failure(err)
	}
	return fit, nil
}

// UseWavelets gives the operator of a configuration with solver.wavelet = "estimate" the wavelets
// that an image file holds. Without that it has the one from which they were found.
func UseWavelets(j *Job, path string) error {
	if j.Signature == nil {
		return nil
	}
	list, err := h5.ReadWavelets(path)
	if err != nil {
		return inputs.FileError(err)
	}
	if have, want := len(list), len(j.Signature.Wavelets()); have != want {
		return status.Input(fmt.Errorf("%s: /wavelet holds %s, the run has %d", path, readable.Count(have, "wavelet"), want))
	}
	if err := list[0].Fits(j.Survey.DT); err != nil {
		return status.Input(fmt.Errorf("%s: %w", path, err))
	}
	j.Signature.Use(list)
	return nil
}
