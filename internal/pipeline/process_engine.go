package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/engines"
	kernels "github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
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
	h.Ranks.Report.Infof("kirchhoff.engine: auto takes %s", h.Choice)
}

// Hold returns the plan with traces and tables where they are held, and reports whether that
// fits into the memory of all ranks. It is collective.
func (h *Process) Hold(p *Plan, s *Share) (held *Plan, fits bool, err error) {
	r, err := DecideResidency(p.Config, func(r Residency) (bool, error) {
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

// timeEngine times one forward and one adjoint of a sample of this rank's operator, in s, on the
// engine of a plan. With remake they recompute their tables.
type timeEngine func(p *Plan, k *Sample, remake bool) (seconds float64, err error)

// Settle chooses the engine where kirchhoff.engine = "auto" left it open, and returns the
// plan for it. kept is the engine of the checkpoint that the run resumes from, "" for none.
// It is collective.
func (h *Process) Settle(p *Plan, s *Share, kept string) (*Plan, error) {
	return h.settle(p, s, kept, h.timeSample)
}

func (h *Process) settle(p *Plan, s *Share, kept string, m timeEngine) (*Plan, error) {
	if !h.open {
		return p, refuseArrivals(p)
	}
	h.open = false
	take, why, err := h.choose(p, s, kept, m)
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
	return status.Usage(fmt.Errorf("kirchhoff.engine: %s takes one arrival at each point, before any caustic, but the traveltimes have several: want one of %s",
		p.Hardware.Engine, strings.Join(engines.Offering(engines.Several), ", ")))
}

// choose returns the engine to take, the GPU's or "cpu", and why. All ranks get the same.
func (h *Process) choose(p *Plan, s *Share, kept string, m timeEngine) (engine, why string, err error) {
	const cpu = "cpu"
	withCard, without := h.hardware, h.hardware
	without.Engine, without.Card = cpu, nil
	card := withCard.Engine
	if kept == cpu || kept == card {
		return kept, "the run continues from a checkpoint of that engine", nil
	}
	if err := kirchhoff.Refuse(card, p.Problem(s), kirchhoff.Work{}); err != nil {
		return cpu, err.Error(), nil
	}
	onCard, fits, err := h.Hold(withHardware(p, withCard), s)
	if err != nil {
		return "", "", err
	}
	if !fits {
		return cpu, fmt.Sprint(comm.Together(h.Ranks.World, CountMemory(onCard, s).Check())), nil
	}
	onCPU, fits, err := h.Hold(withHardware(p, without), s)
	if err != nil {
		return "", "", err
	}
	if !fits {
		return card, fmt.Sprint(comm.Together(h.Ranks.World, CountMemory(onCPU, s).Check())), nil
	}
	defer h.Ranks.Report.Time("engines")()
	room := min(h.hardware.Memory, h.hardware.Card.Free) / tableBytes
	sample, err := NewSample(p, s, sampleVisits*int64(p.Hardware.Threads), min(room, samplePoints*int64(p.Hardware.Threads)))
	if err := comm.Together(h.Ranks.World, err); err != nil {
		return "", "", err
	}
	var took [2]float64 // s, of the slowest rank
	for i, on := range []*Plan{onCPU, onCard} {
		took[i], err = m(on, sample, CountMemory(on, s).Recompute)
		if err := comm.Together(h.Ranks.World, err); err != nil && i == 0 {
			return "", "", err
		} else if err != nil {
			return cpu, "the GPU failed: " + err.Error(), nil
		}
	}
	if err := h.Ranks.World.Host().AllReduce(took[:], comm.Max); err != nil {
		return "", "", err
	}
	engine = cpu
	if took[1] < took[0] {
		engine = card
	}
	h.Ranks.Report.Event("engine", "taken", engine, "cpu_seconds", took[0], "gpu_seconds", took[1],
		"traces", sample.Problem.NumTraces(), "shape", sample.Problem.Grid.Shape)
	return engine, fmt.Sprintf("a sample of %d traces, image %s, takes %.3g s on the cpu, %.3g s on %s",
		sample.Problem.NumTraces(), sample.Problem.Grid, took[0], took[1], h.Card.Name()), nil
}

// A sample has sampleVisits visits of a trace at a point for each thread, and tables of samplePoints
// points. On one core the visits take about a tenth of a second, and the tables up to a third.
const (
	sampleVisits = 1e8
	samplePoints = 2e6
	sampleBytes  = 1 << 40 // more than all tables of a sample
	tableBytes   = 64      // of a point, at most, with what making tables needs
	dotLimit     = 1e-5    // of a sample's dot test
)

// timeSample times the engine of a plan on a sample, in s: the better of two dot tests after
// one that warms up.
func (h *Process) timeSample(p *Plan, k *Sample, remake bool) (seconds float64, err error) {
	ctx := context.Background()
	work := kirchhoff.Work{Exact: p.Exact(), Classes: k.Classes, Remake: remake, Budget: sampleBytes}
	d := device.Device(h.Host)
	var e kirchhoff.Engine
	if p.Hardware.Card != nil {
		d = h.Card
		e, err = kernels.New(ctx, h.Card, k.Problem, work)
	} else {
		e, err = kirchhoff.New(ctx, k.Problem, work)
	}
	if err != nil {
		return 0, err
	}
	defer e.Close()
	image, data := dist.Local(e.Type(), k.Problem.Grid.Shape...), dist.Local(e.Type(), k.Problem.NumTraces(), k.Problem.NT)
	if n := len(k.Classes); n > 0 {
		image = dist.Stack(slices.Repeat([]*dist.Layout{image}, n)...)
	}
	op, err := dist.LiftWith(dist.LiftOptions{Exact: work.Exact}, image, data, e.Kernels()...)
	if err != nil {
		return 0, err
	}
	var took time.Duration
	timed := func(apply func(a dist.Operator, dst, src *dist.Vector), w *dist.Work, dst, src *dist.Vector) {
		w.Do(d.Sync)
		begin := time.Now()
		apply(op, dst, src)
		w.Do(d.Sync)
		took += time.Since(begin)
	}
	both := dist.Map("timed", image, data,
		func(w *dist.Work, dst, src *dist.Vector) { timed(w.Apply, w, dst, src) },
		func(w *dist.Work, dst, src *dist.Vector) { timed(w.ApplyAdjoint, w, dst, src) })
	seconds = math.Inf(1)
	for run := range uint64(3) {
		took = 0
		apart, err := dist.DotTest(ctx, d, both, run)
		if err != nil {
			return 0, err
		}
		if !(apart <= dotLimit) {
			return 0, status.Numerical(fmt.Errorf("dot test: forward and adjoint differ by %.1e, must be at most %.0e", apart, dotLimit))
		}
		if run > 0 { // the first warms up
			seconds = min(seconds, took.Seconds())
		}
	}
	return seconds, nil
}
