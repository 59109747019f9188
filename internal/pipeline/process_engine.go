package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/engines"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// FindGPU returns the engine of the GPUs that kirchhoff.engine = "auto" may take on this
// machine. The error says why there is none.
func FindGPU() (accel.Engine, error) {
	var first error
	for _, engine := range gpu.Engines {
		lib, err := engine.Open()
		if err == nil {
			_, err = lib.Cards()
		}
		if err == nil {
			return engine, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// offerCard opens this rank's GPU for kirchhoff.engine = "auto", if every rank has one.
// Settle then chooses between it and the cpu. A backend that carries buffers of GPUs leaves
// no choice, but comm.fallback = "mpi" goes on by the cpu if a rank has no GPU.
func (h *Process) offerCard(cfg *config.Config) error {
	engine, err := FindGPU()
	backend := cfg.Comm.Backend
	of := gpu.CarriedBy(backend)
	if of != nil {
		engine, err = of, nil
	}
	absent := err != nil && len(machine.Accelerators("/dev")) == 0
	if err == nil {
		err = h.openCard(engine)
	}
	asked := of != nil || backend == "mpi-staged"
	if back := cfg.Comm.Fallback == "mpi" && backend != "mpi-staged"; asked && !back {
		if err != nil {
			return status.Hint(status.Resource(fmt.Errorf("comm.backend: %q carries buffers of a GPU: %w", backend, err)), status.HintOf(err))
		}
		return nil
	}
	var mine struct{ Card, Why string } // both "" without a word
	switch {
	case err == nil:
		mine.Card = h.hardware.Engine
		if cfg.Solver.Reproducible == "ranks" && !asked {
			mine.Card += " " + h.Card.Card().Name
		}
	case !absent || asked:
		mine.Why = err.Error()
	}
	all, err := comm.GatherJSON(h.Ranks.World.Host().AllGather, mine)
	if err != nil {
		return err
	}
	for rank, other := range all {
		if other.Card == "" && slices.ContainsFunc(all, func(one struct{ Card, Why string }) bool { return one.Card+one.Why != "" }) {
			why := fmt.Sprintf("rank %d has no GPU: %s", rank, cmp.Or(other.Why, "none was found"))
			if asked {
				h.Ranks.Report.Warn(fmt.Sprintf("comm.backend: %q carries buffers of a GPU; the cpu computes, and sums go by %s: %s", backend, h.Ranks.World.Name(), why))
				h.Ranks.Report.Event("fallback", "to", h.Ranks.World.Name(), "why", why, "seconds", 0.)
			}
			return h.useCPU(why)
		}
		if other.Card != all[0].Card {
			return h.useCPU(fmt.Sprintf("rank 0 has %s, rank %d has %s", all[0].Card, rank, other.Card))
		}
	}
	if h.open = mine.Card != "" && !asked; mine.Card != "" {
		return nil
	}
	return h.useCPU("")
}

// useCPU makes the processor compute, and says why where a GPU could have.
func (h *Process) useCPU(why string) (err error) {
	if h.Card != nil {
		h.Card.Close() // nothing is left to be done on it
	}
	h.Card, h.Device, h.hardware.Card, h.hardware.Engine = nil, h.Host, nil, "cpu"
	if why != "" {
		h.reportEngine("cpu", why)
	}
	h.ISA, err = kirchhoff.ISA()
	return err
}

// reportEngine reports what kirchhoff.engine = "auto" takes, and keeps it for the provenance.
func (h *Process) reportEngine(engine, why string) {
	h.Choice = engine + ": " + why
	h.Ranks.Report.Event("engine", "taken", engine, "why", why)
	h.Ranks.Report.Infof("kirchhoff.engine: auto takes %s", h.Choice)
}

// Hold returns the plan with traces and tables where they are held, and reports whether that
// fits into the memory of all ranks. It is collective.
func (h *Process) Hold(p *Plan, s *Share) (held *Plan, fits bool, err error) {
	r, err := DecideResidency(p.Config, p.Hardware.Engine, func(r Residency) (bool, error) {
		short, err := comm.Any(h.Ranks.World, !CountMemory(p.Holding(r), s).Fits())
		fits = !short
		return fits, err
	})
	return p.Holding(r), fits, err
}

// withHardware returns the plan for other hardware.
func withHardware(p *Plan, hw Hardware) *Plan {
	q := *p
	q.Hardware = hw
	return &q
}

// Settle chooses the engine where kirchhoff.engine = "auto" left it open, and returns the
// plan for it. kept is the engine of the checkpoint that the run resumes from, "" for none.
// It is collective.
func (h *Process) Settle(p *Plan, s *Share, kept string) (*Plan, error) {
	if !h.open {
		return p, refuseArrivals(p)
	}
	h.open = false
	take, why, err := h.choose(p, s, kept)
	if err != nil {
		return nil, err
	}
	if take != "cpu" {
		h.reportEngine(take, why)
	} else if err := comm.Together(h.Ranks.World, h.useCPU(why)); err != nil {
		return nil, err
	}
	if err := h.takeSteps(p.Config, h.checkSameHardware, h.joinCarriers, h.measureCard); err != nil {
		return nil, err
	}
	return withHardware(p, h.hardware), nil
}

// refuseArrivals returns an error if the engine of a plan can't have its several arrivals of a point.
func refuseArrivals(p *Plan) error {
	if len(traveltime.Turned(p.Times.Method)) == 1 || engines.Missing(p.Hardware.Engine, engines.Several) == 0 {
		return nil
	}
	return status.Usage(fmt.Errorf("kirchhoff.engine: %s has one arrival at a point, of waves that have passed no caustic, the traveltimes have several: want one of %s",
		p.Hardware.Engine, strings.Join(engines.Offering(engines.Several), ", ")))
}

// choose returns the engine to take, the GPU's where it can do the run, else "cpu", and why. All
// ranks get the same.
func (h *Process) choose(p *Plan, s *Share, kept string) (engine, why string, err error) {
	const cpu = "cpu"
	card := h.hardware.Engine
	if kept == cpu || kept == card {
		return kept, "the run goes on from a checkpoint of that engine", nil
	}
	if err := kirchhoff.Refuse(card, p.Problem(s), kirchhoff.Work{}); err != nil {
		return cpu, err.Error(), nil
	}
	onCard, fits, err := h.Hold(withHardware(p, h.hardware), s)
	if err != nil {
		return "", "", err
	}
	if !fits {
		return cpu, fmt.Sprint(comm.Together(h.Ranks.World, CountMemory(onCard, s).Check())), nil
	}
	return card, h.Card.Name() + " has the memory for this run", nil
}
