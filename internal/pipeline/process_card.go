package pipeline

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/machine"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// CompileCommand is the hidden command of this program that compiles a kernel for
// HIP, whose compiler ends its caller when it does not know a card.
const CompileCommand = "compile-kernel"

// openCard makes the GPU of this rank ready.
func (h *Process) openCard(engine accel.Engine) error {
	card, err := OpenCard(engine, h.onNode, h.Ranks.Report.Warn)
	if err != nil {
		return err
	}
	h.Card, h.Device, h.hardware.Engine = card, card, engine.String()
	h.Ranks.Report.Infof("%s: %s", card.Name(), card.Programs())
	return nil
}

// OpenCard makes the GPU of this process ready, chosen by its place among the ranks of
// its machine, whose number is given for launchers that do not tell. warn gets a message if ranks
// must share a card, and if a compiler fails; it may be nil.
func OpenCard(engine accel.Engine, ranks int, warn func(text string)) (card *gpu.Device, err error) {
	lib, err := engine.Open()
	if err != nil {
		return nil, engineError(engine, err)
	}
	cards, err := lib.Cards()
	if err != nil {
		return nil, engineError(engine, err)
	}
	l := machine.ReadLauncher(os.Environ())
	if l.LocalRanks == 0 {
		l.LocalRanks = ranks
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o := gpu.Options{Engine: engine, Cache: accel.UserCache(), Child: []string{program, CompileCommand}, Warn: warn}
	number, warning := gpu.Choose(l.LocalRank, l.LocalRanks, len(cards))
	if o.Card = number; warning != "" && warn != nil {
		warn(warning)
	}
	if card, err = gpu.Open(o); err != nil {
		return nil, engineError(engine, err)
	}
	return card, nil
}

func engineError(engine accel.Engine, err error) error {
	return status.Hint(status.Resource(fmt.Errorf("kirchhoff.engine: %q: %w", engine, err)),
		`engine = "cpu" uses all cores and vector units; "lsm doctor" lists what this machine offers`)
}

// checkSameHardware returns an error if all ranks must give the same bits but their
// instruction sets or cards differ, because the kernels then round differently.
func (h *Process) checkSameHardware(cfg *config.Config) error {
	if cfg.Solver.Reproducible != "ranks" {
		return nil
	}
	facts := []comm.Fact{{Name: "the instruction set of the cpu's kernels", Value: h.ISA}}
	if h.Card != nil {
		facts = []comm.Fact{{Name: "the GPU", Value: h.Card.Card().Name}}
	}
	return status.Hint(status.Usage(comm.Same(h.Ranks.World, facts)),
		`solver.reproducible = "ranks" wants like hardware, or the environment variable LSM_CPU_ISA with the same value on all ranks; "run" and "off" do not`)
}

// measureCard finds out how much GPU memory this rank may use. Ranks that share a GPU
// divide equally what is free once all ranks have opened theirs. It warns if ranks share
// a GPU that is to be used.
func (h *Process) measureCard(*config.Config) error {
	if h.Card == nil {
		return nil
	}
	free, _, err := h.Card.Context().MemoryInfo()
	if err := comm.Together(h.Ranks.World, err); err != nil {
		return err
	}
	type card struct {
		Place string
		Free  int64
	}
	own := card{gpu.Place(h.Card.Card()), free}
	all, err := comm.GatherJSON(h.Ranks.World.Host().AllGather, own)
	if err != nil {
		return err
	}
	places, sharers := make([]string, len(all)), int64(0)
	for i, c := range all {
		if places[i] = c.Place; c.Place == own.Place {
			sharers++
			free = min(free, c.Free)
		}
	}
	if w := gpu.SharedCards(places); w != "" && !h.open {
		h.Ranks.Report.Warn(w)
	}
	h.hardware.Card = &CardMemory{Multiprocessors: h.Card.Card().Multiprocessors, Free: free / sharers}
	return nil
}

// joinCarriers chooses what carries buffers between ranks. On GPUs that is NCCL or RCCL if the
// configuration asks for it. If it asks for nothing, these and all ways of MPI are available, and
// applications choose among them if sums are exact. Otherwise the run's communicator carries
// everything. It says what it chose and why.
func (h *Process) joinCarriers(cfg *config.Config) error {
	want := cfg.Comm.Backend
	asked := gpu.CarriedBy(want) != nil
	if h.Card == nil {
		back := cfg.Kirchhoff.Engine == "auto" && cfg.Comm.Fallback == "mpi" // as offerCard has said
		if asked && !back || want == "mpi-staged" {
			return status.Hint(status.Usage(fmt.Errorf("comm.backend: %q carries buffers of a GPU, the engine is %q", want, h.hardware.Engine)),
				fmt.Sprintf("kirchhoff.engine = %q computes on one", cmp.Or(gpu.CarriedBy(want), gpu.Engines[0])))
		}
		return h.joinMPI(cfg)
	}
	card, library := h.Card.Context(), new(atomic.Pointer[nccl.Group])
	h.unwatch = append(h.unwatch, watch.OnLook(h.Ranks.World, func() bool {
		g := library.Load()
		return card.Awaited() && (g == nil || !g.Stuck())
	}))
	h.Card.OnMark = h.Ranks.Report.Time
	if h.Ranks.Report.Books() {
		h.Card.Clock.OnSpan = func(s gpu.Span) { h.Ranks.Report.Beside(s.Lane, s.Name, s.Begin, s.Took, s.Own) }
	}
	name, alone := nccl.Backend(h.Card.Engine()), h.Ranks.World.Size() == 1
	oneSided := cfg.Comm.Accumulate == "onesided"
	switch {
	case asked && want != name:
		return status.Usage(fmt.Errorf("comm.backend: %q does not carry buffers of engine %q, %q does", want, h.hardware.Engine, name))
	case asked && oneSided && !alone:
		return status.Hint(status.Usage(fmt.Errorf("comm.accumulate: \"onesided\": comm.backend = %q has no one-sided sums", want)),
			`comm.backend = "mpi" has`)
	case !asked && (want != "auto" || alone || oneSided):
		return h.joinMPI(cfg)
	}
	var others []comm.Comm
	if !asked && cfg.Solver.Reproducible == "ranks" {
		others = h.listWaysOfMPI()
	}
	began := time.Now()
	g, err := nccl.New(h.Ranks.World, h.Card, nccl.Options{Timeout: time.Duration(cfg.Comm.Timeout * float64(time.Second))})
	if err == nil {
		err = h.useCarriers(append([]comm.Comm{g}, others...))
	}
	if err != nil {
		if err := h.leaveLibrary(cfg, asked, err, time.Since(began)); err != nil {
			return err
		}
		return h.useCarriers(others)
	}
	why := "it was found"
	if asked {
		why = "comm.backend asks for it"
	}
	h.Ranks.Report.Infof("communicator of the GPUs: %s: %s", g.About(), why)
	library.Store(g)
	h.nccl, h.unwatch = g, append(h.unwatch, watch.OnVerdict(h.Ranks.World, g.Cut))
	return nil
}

// joinMPI makes the run's communicator carry everything, as the configuration says.
func (h *Process) joinMPI(cfg *config.Config) (err error) {
	for _, c := range []*comm.Comm{&h.ShotAxis, &h.BlockAxis, &h.AllRanks} {
		if cfg.Comm.Backend == "mpi-staged" {
			*c = comm.Staged(*c)
		}
		if cfg.Comm.Accumulate == "onesided" {
			if *c, err = comm.OneSidedSums(*c, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// listWaysOfMPI returns the ways in which the run's communicator carries buffers of GPUs: directly if
// it takes their memory, through the host, and by one-sided access if it has that.
func (h *Process) listWaysOfMPI() (ways []comm.Comm) {
	if mpi.Aware(h.Card.Space()) {
		ways = append(ways, h.Ranks.World)
	}
	ways = append(ways, comm.Staged(h.Ranks.World))
	oneSided, err := comm.OneSidedSums(h.Ranks.World, func(err error) {
		h.Ranks.Report.Infof("comm.backend: auto: all-reduces take the place of one-sided sums: %v", err)
	})
	if err == nil {
		ways = append(ways, oneSided)
	}
	return ways
}

// useCarriers makes several communicators carry what passes between ranks, the first until
// another is chosen, or the run's if there is none.
func (h *Process) useCarriers(carriers []comm.Comm) error {
	if h.carriers = nil; len(carriers) == 0 {
		return h.splitWorld(h.Ranks.World)
	}
	h.carriers = comm.NewSwitch(h.Ranks.World, carriers...)
	return h.splitWorld(h.carriers)
}

// allowFallback lets work that Again makes go on by the run's communicator if the cards' library
// fails, as the configuration may ask. Ranks tell each other of a failure by the watch, and
// must do the same in an iteration, which they do not if traces are streamed over blocks.
func (op *Operator) allowFallback() error {
	if op.process.nccl == nil || !op.share.Kept(op.plan) {
		return nil
	}
	tell, cancel := watch.OnTold(op.process.Ranks.World, op.process.nccl.Told)
	op.process.unwatch = append(op.process.unwatch, cancel)
	if tell == nil {
		return nil
	}
	name := op.process.nccl.Name()
	return op.process.nccl.Recover(nccl.Recovery{Tell: tell, Left: func(why string, after time.Duration) {
		op.process.carriers.Drop(name)
		to := op.process.carriers.Name()
		op.process.left, op.process.taken = append(op.process.left, name), ""
		op.process.Ranks.Report.Warn(fmt.Sprintf("%s failed and is left: sums between GPUs go by %s, and work goes on from the iteration's start after %.3g s: %s",
			name, to, after.Seconds(), why))
		op.process.Ranks.Report.Event("fallback", "to", to, "why", why, "seconds", after.Seconds())
	}})
}

// Again does work, and once more with again set if the cards' library fails meanwhile and
// the run can go on without it. All ranks call it together.
func (h *Process) Again(work func(again bool) error) error {
	if h.nccl == nil {
		return work(false)
	}
	return h.nccl.Again(work)
}

// leaveLibrary says that sums between GPUs go by the run's communicator, because their library
// did not start, why, and after how long. If the configuration does not allow it, that is an
// error.
func (h *Process) leaveLibrary(cfg *config.Config, asked bool, why error, after time.Duration) error {
	if asked && cfg.Comm.Fallback != "mpi" {
		return status.Hint(fmt.Errorf("comm.backend: %q: %w", cfg.Comm.Backend, why),
			`fallback = "mpi" goes on by MPI; `+status.HintOf(why))
	}
	say := h.Ranks.Report.Warn
	if !asked && status.Code(why) == status.NoResource {
		say = func(text string) { h.Ranks.Report.Infof("%s", text) }
	}
	say(fmt.Sprintf("sums between GPUs go by %s, through the host where that does not know GPUs, after %.3g s: %v",
		h.Ranks.World.Name(), after.Seconds(), why))
	h.Ranks.Report.Event("fallback", "to", h.Ranks.World.Name(), "why", why.Error(), "seconds", after.Seconds())
	return nil
}

// Carrier names the communicator that carries the sums over ranks. If the library of the
// cards was left, its name comes before: "nccl, mpi". Without a choice yet it names all that
// have carried something.
func (h *Process) Carrier() string {
	switch {
	case h.taken != "":
		return strings.Join(append(slices.Clone(h.left), h.taken), ", ")
	case h.carriers != nil && h.carriers.Carried() != nil:
		return strings.Join(h.carriers.Carried(), ", ")
	}
	return h.ShotAxis.Name()
}
