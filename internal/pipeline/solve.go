package pipeline

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/formulation"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Result is the outcome of a migration, by least squares or plain. Each rank has its share.
type Result struct {
	Image   *dist.Vector // for several images by class, their sum
	Classes *dist.Vector // the stack of these, or Image
	Solved  *dist.Vector // what the operator maps to the traces: Classes, or with solver.band what these are made of
	Light   *dist.Vector // of these classes: how strongly each lights each point, over the most; nil: not known
	Agreed  float64      // with image.halves, how well the images of both halves agree
	History solver.History
	Reason  solver.Reason
}

// Solve runs the configured solver on the survey's traces d, which it may change; with
// resume it goes on from the newest checkpoint. When ctx ends or the time is up, the iteration
// under way is finished, a checkpoint is written and the error says so (exit
// status 75).
func (j *Job) Solve(ctx context.Context, d *dist.Vector, resume bool) (*Result, error) {
	defer j.collect()
	if err := j.LoadStart(); err != nil {
		return nil, err
	}
	f, err := j.op.formulate(ctx, d, j.start)
	if err != nil {
		return nil, err
	}
	if j.plan.Config.Solver.Matches() {
		if resume {
			j.Ranks.Report.Infof("solver.method = \"matching\" keeps no checkpoints: starting from the beginning")
		}
		return j.op.solveByMatching(ctx, f)
	}
	j.collect()
	s := &solving{op: j.op, f: f, store: j.checkpoints(), began: j.began, saved: time.Now(), collect: j.collect}
	return s.solve(ctx, resume)
}

