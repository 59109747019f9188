package job

import (
	"context"
	"fmt"
	"time"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/device"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Result is the outcome of a least-squares migration.
type Result struct {
	Image   []float32 // [image grid]
	History solver.History
	Reason  solver.Reason
}

// Solve runs the configured solver on the survey's traces; with resume it goes on
// from the newest checkpoint. When ctx ends, the iteration under way is finished,
// a checkpoint is written and the error says so (exit status 75).
func (j *Job) Solve(ctx context.Context, op *Operator, resume bool) (*Result, error) {
	cfg := j.Config.Solver
	d, err := j.Data(op)
	if err != nil {
		return nil, err
	}
	j.Survey.Data = nil // the vector has them now
	start, err := j.startModel(op)
	if err != nil {
		return nil, err
	}
	m, err := solver.New(cfg.Method, solver.Options{
		TrueResidual:  cfg.TrueResidualEvery,
		Orthogonalize: j.keptGradients(),
		Sparsity:      cfg.Sparsity,
		Restart:       true,
	})
	if err != nil {
		return nil, status.Usage(err)
	}
	a, data, err := solver.Damp(op, d, cfg.Damping)
	if err != nil {
		return nil, err
	}
	live := j.report.Solver("solver vectors", 1)
	defer live.End()
	from := ""
	if resume {
		if from, err = j.restore(m, a, data); err != nil {
			return nil, err
		}
	}
	// A signal ends the solve between iterations, not in the middle of one.
	whole := context.WithoutCancel(ctx)
	if from == "" {
		if resume {
			j.report.Infof("no checkpoint in %s: starting from the beginning", j.Config.Checkpoint.Folder)
		}
		if err := m.Init(whole, a, data, start); err != nil {
			return nil, failure(err)
		}
	} else {
		j.report.Infof("resumed from %s after %d iterations", from, m.State().Iteration)
	}
	stop := solver.Stop{
		Iterations: cfg.Iterations, Tolerance: cfg.Tolerance,
		Flags: func() uint64 {
			if ctx.Err() != nil {
				return solver.FlagSignal
			}
			return 0
		},
	}
	reason, err := solver.Run(whole, m, stop, j.observe(live), j.saveNowAndThen())
	if err != nil {
		return nil, failure(err)
	}
	if reason == solver.StoppedSignal {
		path, err := j.save(m)
		if err != nil {
			return nil, err
		}
		return nil, status.Hint(status.Checkpoint(fmt.Errorf("stopped after %d of %d iterations; checkpoint %s", m.State().Iteration, cfg.Iterations, path)),
			"the same command with --resume goes on")
	}
	image, err := j.download(m.X())
	if err != nil {
		return nil, err
	}
	return &Result{image, m.State().History, reason}, nil
}

// keptGradients is how many gradients the solver has use for.
func (j *Job) keptGradients() int {
	cfg := j.Config.Solver
	if cfg.Method != "cgls" {
		return 0
	}
	return min(cfg.Orthogonalize, cfg.Iterations)
}

// startModel reads the start image, nil where none is configured.
func (j *Job) startModel(op *Operator) (*dist.Vector, error) {
	path := j.Config.Solver.Start
	if !path.IsSet() {
		return nil, nil
	}
	image, err := j.ReadImage(path.File)
	if err != nil {
		return nil, err
	}
	v, err := dist.NewVector(j.Device, op.Domain())
	if err != nil {
		return nil, err
	}
	return v, device.Upload(v.Buf, image)
}

// ReadImage reads an image that must lie on the job's grid.
func (j *Job) ReadImage(path string) ([]float32, error) {
	image, err := h5.ReadImage(path)
	if err != nil {
		return nil, FileError(err)
	}
	if !image.Grid.Equal(j.Image) {
		return nil, status.Input(fmt.Errorf("%s: the image is on %s, this run's grid is %s", path, extent(image.Grid), extent(j.Image)))
	}
	return image.Data, nil
}

// observe reports each iterate on the live line.
func (j *Job) observe(live *progress.Solver) solver.Observer {
	var before time.Duration
	var gradient float64
	return func(ctx context.Context, m solver.Method, r solver.Report) error {
		if r.Iteration == 0 {
			gradient, before = r.Gradient, r.Elapsed
			return nil
		}
		live.Iteration(progress.Iteration{
			N: r.Iteration, Limit: r.Of,
			Residual: r.Relative, Gradient: r.Gradient / gradient, Adjoint: r.AdjointError,
			Took: r.Elapsed - before,
		})
		before = r.Elapsed
		if r.AdjointWarning {
			j.report.Warn(fmt.Sprintf("iteration %d: operator and adjoint differ by %.1e relative; the image may be wrong", r.Iteration, r.AdjointError))
		}
		if r.Replaced > 0 && r.HasDrift {
			j.report.Infof("iteration %d: the residual had drifted by %.1e and was computed afresh", r.Iteration, r.Drift)
		}
		return nil
	}
}

// saveNowAndThen writes checkpoints by the clock and by the count.
func (j *Job) saveNowAndThen() solver.Observer {
	cfg := j.Config.Checkpoint
	last := time.Now()
	return func(ctx context.Context, m solver.Method, r solver.Report) error {
		due := cfg.Minutes > 0 && time.Since(last).Minutes() >= cfg.Minutes ||
			cfg.Iterations > 0 && r.Iteration > 0 && r.Iteration%cfg.Iterations == 0
		if !due || r.Iteration == r.Of {
			return nil
		}
		_, err := j.save(m)
		last = time.Now()
		return err
	}
}

// failure gives a solver's error its exit status.
func failure(err error) error {
	if status.Code(err) == status.Other {
		return status.Numerical(err)
	}
	return err
}
