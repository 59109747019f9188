package pipeline

import (
	"fmt"
	"sync"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/machine"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Process is this rank's place among the others, and its hardware. Rank r of the run has row
// r / blocks and column r % blocks of the process grid.
type Process struct {
	Ranks     Ranks
	Grid      [2]int    // ranks over shots, over image blocks
	ShotAxis  comm.Comm // ranks with the same image block
	BlockAxis comm.Comm // ranks with the same shots
	AllRanks  comm.Comm // all ranks, for buffers of the device

	Host   *device.Host  // this rank's processors
	Device device.Device // where its vectors are: Host, or a GPU
	ISA    string        // instruction set of the cpu's kernels; "" for another engine
	Card   *gpu.Device   // nil: none
	Choice string        // what kirchhoff.engine = "auto" took, and why; "" without a GPU

	open     bool // whether auto has still to choose between Card and the cpu
	hardware Hardware
	onNode   int          // ranks on this machine
	carriers *comm.Switch // of buffers between ranks; nil: the communicators themselves
	nccl     *nccl.Group  // the one between the cards of all ranks; nil: none
	unwatch  []func()     // end the watch's hold on Card and nccl
	left     []string     // carriers that failed
	taken    string       // the carrier that was chosen
}

// JoinRanks finds this rank's place among the others, and makes its hardware ready. With
// kirchhoff.engine = "auto" the hardware may be that of a GPU until Settle has chosen. It is
// collective.
func JoinRanks(world comm.Comm, cfg *config.Config, report *progress.Reporter) (*Process, Hardware, error) {
	ProgramMemory() // before anything is loaded
	h := &Process{Ranks: Ranks{World: world, Report: report}}
	err := h.takeSteps(cfg, h.joinGrid, h.joinMachine, h.chooseEngine)
	if err == nil && !h.open {
		err = h.takeSteps(cfg, h.checkSameHardware, h.joinCarriers)
	}
	if err == nil {
		err = h.takeSteps(cfg, h.measureCard)
	}
	if err != nil {
		h.Leave()
		return nil, Hardware{}, err
	}
	return h, h.hardware, nil
}

// takeSteps takes steps, all ranks together.
func (h *Process) takeSteps(cfg *config.Config, steps ...func(*config.Config) error) error {
	for _, step := range steps {
		if err := comm.Together(h.Ranks.World, step(cfg)); err != nil {
			return err
		}
	}
	return nil
}

// Leave releases the card.
func (h *Process) Leave() {
	for _, end := range h.unwatch {
		end()
	}
	if h.nccl != nil {
		h.nccl.Close() // all its sums are done
		h.nccl = nil
	}
	if h.Card != nil {
		h.Card.Close() // nothing is left to be done on it
		h.Card = nil
	}
}

// joinGrid lays the ranks of a run out as the configuration says.
func (h *Process) joinGrid(cfg *config.Config) (err error) {
	if h.Grid, err = GridFor(cfg.Comm.Grid, h.Ranks.World.Size()); err != nil {
		return err
	}
	return h.splitWorld(h.Ranks.World)
}

// splitWorld joins the ranks with the same image block and those with the same shots.
func (h *Process) splitWorld(world comm.Comm) (err error) {
	h.AllRanks = world
	if world.Size() == 1 {
		h.ShotAxis, h.BlockAxis = world, world
		return nil
	}
	if h.ShotAxis, err = world.Split(world.Rank()%h.Grid[1], world.Rank()); err != nil {
		return err
	}
	if h.BlockAxis, err = world.Split(world.Rank()/h.Grid[1], world.Rank()); err != nil {
		return err
	}
	watch.Name(h.ShotAxis, "shots")
	watch.Name(h.BlockAxis, "blocks")
	return nil
}

// joinMachine shares the processors and the memory of this machine with its other ranks.
func (h *Process) joinMachine(cfg *config.Config) error {
	seats, err := comm.GatherJSON(h.Ranks.World.Host().AllGather, machine.OwnSeat())
	if err != nil {
		return err
	}
	threads, ranks := machine.Share(seats[h.Ranks.World.Rank()], seats)
	if t := cfg.Machine.Threads; t > 0 {
		threads = t
	}
	h.Host = device.NewHost(threads)
	h.Host.OnMark = h.Ranks.Report.Time
	h.Device = h.Host
	resident, _ := ProgramMemory()
	h.hardware = Hardware{Threads: threads, Memory: availableMemory(ranks), Resident: resident}
	h.onNode = ranks
	return nil
}

func (h *Process) chooseEngine(cfg *config.Config) error {
	switch e := cfg.Kirchhoff.Engine; e {
	case "auto":
		return h.offerCard(cfg)
	case "cpu":
		return h.useCPU("")
	case "reference":
		h.hardware.Engine = e
		if h.Ranks.World.Size() > 1 && cfg.Solver.Reproducible == "ranks" {
			return status.Hint(status.Usage(fmt.Errorf("solver.reproducible: \"ranks\" is not offered by kirchhoff.engine = \"reference\" on %d ranks", h.Ranks.World.Size())),
				`reproducible = "run" gives the same bits on the same ranks; engine = "cpu" gives them on any number`)
		}
	default:
		return h.openCard(gpu.EngineOf(e))
	}
	return nil
}

// ProgramMemory returns the memory that the process took before its first job (code, libraries
// and run time) and the part of it that is Go's heap, in bytes.
var ProgramMemory = sync.OnceValues(func() (resident, heap int64) { return machine.PeakMemory(), machine.Heap() })

// availableMemory is the memory that this machine can give to each of the given number of
// processes.
func availableMemory(processes int) int64 {
	m := machine.ReadMemory("/proc", "/sys/fs/cgroup")
	limit := int64(1 << 62) // not known on this system: the allocation itself will tell
	for _, shared := range []int64{m.Available, m.Limit} {
		if shared > 0 {
			limit = min(limit, shared/int64(processes))
		}
	}
	if m.Address > 0 { // each process has its own
		resident, _ := ProgramMemory()
		limit = min(limit, resident+machine.Usable(m.Address))
	}
	return limit
}

// togetherWhenLate is comm.Together where ranks may come late.
func (h *Process) togetherWhenLate(err error) error {
	if h.Ranks.World.Size() > 1 {
		defer h.Ranks.Report.Time("waiting for ranks")()
	}
	return comm.Together(h.Ranks.World, err)
}

// Gather brings a vector to rank 0 and hands it to take there, in order and in parts that
// begin at element first. Parts are whole multiples of each elements.
func (h *Process) Gather(v *dist.Vector, each int, take func(first int, part []float32) error) error {
	return FileError(dist.GatherEach(v, max(1, GatherChunk/each)*each, func(first int, part device.Buf) error {
		x := make([]float32, part.Len())
		if err := downloadFinite(x, part, first); err != nil {
			return err
		}
		return take(first, x)
	}))
}

// Scatter gives every rank its part of a vector that give fills in stretches on rank 0.
func (h *Process) Scatter(v *dist.Vector, give func(first int, part []float32) error) error {
	return FileError(dist.ScatterEach(v, GatherChunk, func(first int, part device.Buf) error {
		x := make([]float32, part.Len())
		if err := give(first, x); err != nil {
			return err
		}
		return device.Upload(part, x)
	}))
}

// Whole gathers an image on rank 0. It returns nil on the others.
func (h *Process) Whole(v *dist.Vector) (image []float32, err error) {
	defer h.Ranks.Report.Time("gather")()
	if h.Ranks.Root() {
		image = make([]float32, v.Layout.Size())
	}
	return image, dist.GatherEach(v, GatherChunk, func(first int, part device.Buf) error {
		return downloadFinite(image[first:first+part.Len()], part, first)
	})
}

// downloadFinite copies the elements of a result from the given one on, which must be finite.
func downloadFinite(x []float32, part device.Buf, first int) error {
	if err := device.Download(x, part); err != nil {
		return err
	}
	for i, e := range x {
		if e-e != 0 {
			return status.Numerical(fmt.Errorf("kirchhoff: result has %g at element %d, must be finite", e, first+i))
		}
	}
	return nil
}

// Spread gives every rank its share of an image that rank 0 has.
func (h *Process) Spread(image []float32, l *dist.Layout) (*dist.Vector, error) {
	v, err := dist.NewVector(h.Device, l)
	if err != nil {
		return nil, err
	}
	return v, dist.ScatterEach(v, GatherChunk, func(first int, part device.Buf) error {
		return device.Upload(part, image[first:first+part.Len()])
	})
}
