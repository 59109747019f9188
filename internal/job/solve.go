package job

import (
	"context"
	"fmt"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Result is the outcome of a migration, by least squares or plain.
type Result struct {
	Image   []float32 // [image grid], on rank 0
	History solver.History
	Reason  solver.Reason

	x *dist.Vector // this rank's share: the image, or a stack of one for each class
}

// Solve runs the configured solver on the survey's traces d, which it may change; with
// resume it goes on from the newest checkpoint. When ctx ends or the time is up, the iteration
// under way is finished, a checkpoint is written and the error says so (exit
// status 75). The result's image is on rank 0 alone.
func (j *Job) Solve(ctx context.Context, op *Operator, d *dist.Vector, resume bool) (*Result, error) {
	cfg := j.Config.Solver
	defer j.collect() // the solver's vectors
	if j.Matches() {
		if resume {
			j.Report.Infof("solver.method = \"matching\" keeps no checkpoints: starting from the beginning")
		}
		return j.match(ctx, op, d)
	}
	f, err := j.formulate(ctx, op, d)
	if err != nil {
		return nil, err
	}
	defer f.close()
	m, err := j.method(f)
	if err != nil {
		return nil, status.Usage(err)
	}
	from := ""
	if resume {
		if from, err = j.restore(m, f.problem); err != nil {
			return nil, err
		}
	}
	// A signal ends the solve between iterations, not in the middle of one.
	whole := context.WithoutCancel(ctx)
	if from == "" {
		if resume {
			j.Report.Infof("no checkpoint in %s: starting from the beginning", j.Config.Checkpoint.Folder)
		}
		end := j.Report.Time("solver vectors")
		err := m.Init(whole, f.problem, f.start)
		end()
		if err != nil {
			return nil, failure(err)
		}
	} else {
		j.Report.Infof("resumed from %s after %s", from, readable.Count(m.State().Iteration, "iteration"))
	}
	state := m.State()
	live := j.Report.Solver("solver vectors", relative(state.History.Residual))
	defer live.End()
	stop := solver.Stop{
		Iterations: cfg.Iterations, Tolerance: cfg.Tolerance,
		Comm: j.World,
		Asked: func() solver.Reason {
			switch {
			case ctx.Err() != nil:
				return solver.StoppedSignal
			case j.timeIsUp():
				return solver.StoppedTime
			}
			return ""
		},
	}
	reason, err := solver.Run(whole, m, stop, j.observe(live, state.Iteration), j.saveNowAndThen(state.Iteration))
	if err != nil {
		return nil, failure(err)
	}
	if reason == solver.StoppedSignal || reason == solver.StoppedTime {
		path, err := j.save(m)
		if err != nil {
			return nil, err
		}
		why := "stopped"
		if reason == solver.StoppedTime {
			why = fmt.Sprintf("stopped by checkpoint.time_limit = %g minutes", j.Config.Checkpoint.TimeLimit)
		}
		err = status.Hint(status.Checkpoint(fmt.Errorf("%s after %d of %d iterations; checkpoint %s", why, m.State().Iteration, cfg.Iterations, path)),
			"the same command with --resume goes on")
		return nil, comm.Together(j.World, err) // all stop for the same reason
	}
	if err := j.intact(); err != nil {
		return nil, err
	}
	x, err := f.image(whole, m.X())
	if err != nil {
		return nil, err
	}
	stack, err := j.stack(x, 1/float64(len(parts(x))))
	if err != nil {
		return nil, err
	}
	image, err := j.wholeImage(stack)
	if err != nil {
		return nil, err
	}
	history := m.State().History
	if history.Gradient[0] == 0 && j.Root() && zero(image) {
		j.warnUnseen()
	}
	return &Result{Image: image, History: history, Reason: reason, x: x}, nil
}

// method is the solver of a formulation.
func (j *Job) method(f *formulation) (solver.Method, error) {
	o := j.SolverOptions()
	o.Preconditioner, o.Sparsity = f.m, f.sparsity
	return solver.For(f.problem, j.Config.Solver.Method, o)
}

// LoadStart reads the start model, where one is configured. A command that will
// solve calls it before anything is computed, so that a model that does not fit
// costs nothing.
func (j *Job) LoadStart() error {
	path := j.Config.Solver.Start
	if !path.IsSet() || j.start != nil {
		return nil
	}
	var err error
	j.start, err = j.ReadImage("start", path)
	return err
}

// startModel is the start model as a vector, nil where none is configured.
func (j *Job) startModel(op *Operator) (*dist.Vector, error) {
	if err := j.LoadStart(); err != nil || j.start == nil {
		return nil, err
	}
	return j.imageVector(op, j.start)
}

// ReadImage reads, on all ranks, an image that must lie on the job's grid. Its role
// names it in the provenance of what is made from it.
func (j *Job) ReadImage(role string, path config.Path) ([]float32, error) {
	image, digest, err := j.Ranks.ReadImage(role, path, j.Image)
	if err == nil {
		j.digests = append(j.digests, digest)
	}
	return image, err
}

// observe reports each iterate on the live line, but for the one that the run
// starts or resumes from.
func (j *Job) observe(live *progress.Solver, from int) solver.Observer {
	var before time.Duration
	return func(ctx context.Context, m solver.Method, r solver.Report) error {
		took := r.Elapsed - before
		before = r.Elapsed
		if r.Iteration == from {
			return nil
		}
		live.Iteration(progress.Iteration{
			N: r.Iteration, Limit: r.Of,
			Residual: r.Relative, Gradient: r.Gradient / m.State().History.Gradient[0], Adjoint: r.AdjointError,
			Took: took,
		})
		if r.AdjointWarning {
			j.Report.Warn(fmt.Sprintf("iteration %d: operator and adjoint differ by %.1e relative; the image may be wrong", r.Iteration, r.AdjointError))
		}
		if r.Replaced > 0 && r.HasDrift {
			j.Report.Infof("iteration %d: the residual had drifted by %.1e and was computed afresh", r.Iteration, r.Drift)
		}
		return nil
	}
}

// saveNowAndThen writes checkpoints by the clock and by the count.
func (j *Job) saveNowAndThen(from int) solver.Observer {
	cfg := j.Config.Checkpoint
	last := time.Now()
	return func(ctx context.Context, m solver.Method, r solver.Report) error {
		due := cfg.Minutes > 0 && time.Since(last).Minutes() >= cfg.Minutes ||
			cfg.Iterations > 0 && r.Iteration%cfg.Iterations == 0
		if r.Iteration == from || r.Iteration == r.Of {
			return nil
		}
		if cfg.Minutes > 0 && j.World.Size() > 1 { // clocks differ; rank 0's counts
			flag := uint64(0)
			if due && j.Root() {
				flag = 1
			}
			all, err := j.World.Host().Agree(flag)
			if err != nil {
				return err
			}
			due = all != 0
		}
		if !due {
			return nil
		}
		_, err := j.save(m)
		last = time.Now()
		return err
	}
}

// timeIsUp reports whether the run has lasted as long as it may.
func (j *Job) timeIsUp() bool {
	limit := j.Config.Checkpoint.TimeLimit
	return limit > 0 && time.Since(j.began).Minutes() >= limit
}

// relative is the last of a history of norms, relative to the first.
func relative(h []float64) float64 {
	if h[0] == 0 {
		return 0
	}
	return h[len(h)-1] / h[0]
}

// failure gives a solver's error its exit status.
func failure(err error) error {
	if status.Code(err) == status.Other {
		return status.Numerical(err)
	}
	return err
}
