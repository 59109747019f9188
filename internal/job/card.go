package job

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	kernels "github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
)

// CompileCommand is the hidden command of this program that compiles a kernel for
// HIP, whose compiler ends its caller when it does not know a card.
const CompileCommand = "compile-kernel"

// openCard makes the GPU of this rank ready.
func (j *Job) openCard(engine driver.Engine) error {
	card, warning, err := OpenCard(engine, j.node)
	if err != nil {
		return err
	}
	if warning != "" {
		j.report.Warn(warning)
	}
	card.OnMark = func(name string, begin time.Time, took time.Duration) { j.report.Beside("GPU", name, begin, took) }
	j.card, j.Device, j.Engine = card, card, engine.String()
	j.report.Infof("%s: %s", card.Name(), card.Programs())
	return nil
}

// OpenCard makes the GPU of this process ready, chosen by its place among the ranks of
// its machine, whose number is given for launchers that do not tell. The warning, ""
// for none, says that ranks must share a card.
func OpenCard(engine driver.Engine, ranks int) (card *gpu.Device, warning string, err error) {
	lib, err := driver.Open(engine)
	if err != nil {
		return nil, "", engineError(engine, err)
	}
	cards, err := lib.Cards()
	if err != nil {
		return nil, "", engineError(engine, err)
	}
	rank, size := gpu.LocalRank(os.Environ())
	if size == 0 {
		size = ranks
	}
	o := gpu.Options{Engine: engine, Cache: driver.UserCache()}
	o.Card, warning = gpu.Choose(rank, size, len(cards))
	if engine == driver.HIP {
		program, err := os.Executable()
		if err != nil {
			return nil, "", err
		}
		o.Child = []string{program, CompileCommand}
	}
	if card, err = gpu.Open(o); err != nil {
		return nil, "", engineError(engine, err)
	}
	return card, warning, nil
}

// autoNote is why engine = "auto" takes cpu on a machine with the given GPUs; "" for
// none. The GPU's engines have been timed on no real card, so from which size of a
// problem on a card is the faster is not known, and auto takes none.
func autoNote(gpus []string) string {
	if len(gpus) == 0 {
		return ""
	}
	return fmt.Sprintf(`kirchhoff.engine: auto takes cpu and leaves %s alone: from which size on a GPU is faster has not been measured; "cuda" or "hip" uses it`,
		strings.Join(gpus, ", "))
}

func engineError(engine driver.Engine, err error) error {
	return status.Hint(status.Resource(fmt.Errorf("kirchhoff.engine: %q: %w", engine, err)),
		`engine = "cpu" uses all cores and vector units; "lsm doctor" lists what this machine offers`)
}

// sameHardware refuses ranks whose instruction sets or cards differ where all ranks are
// to give the same bits: kernels for different ones round differently.
func (j *Job) sameHardware() error {
	if !j.exact() {
		return nil
	}
	facts := []comm.Fact{{Name: "the instruction set of the cpu's kernels", Value: j.isa}}
	if j.card != nil {
		facts = []comm.Fact{{Name: "the GPU", Value: j.card.Card().Name}}
	}
	return status.Hint(status.Usage(comm.Same(j.world, facts)),
		`solver.reproducible = "ranks" wants like hardware, or the environment variable LSM_CPU_ISA with the same value on all ranks; "run" and "off" do not`)
}

// shareCards finds out which ranks have one GPU between them, which no rank can tell
// alone, and warns of it.
func (j *Job) shareCards() error {
	if j.card == nil {
		return nil
	}
	all, err := j.world.Host().AllGather([]byte(gpu.Place(j.card.Card())))
	if err != nil {
		return err
	}
	places := make([]string, len(all))
	for i, p := range all {
		places[i] = string(p)
		if places[i] == string(all[j.world.Rank()]) {
			j.sharers = append(j.sharers, i)
		}
	}
	if w := gpu.SharedCards(places); w != "" {
		j.report.Warn(w)
	}
	return nil
}

// measureCard finds out what this rank may take of its GPU: of what is free there once
// all ranks have opened theirs, and before any takes more, an equal part for each rank
// that shares it.
func (j *Job) measureCard() error {
	if j.card == nil {
		return nil
	}
	free, _, err := j.card.Context().MemoryInfo()
	if err := comm.Together(j.world, err); err != nil {
		return err
	}
	all, err := j.world.Host().AllGather(binary.LittleEndian.AppendUint64(nil, uint64(free)))
	if err != nil {
		return err
	}
	for _, rank := range j.sharers {
		free = min(free, int64(binary.LittleEndian.Uint64(all[rank])))
	}
	j.cardFree = free / int64(len(j.sharers))
	return nil
}

// onCard moves to the GPU what a run on one holds there, and decides how its
// tables' times are held.
func (j *Job) onCard(m Memory, p *kirchhoff.Problem, samples int64, r residency) Memory {
	vectors := m.Vectors + 4*samples // and the data
	need := func() kirchhoff.Need {
		return kernels.Needs(p, kirchhoff.Work{Exact: j.exact()}, j.card.Card().Multiprocessors)
	}
	n := need()
	m.CardLimit = j.cardFree
	if r.tables == "uint16" || r.tables == "auto" && n.Tables+n.Scratch+vectors > m.CardLimit {
		m.Compact, p.Compact = true, true
		n = need()
	}
	m.Card, m.AllTables = n.Tables+n.Scratch+vectors, n.Tables
	m.Tables, m.Vectors, m.Scratch = 0, 0, n.Making
	return m
}

func (m Memory) card() string {
	return fmt.Sprintf("%s of %s free on the GPU (tables %s)", humanize.IBytes(uint64(m.Card)), humanize.IBytes(uint64(m.CardLimit)), humanize.IBytes(uint64(m.AllTables)))
}
