package job

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// here is where this rank is: among the others, and on what hardware. Rank r of the run
// has row r / blocks and column r % blocks of the process grid.
type here struct {
	inputs.Ranks
	grid   [2]int    // ranks over shots, over image blocks
	shots  comm.Comm // ranks with the same image block
	blocks comm.Comm // ranks with the same shots

	Host     *device.Host  // this rank's processors
	Device   device.Device // where its vectors are: Host, or a GPU
	hardware plan.Hardware
	isa      string // instruction set of the cpu's kernels; "" for another engine

	onNode  int         // ranks on this machine
	card    *gpu.Device // nil: none
	nccl    *nccl.Group // between the cards of all ranks; nil: none
	unwatch func()      // takes back that the watch may end what nccl is in
}

// join finds this rank's place among the others, and makes its hardware ready.
func (h *here) join(cfg *config.Config) error {
	for _, step := range []func(*config.Config) error{
		h.joinGrid, h.joinMachine, h.chooseEngine, h.sameHardware, h.joinCards, h.measureCard,
	} {
		if err := comm.Together(h.World, step(cfg)); err != nil {
			return err
		}
	}
	return nil
}

// leave gives the card back.
func (h *here) leave() {
	if h.nccl != nil {
		h.unwatch()
		h.nccl.Close() // all its sums are done
		h.nccl = nil
	}
	if h.card != nil {
		h.card.Close() // nothing is left to be done on it
		h.card = nil
	}
}

// joinGrid lays the ranks of a run out as the configuration says.
func (h *here) joinGrid(cfg *config.Config) (err error) {
	h.shots, h.blocks = h.World, h.World
	if h.grid, err = plan.GridFor(cfg.Comm.Grid, h.World.Size()); err != nil || h.World.Size() == 1 {
		return err
	}
	return h.split(h.World)
}

// split joins the ranks with the same image block and those with the same shots.
func (h *here) split(world comm.Comm) (err error) {
	if h.shots, err = world.Split(world.Rank()%h.grid[1], world.Rank()); err != nil {
		return err
	}
	if h.blocks, err = world.Split(world.Rank()/h.grid[1], world.Rank()); err != nil {
		return err
	}
	watch.Name(h.shots, "shots")
	watch.Name(h.blocks, "blocks")
	return nil
}

// joinMachine shares the processors and the memory of this machine with its other ranks.
func (h *here) joinMachine(cfg *config.Config) error {
	threads, ranks, err := machine.Share(h.World.Host().AllGather)
	if err != nil {
		return err
	}
	if t := cfg.Machine.Threads; t > 0 {
		threads = t
	}
	h.Host = device.NewHost(threads)
	h.Host.OnMark = h.Report.Time
	h.Device = h.Host
	resident, _ := program()
	h.hardware = plan.Hardware{Threads: threads, Memory: availableMemory(ranks), Resident: resident}
	h.onNode = ranks
	return nil
}

func (h *here) chooseEngine(cfg *config.Config) (err error) {
	switch e := cfg.Kirchhoff.Engine; e {
	case "auto", "cpu":
		if h.isa, err = kirchhoff.ISA(); err != nil {
			return err
		}
		h.hardware.Engine = "cpu"
		if note := autoNote(machine.Accelerators("/dev")); e == "auto" && note != "" {
			h.Report.Infof("%s", note)
		}
	case "reference":
		h.hardware.Engine = e
		if h.World.Size() > 1 && cfg.Solver.Reproducible == "ranks" {
			return status.Hint(status.Usage(fmt.Errorf("solver.reproducible: \"ranks\" is not offered by kirchhoff.engine = \"reference\" on %d ranks", h.World.Size())),
				`reproducible = "run" gives the same bits on the same ranks; engine = "cpu" gives them on any number`)
		}
	case "cuda":
		return h.openCard(driver.CUDA)
	case "hip":
		return h.openCard(driver.HIP)
	}
	return nil
}

// program is what the process took before its first job, code, libraries and run time,
// and the part of it that is Go's heap.
var program = sync.OnceValues(func() (resident, heap int64) { return machine.PeakMemory(), machine.Heap() })

// availableMemory is what each of so many processes may have of what the machine can give
// now.
func availableMemory(processes int) int64 {
	m := machine.ReadMemory("/proc", "/sys/fs/cgroup")
	limit := int64(1 << 62) // not known on this system: the allocation itself will tell
	for _, shared := range []int64{m.Available, m.Limit} {
		if shared > 0 {
			limit = min(limit, shared/int64(processes))
		}
	}
	if m.Address > 0 { // each process has its own
		resident, _ := program()
		limit = min(limit, resident+machine.Usable(m.Address))
	}
	return limit
}

// boundHeap has the collector keep Go's heap to what the forecast counts of it, where this
// process runs nothing else: garbage would otherwise stand until the heap has doubled.
// What is there late only is not counted before. With a card the forecast of the host is
// a rough one, and there is no bound.
func (j *Job) boundHeap(m forecast.Memory, late bool) {
	if !j.Alone || j.card != nil {
		return
	}
	_, heap := program()
	bound := heap + forecast.Garbage + m.Total() - m.Program - m.Outside
	if !late {
		bound -= m.Late
	}
	bound += bound / 32 // of a limit the collector aims 3 per cent lower
	debug.SetMemoryLimit(min(bound, userLimit()))
}

// userLimit is what the environment variable GOMEMLIMIT asks for.
var userLimit = sync.OnceValue(func() int64 { return debug.SetMemoryLimit(-1) })

// collect gives the collector its turn now, where much has become garbage at once and
// as much is asked for next: it works beside the program and might come too late.
func (j *Job) collect() {
	if j.Alone {
		runtime.GC()
	}
}
