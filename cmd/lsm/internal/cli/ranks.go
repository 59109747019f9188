package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/probe"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// ChooseComm says which communicator a run takes, and why. It returns an error if this
// machine does not offer the backend.
func ChooseComm(want string, l machine.Launcher) (name, why string, err error) {
	if want == "" || gpu.CarriedBy(want) != nil {
		want = "auto" // these run next to the communicator of the ranks
	}
	if want == "mpi-staged" {
		want = "mpi"
	}
	switch {
	case want == "self":
		return want, "comm.backend asks for it", nil
	case want == "auto" && l.Ranks < 2:
		return "self", "no launcher started more than one rank", nil
	case want != "auto" && want != "mpi":
		return "", "", status.Hint(status.Resource(fmt.Errorf("comm.backend: %q is not built into this lsm, which has self and mpi", want)),
			`backend = "self" runs in one process on all its cores; "lsm doctor" lists what this machine offers`)
	}
	if _, err := mpi.Load(); err != nil {
		if want == "auto" {
			err = fmt.Errorf("%s started %d ranks, each of which would do the whole run: %w", l.Name, l.Ranks, err)
		}
		return "", "", fmt.Errorf("comm.backend: %w", err)
	}
	if want == "auto" {
		return "mpi", fmt.Sprintf("%s started %d ranks", l.Name, l.Ranks), nil
	}
	return want, "comm.backend asks for it", nil
}

// Join makes a.World the ranks of this run, as the configuration says. A nil
// configuration stands for the default; it serves to tell the other ranks of an error.
func (a *App) Join(cfg *config.Config) error {
	want := "auto"
	if cfg != nil {
		want = cfg.Comm.Backend
	}
	var start *startup
	if a.Launcher.Ranks > 1 && want != "self" {
		start = a.bound(cfg)
		defer start.done()
		start.at("loading the MPI library")
	}
	name, why, err := ChooseComm(want, a.Launcher)
	if err != nil {
		return &comm.Agreed{Err: err} // by each rank for itself: all see the same
	}
	if name == "self" {
		return nil
	}
	if start != nil {
		start.at("MPI_Init")
	}
	if a.World, err = mpi.Open(); err != nil {
		a.World = comm.Self()
		return status.Resource(fmt.Errorf("comm.backend: %s: %w", name, err))
	}
	a.leave = mpi.Close
	if start != nil {
		start.at("connecting the ranks' watch")
	}
	a.guard(cfg)
	if start != nil {
		start.done()
	}
	if a.World.Size() > 1 {
		a.joined.Store(&a.World)
	}
	if n := a.Launcher.Ranks; n > 1 && a.World.Size() != n {
		return &comm.Agreed{Err: status.Hint(
			status.Resource(fmt.Errorf("comm.backend: %s started %d ranks, but %s sees %d: each would do the whole run", a.Launcher.Name, n, mpi.About(), a.World.Size())),
			`launcher and MPI do not understand each other: srun --mpi=pmix goes with Open MPI, srun --mpi=pmi2 with MPICH, and mpirun with its own library`)}
	}
	a.Report.Infof("communicator: %s (%s), %d ranks: %s", name, mpi.About(), a.World.Size(), why)
	patience := probe.Patience
	if cfg != nil && cfg.Comm.Timeout > 0 { // the others wait meanwhile
		patience = min(patience, time.Duration(cfg.Comm.Timeout/2*float64(time.Second)))
	}
	_, err = a.TryMemory(patience, func() accel.Engine { return engineFor(cfg) })
	return err
}

// engineFor is the engine of the GPUs whose memory MPI may be given by a configuration, nil for
// none.
func engineFor(cfg *config.Config) accel.Engine {
	switch {
	case cfg == nil || cfg.Comm.Backend == "mpi-staged":
		return nil
	case cfg.Kirchhoff.Engine == "auto":
		engine, _ := pipeline.FindGPU() // nil with an error
		return engine
	}
	return gpu.EngineOf(cfg.Kirchhoff.Engine)
}

// TryMemory finds out whether MPI takes the memory of an engine's GPUs. Where it claims so,
// a child of rank 0 has it send some, in the given time. If that fails, no rank gives it such
// memory, as all ranks learn. Only rank 0 asks for the engine, but all ranks take part.
func (a *App) TryMemory(patience time.Duration, engine func() accel.Engine) (comm.Claim, error) {
	var mine struct {
		comm.Claim
		Engine string // "": none is requested
	}
	if a.First() {
		if of := engine(); of != nil {
			mine.Engine = of.String()
			if mine.Claim = mpi.Claim(of.Facts().Space); mine.Takes {
				mine.Claim = probe.Judge(mine.Claim, Try(context.Background(), "mpi-"+mine.Engine, patience))
			}
			a.Report.Infof("%s", Handed(of, mine.Claim))
		}
	}
	all, err := comm.GatherJSON(a.World.Host().AllGather, mine)
	if err != nil {
		return comm.Claim{}, err
	}
	first := all[0]
	if first.Engine != "" && !first.Takes {
		mpi.Deny(gpu.EngineOf(first.Engine).Facts().Space)
	}
	return first.Claim, nil
}

// Handed says whether MPI is given the memory of an engine's GPUs.
func Handed(engine accel.Engine, claim comm.Claim) string {
	way := "is copied to the host for MPI"
	if claim.Takes {
		way = "is given to MPI"
	}
	return fmt.Sprintf("memory of %v's GPUs %s: %s", engine, way, claim.Why)
}

// First reports whether this process prints, and does what one rank does for all.
func (a *App) First() bool {
	if a.World.Size() > 1 {
		return a.World.Rank() == 0
	}
	return a.Launcher.Rank == 0
}

// guard puts the watch on all ranks.
func (a *App) guard(cfg *config.Config) {
	o := watch.Options{}
	if cfg != nil {
		o.Timeout = time.Duration(cfg.Comm.Timeout * float64(time.Second))
	}
	raw := a.World
	o.Abort = func(code int) { raw.Abort(code, nil) }
	world, w, err := watch.Guard(raw, o)
	if err != nil {
		a.Report.Warn(fmt.Sprintf("%v: the loss of a rank will not be noticed", err))
	}
	a.World, a.watch = world, w
}

// failedAlone reports whether err is an error that the other ranks know nothing of.
func (a *App) failedAlone(err error) bool {
	var agreed *comm.Agreed
	return err != nil && a.World.Size() > 1 && !errors.As(err, &agreed)
}

// part ends this rank's membership, which all ranks do together. A launcher may
// end the others as soon as the first has exited with a status; their signals no longer
// count.
func (a *App) part(err error) {
	if a.leave == nil {
		if err != nil && a.Launcher.Rank > 0 {
			time.Sleep(firstWord)
		}
		return
	}
	signal.Ignore(stopSignals...)
	a.watch.Close(err)
	a.leave()
}

// firstWord is how long ranks that did not get to join wait for rank 0 to tell what
// is wrong: a launcher ends it when the first of them leaves.
const firstWord = time.Second

// farewell is how long a rank that has told the others of a failure waits for the
// watch to end it.
const farewell = 30 * time.Second

// endAll ends all ranks of a run of several for a panic on this one.
func (a *App) endAll(fault any) {
	if a.World.Size() == 1 {
		return
	}
	func() {
		defer a.watch.Recover()
		panic(fault)
	}()
	time.Sleep(farewell)
}
