package solver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
)

// Stop says when a run ends.
type Stop struct {
	// Iterations is the limit on all iterations since the start, those before
	// a resume included.
	Iterations int

	// Tolerance ends the run with ConvergedResidual once ‖d − A x‖, over all
	// rows, is at most Tolerance·‖d‖: norms, not squares. Zero means never.
	Tolerance float64

	// Flags, where given, is asked once an iteration whether to stop: FlagSignal,
	// FlagTime or neither. It may answer differently on every rank.
	Flags func() uint64
	// Comm is over all ranks of the run; nil means there is one. Every decision
	// to stop is agreed on over it.
	Comm comm.Comm
}

// Flags that Stop.Flags may return.
const (
	FlagSignal uint64 = 1 << iota // a signal asked the run to stop
	FlagTime                      // its time is up
)

// Flags that Run adds; ranks agree on them together with those of Stop.Flags.
const (
	flagNaN uint64 = 1 << (iota + 32)
	flagAdjoint
	flagIndefinite
	flagObserver
	flagResidual
	flagGradient
	flagIterations
)

// reasons lists the flags by precedence: what failed first, then what is done,
// then who asked.
var reasons = [...]struct {
	flag   uint64
	reason Reason
}{
	{flagNaN, FailedNaN},
	{flagAdjoint, FailedAdjoint},
	{flagIndefinite, FailedIndefinite},
	{flagObserver, FailedObserver},
	{flagResidual, ConvergedResidual},
	{flagGradient, ConvergedGradient},
	{flagIterations, StoppedIterations},
	{FlagSignal, StoppedSignal},
	{FlagTime, StoppedTime},
}

// Run steps a method that Init or Resume has started until stop says so, and
// reports to the observers before the first iteration and after every one. The
// error is nil unless the reason has Failed; it wraps a *Failure where the
// numbers failed. Between iterations a cancelled context counts as FlagSignal. After anything but FailedOperator all ranks return the same
// reason, together.
func Run(ctx context.Context, m Method, stop Stop, observers ...Observer) (Reason, error) {
	began := time.Now()
	world := stop.Comm
	if world == nil {
		world = comm.Self()
	}
	var err error
	for {
		flags := uint64(0)
		if err != nil {
			flags = failureFlag(err)
		} else {
			r := newReport(m, stop, time.Since(began))
			for _, o := range observers {
				if err = o(ctx, m, r); err != nil {
					flags = flagObserver
					break
				}
			}
			flags |= stop.flags(ctx, m.State())
		}
		flags, agreeErr := world.Host().Agree(flags)
		if agreeErr != nil {
			return FailedOperator, agreeErr
		}
		for _, r := range reasons {
			if flags&r.flag == 0 {
				continue
			}
			if err == nil && r.reason.Failed() {
				err = fmt.Errorf("solver: %s, iteration %d: another rank ended with %s", m.Name(), m.State().Iteration, r.reason)
			}
			return r.reason, err
		}
		if err = m.Step(ctx); err != nil && failureFlag(err) == 0 {
			return FailedOperator, err
		}
	}
}

// flags is what this rank has to say about stopping.
func (s Stop) flags(ctx context.Context, st *State) uint64 {
	var f uint64
	if ctx.Err() != nil {
		f = FlagSignal
	}
	if s.Flags != nil {
		f |= s.Flags() & (FlagSignal | FlagTime)
	}
	if s.Tolerance > 0 && last(st.History.Total) <= s.Tolerance*st.DataNorm {
		f |= flagResidual
	}
	if st.Stationary {
		f |= flagGradient
	}
	if st.Iteration >= s.Iterations {
		f |= flagIterations
	}
	return f
}

func failureFlag(err error) uint64 {
	var f *Failure
	if !errors.As(err, &f) {
		return 0
	}
	switch f.Reason {
	case FailedAdjoint:
		return flagAdjoint
	case FailedIndefinite:
		return flagIndefinite
	}
	return flagNaN
}