// solve begins, iterates and makes the images of the solution.
func (s *solving) solve(ctx context.Context, resume bool) (*Result, error) {
	var err error
	if s.method, err = s.f.Method(); err != nil {
		return nil, status.Usage(err)
	}
	// A signal ends the solve between iterations, not in the middle of one.
	whole := context.WithoutCancel(ctx)
	if err := s.beginOrRestore(whole, s.f, resume); err != nil {
		return nil, err
	}
	reason, err := s.iterate(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.op.checkIntact(); err != nil {
		return nil, err
	}
	r := &Result{History: s.method.State().History, Reason: reason}
	if err := r.takeImage(s.f, s.method.X()); err != nil {
		return nil, err
	}
	warnOfHalvesApart(s.op.process.Ranks, r.History.Agreement)
	if err := s.op.weighClasses(whole, r, false); err != nil {
		return nil, err
	}
	return r, s.op.finishImage(r, 1/float64(max(1, s.op.plan.Classes.N)), r.History.Gradient[0] == 0)
}

// takeImage sets the images of a solution x.
func (r *Result) takeImage(f *formulation.Formulation, x *dist.Vector) (err error) {
	if r.Classes, err = f.ImageOf(x); err != nil {
		return err
	}
	if r.Solved = r.Classes; f.Setting.Band != nil {
		r.Solved, err = f.ReflectivityOf(x)
	}
	return err
}

// collect frees the vectors of finished work. The next step allocates as much, and the collector,
// which runs beside the program, might come too late.
func (j *Job) collect() {
	if j.Alone {
		runtime.GC()
	}
}

// finishImage completes the image of a result. For several images by class it is their sum
// times a factor, unless it is there. If empty is set, it warns of an image that is zero
// everywhere.
func (op *Operator) finishImage(r *Result, factor float64, empty bool) (err error) {
	if r.Image == nil {
		r.Image, err = formulation.Stack(r.Classes, factor)
	}
	if err == nil && op.plan.Classes.Halves() {
		err = op.judgeHalves(r)
	}
	if err != nil || !empty {
		return err
	}
	size, err := dist.Norm(r.Image)
	if err == nil && op.process.Ranks.Root() && size == 0 {
		op.warnUnseen()
	}
	return err
}

// solving is a solver under way.
type solving struct {
	op      *Operator
	method  *solver.Method
	f       *formulation.Formulation
	store   *Checkpoints
	began   time.Time // the run
	saved   time.Time // when the last checkpoint was written
	collect func()    // gives memory back
}

// beginOrRestore starts the solver, or puts it where the newest checkpoint left it.
func (s *solving) beginOrRestore(ctx context.Context, f *formulation.Formulation, resume bool) error {
	if resume {
		weights := s.savedWeights()
		from, err := s.store.Restore(s.method, f.Problem, weights)
		if err != nil {
			return err
		}
		if from != "" {
			if s.method.State().Restarted > 0 {
				if err := s.restoreWeights(weights); err != nil {
					return err
				}
			}
			s.op.process.Ranks.Report.Infof("resumed from %s after %s", from, readable.Count(s.method.State().Iteration, "iteration"))
			return nil
		}
		s.op.process.Ranks.Report.Infof("no checkpoint in %s: starting from the beginning", s.op.plan.Config.Checkpoint.Folder)
	}
	defer s.op.process.Ranks.Report.Time("solver vectors")()
	return numericalFailure(s.op.process.Again(func(bool) error { return s.method.Init(ctx, f.Problem, f.Start) }))
}

// iterate iterates until the solver is done.
func (s *solving) iterate(ctx context.Context) (solver.Reason, error) {
	state, cfg := s.method.State(), s.op.plan.Config.Solver
	live := s.op.process.Ranks.Report.Solver("solver vectors", relativeNorm(state.History.Residual))
	defer live.End()
	stop := solver.Stop{
		Iterations: cfg.Iterations, Tolerance: cfg.Tolerance, Comm: s.op.process.Ranks.World,
		Asked: func() solver.Reason {
			if ctx.Err() != nil {
				return solver.StoppedSignal
			}
			if limit := s.op.plan.Config.Checkpoint.TimeLimit; limit > 0 && time.Since(s.began).Minutes() >= limit {
				return solver.StoppedTime
			}
			if halvesGrowApart(state) {
				return solver.StoppedAgreement
			}
			return ""
		},
	}
	if s.op.share.Kept(s.op.plan) {
		stop.Again = s.op.process.Again
	}
	whole := context.WithoutCancel(ctx)
	iterate := func(until int) (solver.Reason, error) {
		first := stop
		first.Iterations = until
		from := s.method.State().Iteration
		return solver.Run(whole, s.method, first, s.reportIterates(live, from), s.saveAtIntervals(from))
	}
	reason, err := solver.StoppedIterations, error(nil)
	if Coherent(s.op.plan.Config.Data, s.op.plan.Need) && state.Restarted == 0 && stop.Iterations > FirstIterations {
		if reason, err = iterate(FirstIterations); err == nil && reason == solver.StoppedIterations {
			if err = s.findCoherence(whole, s.method.X()); err == nil {
				err = s.restart(whole)
			}
		}
	}
	if err == nil && reason == solver.StoppedIterations {
		reason, err = iterate(stop.Iterations)
	}
	if err != nil {
		return "", numericalFailure(err)
	}
	if reason != solver.StoppedSignal && reason != solver.StoppedTime {
		return reason, nil
	}
	path, err := s.save()
	if err != nil {
		return "", err
	}
	why := "stopped"
	if reason == solver.StoppedTime {
		why = fmt.Sprintf("stopped by checkpoint.time_limit = %g minutes", s.op.plan.Config.Checkpoint.TimeLimit)
	}
	err = status.Hint(status.Checkpoint(fmt.Errorf("%s after %d of %d iterations; checkpoint %s", why, s.method.State().Iteration, stop.Iterations, path)),
		"the same command with --resume continues")
	return "", comm.Together(s.op.process.Ranks.World, err) // all stop for the same reason
}

// restart begins the iterations again, after the weights of the data have changed.
func (s *solving) restart(ctx context.Context) error {
	if !s.op.share.Kept(s.op.plan) {
		return s.method.Restart(ctx)
	}
	return s.op.process.Again(func(again bool) (err error) {
		if again {
			err = s.method.Back()
		} else {
			err = s.method.Keep()
		}
		if err != nil {
			return err
		}
		return s.method.Restart(ctx)
	})
}

// save writes a checkpoint, unless tables have changed.
func (s *solving) save() (path string, err error) {
	if err := s.op.checkIntact(); err != nil {
		return "", err
	}
	err = s.op.process.Again(func(bool) error {
		var weights map[string]*dist.Vector
		if s.method.State().Restarted > 0 {
			weights = s.savedWeights()
		}
		path, err = s.store.Save(s.method, weights)
		return err
	})
	return path, err
}

// LoadStart opens the start model, if one is configured. A command that will
// solve calls it before anything is computed, so that a start model that does
// not fit is found at no cost.
func (j *Job) LoadStart() error {
	path := j.plan.Config.Solver.Start
	if !path.IsSet() || j.start != nil {
		return nil
	}
	var err error
	j.start, err = j.OpenImage("start", path)
	return err
}

// OpenImage opens, on all ranks and until Close, an image that must lie on the job's grid.
// Its role names it in the provenance of the outputs.
func (j *Job) OpenImage(role string, path config.Path) (*h5.ImageReader, error) {
	image, digest, err := j.Ranks.OpenImage(role, path, j.plan.Geometry.Image)
	if err == nil {
		if err = j.checkConvention(path.File); err != nil {
			image.Close()
			return nil, err
		}
		j.digests, j.files = append(j.digests, digest), append(j.files, image)
	}
	return image, err
}

// checkConvention makes sure, on all ranks, that the operator can take the values of an image file.
func (j *Job) checkConvention(path string) error {
	return j.Ranks.AtRoot(func() error {
		of, err := ConventionOf(path, j.plan.Geometry.Image.Dim())
		if err != nil {
			return err
		}
		warning, err := of.CheckImage(path, Convention{Filter: j.plan.Config.Kirchhoff.WaveletFilter})
		if warning != "" {
			j.Ranks.Report.Warn(warning)
		}
		return err
	})
}

// reportIterates reports each iterate on the live line, except the one from which the run starts
// or resumes.
func (s *solving) reportIterates(live *progress.Solver, from int) solver.Observer {
	var before time.Duration
	return func(ctx context.Context, m *solver.Method, r solver.Report) error {
		took := r.Elapsed - before
		before = r.Elapsed
		if r.Iteration == from {
			return nil
		}
		agrees, err := s.recordAgreement(m)
		if err != nil {
			return err
		}
		live.Iteration(progress.Iteration{
			N: r.Iteration, Limit: s.op.plan.Config.Solver.Iterations,
			Residual: r.Relative, Gradient: r.Gradient / m.State().History.Gradient[0], Adjoint: r.AdjointError,
			Agrees: agrees, Took: took,
		})
		if r.AdjointWarning {
			s.op.process.Ranks.Report.Warn(fmt.Sprintf("iteration %d: operator and adjoint differ by %.1e relative; the image may be wrong", r.Iteration, r.AdjointError))
		}
		if r.Replaced > 0 && r.HasDrift {
			s.op.process.Ranks.Report.Infof("iteration %d: the residual had drifted by %.1e and was computed afresh", r.Iteration, r.Drift)
		}
		return nil
	}
}

// saveAtIntervals writes checkpoints at intervals of time and of iterations.
func (s *solving) saveAtIntervals(from int) solver.Observer {
	cfg := s.op.plan.Config.Checkpoint
	return func(ctx context.Context, m *solver.Method, r solver.Report) error {
		due := cfg.Minutes > 0 && time.Since(s.saved).Minutes() >= cfg.Minutes ||
			cfg.Iterations > 0 && r.Iteration%cfg.Iterations == 0
		if r.Iteration == from || r.Iteration == s.op.plan.Config.Solver.Iterations {
			return nil
		}
		if cfg.Minutes > 0 && s.op.process.Ranks.World.Size() > 1 { // clocks differ; rank 0's counts
			var err error
			if due, err = comm.Any(s.op.process.Ranks.World, due && s.op.process.Ranks.Root()); err != nil {
				return err
			}
		}
		if !due {
			return nil
		}
		_, err := s.save()
		s.saved = time.Now()
		return err
	}
}

// relativeNorm returns the last of a history of norms, relative to the first.
func relativeNorm(h []float64) float64 {
	if h[0] == 0 {
		return 0
	}
	return h[len(h)-1] / h[0]
}

// numericalFailure gives a solver's error its exit status.
func numericalFailure(err error) error {
	if status.Code(err) == status.Other {
		return status.Numerical(err)
	}
	return err
}

// identity returns what must be unchanged for a checkpoint to be continued: every key
// that changes the iterates, and the inputs' hashes.
func (j *Job) identity() map[string]string {
	p := map[string]string{"engine": j.plan.Hardware.Engine, "data.read": "memory", "traveltimes": j.plan.Held.Precision()}
	if j.plan.Held.Stream {
		p["data.read"] = "stream"
	}
	for _, f := range config.Fields() {
		switch f.Section {
		case "output", "checkpoint", "machine", "comm":
			continue
		}
		switch f.Name() {
		case "kirchhoff.engine", "data.read", "kirchhoff.tables", // the choices are above
			"solver.iterations", "solver.tolerance", // where to stop, not how to go
			"survey.file", "survey.wavelet_file", "velocity.file", "image.surface_file", "traveltime.file", "solver.start": // their contents count
			continue
		}
		p[f.Name()] = j.plan.Config.Value(f.Name())
	}
	for _, in := range j.digests {
		p[in.Role+" file's contents"] = in.SHA256
	}
	return p
}

func (j *Job) checkpoints() *Checkpoints {
	return NewCheckpoints(*j.Ranks, j.plan.Config, j.identity())
}

// CanResume reports whether there is a checkpoint to resume from. It returns an error,
// before anything is computed, if the run cannot be resumed, as from a checkpoint of
// another plan.
func (j *Job) CanResume() (bool, error) {
	if j.plan.Config.Solver.Matches() {
		return false, nil
	}
	from, err := j.checkpoints().Newest()
	return from != "", err
}

// checkIntact makes sure, on all ranks, that the tables in memory have not changed since they
// were computed. It is called before their results are written.
func (op *Operator) checkIntact() error {
	err := status.Hint(status.Numerical(op.engine.Intact()), "--resume continues from the last checkpoint, which was made before; preferably on another machine")
	return comm.Together(op.process.Ranks.World, err)
}
