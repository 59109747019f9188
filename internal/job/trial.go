package job

import (
	"context"
	"slices"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Trial is a solve that was measured. Times are those of the slowest rank.
type Trial struct {
	Sums   string // the communicator that sums over ranks went by, and "-onesided" where these were
	Shots  int    // of the survey that were taken
	Traces int
	Setup  float64 // s, reading, traveltimes, tables

	Iteration  float64 // s, median
	Residual   float64 // relative to the start's
	Bytes      int64   // summed over ranks in an iteration, per rank that shares in it: greatest
	Collective int     // device collectives of this rank in an iteration

	Waiting    float64 // share of an iteration spent on sums over ranks
	Sequential float64 // the same without overlap
	Hidden     float64 // share of the sums' time that the overlap hides
}

// Try solves the configured problem, or its first shots (0: all), on all ranks of the
// world for some iterations. It does so twice: with sums over ranks overlapped and
// without. It writes nothing.
func Try(ctx context.Context, world comm.Comm, cfg *config.Config, shots, iterations int) (*Trial, error) {
	began := time.Now()
	held := *cfg
	held.Data.Read = "memory"
	j, err := open(world, &held, plan.Traces, progress.Discard(), shots, false)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	if err := j.Build(ctx); err != nil {
		return nil, err
	}
	d, err := j.Data()
	if err != nil {
		return nil, err
	}
	t, err := trial(ctx, j.Operator, d, time.Since(began).Seconds(), iterations)
	if err != nil {
		return nil, err
	}
	t.Sums = j.Carrier()
	if cfg.Comm.Accumulate == "onesided" {
		t.Sums += "-onesided"
	}
	return t, nil
}

// trial solves with the operator of all ranks and data d, after a setup of so many seconds on
// this rank: with sums over ranks overlapped and without.
func trial(ctx context.Context, op *operator.Operator, d *dist.Vector, setup float64, iterations int) (*Trial, error) {
	plain, sums, err := try(ctx, op, d, iterations, false)
	if err != nil {
		return nil, err
	}
	t, left := plain, sums // of the sums' time, with overlap
	if op.World.Size() > 1 {
		if t, left, err = try(ctx, op, d, iterations, true); err != nil {
			return nil, err
		}
	}
	t.Shots, t.Traces = op.Shots.Len(), op.Shots.Traces()
	worst := []float64{setup, t.Iteration, t.Waiting, plain.Waiting, float64(t.Bytes), left, sums}
	if err := op.World.Host().AllReduce(worst, comm.Max); err != nil {
		return nil, err
	}
	t.Setup, t.Iteration, t.Waiting, t.Sequential, t.Bytes = worst[0], worst[1], worst[2], worst[3], int64(worst[4])
	if worst[6] > 0 {
		t.Hidden = max(0, 1-worst[5]/worst[6])
	}
	return &t, nil
}

// try is one solve: medians and means over its iterations, and the time of sums over ranks
// in one, s.
func try(ctx context.Context, op *operator.Operator, d *dist.Vector, iterations int, overlap bool) (r Trial, sums float64, err error) {
	var waiting time.Duration
	o := op.LiftOptions()
	o.Overlap, o.Choose = overlap, nil
	o.Observe = func(t dist.Times) {
		waiting += t.Waiting
		r.Bytes += t.Bytes
		r.Collective += t.Pieces
	}
	a, err := op.Lift(o)
	if err != nil {
		return r, 0, err
	}
	opt := solver.Options{Orthogonalize: min(op.Config.Solver.Orthogonalize, iterations)}
	if _, counted := op.Device.(*device.Counter); counted {
		opt.AdjointFail = -1 // there is no adjoint
	}
	m, err := solver.New("cgls", opt)
	if err != nil {
		return r, 0, err
	}
	if err := m.Init(ctx, solver.Hold(a, d), nil); err != nil {
		return r, 0, err
	}
	waiting, r.Bytes, r.Collective = 0, 0, 0
	var took []float64
	for range iterations {
		begin := device.Time(op.Device)
		if err := m.Step(ctx); err != nil {
			return r, 0, err
		}
		took = append(took, device.Time(op.Device).Sub(begin).Seconds())
	}
	slices.Sort(took)
	sums = waiting.Seconds() / float64(iterations)
	r.Iteration = took[len(took)/2]
	r.Waiting = sums / r.Iteration
	r.Bytes /= int64(iterations)
	r.Collective /= iterations
	r.Residual = relative(m.State().History.Residual)
	return r, sums, nil
}

// Shots is the number of shots of the configured survey.
func Shots(world comm.Comm, cfg *config.Config) (int, error) {
	in, err := inputs.Selected(cfg)
	if err := comm.Together(world, inputs.FileError(err)); err != nil {
		return 0, err
	}
	return plan.CountShots(in.Survey, cfg), nil
}
