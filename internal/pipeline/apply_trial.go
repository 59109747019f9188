package pipeline

import (
	"context"
	"slices"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/formulation"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Trial is a solve that was measured. It holds the times of the slowest rank.
type Trial struct {
	Sums   string // the communicator that sums over ranks went by
	Shots  int    // of the survey that were taken
	Traces int
	Setup  float64 // s, reading, traveltimes, tables

	Iteration  float64 // s, median, to the end of the device's work
	Plain      float64 // s, the same without overlap
	Residual   float64 // relative to the start's
	Bytes      int64   // summed over ranks in an iteration, per rank that shares in it: greatest
	Collective int     // device collectives of this rank in an iteration
	Last       float64 // share of this rank's bytes beside whose sums no kernel runs

	Waiting    float64 // share of an iteration spent on sums over ranks
	Sequential float64 // the same without overlap
	Left       float64 // s, on sums over ranks in an iteration
	Alone      float64 // s, the same without overlap
	Hidden     float64 // share of the sums' time that the overlap hides; 0 if no kernel runs beside any

	Image  []float32 // the solution, the sum of its classes; nil but on rank 0
	Digest string    // of the image, as a file has it; "" but on rank 0
}

// Try solves the configured problem, or its first shots (0: all), on all ranks of the
// world for some iterations. It does so with sums over ranks overlapped and without. On a
// card, times of sums are those of their own solves, which wait for the card around each
// sum. It writes nothing.
func Try(ctx context.Context, world comm.Comm, cfg *config.Config, shots, iterations int) (*Trial, error) {
	began := time.Now()
	held := *cfg
	held.Data.Read = "memory"
	j, err := open(world, &held, NeedTraces, progress.Discard(), shots, false)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	op, err := j.Build(ctx)
	if err != nil {
		return nil, err
	}
	d, err := j.Data()
	if err != nil {
		return nil, err
	}
	setup := time.Since(began).Seconds()
	plain, err := op.tryOnce(ctx, d, iterations, dist.LiftOptions{Timed: true})
	if err != nil {
		return nil, err
	}
	t, several := plain, op.process.Ranks.World.Size() > 1
	if several {
		if t, err = op.tryOnce(ctx, d, iterations, dist.LiftOptions{Timed: true, Overlap: true}); err != nil {
			return nil, err
		}
	}
	left, share := t.sums, t.Waiting // with overlap
	if several && op.process.Card != nil {
		if t, err = op.tryOnce(ctx, d, iterations, dist.LiftOptions{Overlap: true}); err != nil {
			return nil, err
		}
	}
	t.Sums, t.Shots, t.Traces = j.process.Carrier(), op.plan.Geometry.Shots.Len(), op.plan.Geometry.Shots.Traces()
	worst := []float64{setup, t.Iteration, share, plain.Waiting, float64(t.Bytes), left, plain.sums, plain.Iteration}
	if err := op.process.Ranks.World.Host().AllReduce(worst, comm.Max); err != nil {
		return nil, err
	}
	t.Setup, t.Iteration, t.Waiting, t.Sequential, t.Bytes = worst[0], worst[1], worst[2], worst[3], int64(worst[4])
	if t.Left, t.Alone, t.Plain = worst[5], worst[6], worst[7]; t.Alone > 0 && t.Last < 1 {
		t.Hidden = max(0, 1-t.Left/t.Alone)
	}
	return &t.Trial, t.bring(op)
}

// tried is one solve of a trial on this rank.
type tried struct {
	Trial
	x    *dist.Vector // the solution
	sums float64      // s, in sums over ranks in an iteration
}

// tryOnce makes one solve, with overlap and timing as how says: medians and means over its
// iterations.
func (op *Operator) tryOnce(ctx context.Context, d *dist.Vector, iterations int, how dist.LiftOptions) (*tried, error) {
	r := &tried{}
	var waiting time.Duration
	o := op.LiftOptions()
	o.Overlap, o.Timed, o.Choose = how.Overlap, how.Timed, nil
	o.Observe = func(t dist.Times) {
		waiting += t.Waiting
		r.Bytes += t.Bytes
		r.Collective += t.Pieces
		r.Last += float64(t.Last)
	}
	a, err := op.Lift(o)
	if err != nil {
		return nil, err
	}
	opt := solver.Options{Orthogonalize: min(op.plan.Config.Solver.Orthogonalize, iterations)}
	m, err := solver.New("cgls", opt)
	if err != nil {
		return nil, err
	}
	if err := m.Init(ctx, solver.Hold(a, d), nil); err != nil {
		return nil, err
	}
	waiting, r.Bytes, r.Collective, r.Last = 0, 0, 0, 0
	var took []float64
	for range iterations {
		if err := op.process.Device.Sync(); err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := m.Step(ctx); err != nil {
			return nil, err
		}
		if err := op.process.Device.Sync(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin).Seconds())
	}
	slices.Sort(took)
	r.x, r.sums = m.X(), waiting.Seconds()/float64(iterations)
	r.Iteration = took[len(took)/2]
	r.Waiting = r.sums / r.Iteration
	r.Last /= max(1, float64(r.Bytes))
	r.Bytes /= int64(iterations)
	r.Collective /= iterations
	r.Residual = relativeNorm(m.State().History.Residual)
	return r, nil
}

// bring brings the image of a solve to rank 0.
func (t *tried) bring(op *Operator) error {
	x, err := formulation.Stack(t.x, 1/float64(len(t.x.Rows())))
	if err == nil {
		t.Image, err = op.process.Whole(x)
	}
	if err == nil && op.process.Ranks.Root() {
		t.Digest = h5.ImageDigest(op.plan.Geometry.Image.Shape, t.Image)
	}
	return err
}

// ConfiguredShots counts the shots of the configured survey.
func ConfiguredShots(world comm.Comm, cfg *config.Config) (int, error) {
	in, err := SelectTraces(cfg)
	if err := comm.Together(world, FileError(err)); err != nil {
		return 0, err
	}
	return CountShots(in.Survey, cfg), nil
}
