package job

import (
	"context"
	"slices"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Trial is a solve that was measured. Times are those of the slowest rank.
type Trial struct {
	Grid   [2]int
	Sums   string // the communicator that sums over ranks went by
	Shots  int    // of the survey that were taken
	Traces int
	Setup  float64 // s, reading, traveltimes, tables

	Iteration  float64 // s, median
	Iterations int
	Residual   float64 // relative to the start's
	Bytes      int64   // summed over ranks in an iteration, per rank that shares in it: greatest
	Collective int     // device collectives of this rank in an iteration

	Waiting    float64 // share of an iteration spent on sums over ranks
	Sequential float64 // the same without overlap
	Hidden     float64 // share of the sums' time that the overlap hides
}

// Try solves the configured problem, or its first shots (0: all), on all ranks of the world for some iterations. It
// does so twice: with sums over ranks overlapped and without. It writes nothing.
func Try(ctx context.Context, world comm.Comm, cfg *config.Config, shots, iterations int) (*Trial, error) {
	began := time.Now()
	held := *cfg
	held.Data.Read = "memory"
	j, err := open(world, &held, Traces, progress.Discard(), shots)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	op, err := j.Build(ctx)
	if err != nil {
		return nil, err
	}
	defer op.Engine.Close()
	d, err := j.Data(op)
	if err != nil {
		return nil, err
	}
	t := &Trial{Grid: j.Grid, Sums: j.Carrier(), Shots: j.Shots.Len(), Traces: j.Shots.Traces(), Setup: time.Since(began).Seconds(), Iterations: iterations}
	var plain trialRun
	if plain, err = try(ctx, op, d, iterations, false); err != nil {
		return nil, err
	}
	over := plain
	if world.Size() > 1 {
		if over, err = try(ctx, op, d, iterations, true); err != nil {
			return nil, err
		}
	}
	worst := []float64{t.Setup, over.iteration, over.waiting / over.iteration, plain.waiting / plain.iteration, float64(over.bytes), over.waiting, plain.waiting}
	if err := world.Host().AllReduce(worst, comm.Max); err != nil {
		return nil, err
	}
	t.Setup, t.Iteration, t.Waiting, t.Sequential, t.Bytes = worst[0], worst[1], worst[2], worst[3], int64(worst[4])
	if worst[6] > 0 {
		t.Hidden = max(0, 1-worst[5]/worst[6])
	}
	t.Collective, t.Residual = over.pieces, over.residual
	return t, nil
}

// trialRun is one solve: medians and means over its iterations.
type trialRun struct {
	iteration, waiting float64 // s
	bytes              int64
	pieces             int
	residual           float64
}

func try(ctx context.Context, op *Operator, d *dist.Vector, iterations int, overlap bool) (r trialRun, err error) {
	var waiting time.Duration
	o := op.LiftOptions()
	o.Overlap, o.Choose = overlap, nil
	o.Observe = func(t dist.Times) {
		waiting += t.Waiting
		r.bytes += t.Bytes
		r.pieces += t.Pieces
	}
	a, err := op.Lift(o)
	if err != nil {
		return r, err
	}
	m, err := solver.New("cgls", solver.Options{Orthogonalize: min(op.Config.Solver.Orthogonalize, iterations)})
	if err != nil {
		return r, err
	}
	if err := m.Init(ctx, solver.Hold(a, d), nil); err != nil {
		return r, err
	}
	waiting, r.bytes, r.pieces = 0, 0, 0
	var took []float64
	for range iterations {
		begin := time.Now()
		if err := m.Step(ctx); err != nil {
			return r, err
		}
		took = append(took, time.Since(begin).Seconds())
	}
	slices.Sort(took)
	r.iteration = took[len(took)/2]
	r.waiting = waiting.Seconds() / float64(iterations)
	r.bytes /= int64(iterations)
	r.pieces /= iterations
	r.residual = relative(m.State().History.Residual)
	return r, nil
}

// Shots is the number of shots of the configured survey.
func Shots(world comm.Comm, cfg *config.Config) (int, error) {
	s, _, _, err := inputs.Selected(cfg)
	if err := comm.Together(world, inputs.FileError(err)); err != nil {
		return 0, err
	}
	return plan.CountShots(s, cfg), nil
}
