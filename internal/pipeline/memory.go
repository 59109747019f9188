package pipeline

import (
	"fmt"
	"sort"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	kernels "github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Memory is the memory that a rank holds at once, in bytes.
type Memory struct {
	Tables    int64 // traveltimes and weights, at once; on the GPU, if there is one
	AllTables int64 // of every place; more than Tables where they are recomputed
	Data      int64 // traces, at once
	AllData   int64 // all of the rank's; more than Data where they are streamed
	Vectors   int64 // of the solver
	Scratch   int64 // of the engine and the traveltimes
	Model     int64 // the velocity model
	Gather    int64 // what the rank that writes the image holds of it, and of whole images
	Lists     int64 // of the survey: which trace has which places
	Program   int64 // the program itself, its libraries, and garbage that the collector lets stand
	Limit     int64

	Outside int64 // the part that is not on Go's heap, without Program
	Late    int64 // the part of the heap that is taken only once the tables are made

	// On the GPU, if there is one: the bytes of tables, vectors and scratch, and the
	// bytes that are free there for this rank.
	Card, CardLimit int64

	Recompute bool  // every application recomputes the tables
	Budget    int64 // of bytes for these, see kirchhoff.Work
	Coarse    int64 // the coarse tables that they are made from; 0 for none

	Stream bool  // traces are read as they are needed
	Groups []int // of streamed traces: the first of each, counted from the rank's first, and the number of all
}

// Garbage is the memory that the collector may leave on the heap besides what is counted. touchedBytes is
// the code and library data that become resident during a run.
const (
	Garbage      = 4 << 20
	touchedBytes = 6 << 20
)

// Total is the sum on the host.
func (m Memory) Total() int64 {
	total := m.Data + m.Vectors + m.Scratch + m.Coarse + m.sumRest()
	if m.Card == 0 {
		total += m.Tables
	}
	return total
}

// sumRest returns what messages do not name.
func (m Memory) sumRest() int64 { return m.Model + m.Gather + m.Lists + m.Program }

// addMaking counts memory outside the heap: what making tables needs, and what the traces
// need once they are made. The solver's vectors come after the tables, unless every application
// recomputes the tables.
func (m *Memory) addMaking(tables, traces int64) {
	m.addScratch(traces)
	if !m.Recompute {
		traces += m.Late
	}
	m.addScratch(max(0, tables-traces))
}

// addScratch counts scratch outside the heap.
func (m *Memory) addScratch(bytes int64) {
	m.Scratch += bytes
	m.Outside += bytes
}

func (m Memory) String() string {
	h := func(n int64) string { return humanize.IBytes(uint64(n)) }
	data := "data " + h(m.Data)
	if m.Stream {
		longest, _ := FindTwoLongest(m.Groups)
		data += fmt.Sprintf(" of %s at a time, streamed in %s of up to %s", h(m.AllData), readable.Count(len(m.Groups)-1, "group"), readable.Count(longest, "trace"))
	}
	if m.Card > 0 {
		return fmt.Sprintf("%s (%s, the rest %s) and %s", h(m.Total()), data, h(m.Scratch+m.Coarse+m.sumRest()), m.cardText())
	}
	return fmt.Sprintf("%s (%s, %s, solver vectors %s, scratch %s, the rest %s)",
		h(m.Total()), m.tablesText(), data, h(m.Vectors), h(m.Scratch), h(m.sumRest()))
}

func (m Memory) tablesText() string {
	h := func(n int64) string { return humanize.IBytes(uint64(n)) }
	text := "tables " + h(m.Tables)
	switch {
	case m.Coarse > 0:
		text += " of " + h(m.AllTables) + " at a time, interpolated in every application from coarse ones of " + h(m.Coarse)
	case m.Recompute:
		text += " of " + h(m.AllTables) + " at a time, recomputed in every application"
	}
	return text
}

func (m Memory) cardText() string {
	return fmt.Sprintf("%s of %s free on the GPU (%s)", humanize.IBytes(uint64(m.Card)), humanize.IBytes(uint64(m.CardLimit)), m.tablesText())
}

// Fits reports whether there is as much memory.
func (m Memory) Fits() bool { return m.Total() <= m.Limit && m.Card <= m.CardLimit }

// Check refuses what does not fit.
func (m Memory) Check() error {
	if m.Card > m.CardLimit {
		return status.Hint(status.Resource(fmt.Errorf("memory: this run needs %s", m.cardText())),
			"use more ranks with a GPU each, a coarser or smaller image grid or fewer traces")
	}
	if m.Fits() {
		return nil
	}
	hint := "use more ranks, a coarser or smaller image grid or fewer traces, or raise machine.memory_gib"
	if !m.Stream {
		hint += `; data.read = "stream" holds few traces at a time`
	}
	return status.Hint(status.Resource(fmt.Errorf("memory: this run needs %s; the limit is %s", m, humanize.IBytes(uint64(m.Limit)))), hint)
}

// CountMemory predicts what a rank holds of its share in a run of the configured solver. With
// tables that are "exact" it also decides whether this rank recomputes them.
func CountMemory(p *Plan, s *Share) Memory {
	c := &memoryCount{plan: p, share: s, problem: p.Problem(s)}
	m := c.countCommon()
	m.Vectors = c.countVectors() + c.countHalo() + c.countWaveletFit()
	m.Late = m.Vectors + m.Gather
	switch {
	case p.Held.Stream:
		m.Stream = true
		return c.countTables(m, c.countStreamed)
	case p.Hardware.Engine == "reference":
		return c.countReference(m)
	}
	return c.countTables(m, c.countResident)
}

// memoryCount counts the memory of one share.
type memoryCount struct {
	plan    *Plan
	share   *Share
	problem *kirchhoff.Problem
}

func (c *memoryCount) places() int64 { return int64(c.problem.Positions.Len()) }
func (c *memoryCount) points() int64 { return int64(c.plan.Geometry.Points(c.share)) }
func (c *memoryCount) samples() int64 {
	return int64(c.share.Traces()) * int64(c.plan.Geometry.Survey.NT)
}

// countCommon counts what a rank holds with every engine.
func (c *memoryCount) countCommon() Memory {
	m := Memory{
		Data:    c.samples() * 4,
		AllData: c.samples() * 4,
		Model:   c.countModel(),
		Lists:   c.countLists(),
		Program: c.plan.Hardware.Resident + Garbage + touchedBytes,
		Limit:   c.plan.Hardware.Memory,
	}
	if g := c.plan.Config.Machine.MemoryGiB; g > 0 {
		m.Limit = int64(g * (1 << 30))
	}
	if c.share.Rank == 0 {
		m.Gather = c.countStretches() + c.countWholeImages()
	}
	return m
}

// modelPoint returns the bytes that a point of a velocity model takes as it is read, and those that the
// eikonal solver takes for it.
func modelPoint(t *Times, models [2]ModelFile, role survey.Role) (read, solver int64) {
	m := t.Leg(role)
	if traveltime.Traced(t.Method) && t.Tables == nil { // splines, the eikonal equation, and the slowness of the image
		return 8, 8 + 4 + 8
	}
	if !m.Anisotropic {
		return 8, 4
	}
	return 8 * int64(models[role].Point), 4 * int64(1+3+m.Grid.Dim())
}

// countModel returns what a rank holds of the velocity models.
func (c *memoryCount) countModel() (bytes int64) {
	slabs := c.plan.ModelSlabs(c.share)
	for role, slab := range slabs {
		v := c.plan.Times.Leg(survey.Role(role))
		if v.IsConstant() {
			continue
		}
		points := int64((slab[1] - slab[0]) * v.Plane())
		if c.plan.Geometry.Image.Domain == grid.Time {
			bytes += c.countModelInTime(v, 8*int64(c.plan.Inputs.Models[role].Point), points)
			continue
		}
		read, solver := modelPoint(c.plan.Times, c.plan.Inputs.Models, survey.Role(role))
		bytes += (read + solver) * points
	}
	return bytes
}

// countModelInTime returns the bytes of a model in time with the given points, at each bytes a point. If the
// image has other points, it adds the model at those points.
func (c *memoryCount) countModelInTime(v traveltime.Medium, each, points int64) int64 {
	if columns := TimedColumns(c.plan, c.share); !v.Grid.Equal(c.plan.Geometry.Image) {
		points += int64((columns[1] - columns[0]) * (c.plan.Geometry.Image.Len() / c.plan.Geometry.Image.Shape[0]))
	}
	return each * points
}

// GatherChunk is how many elements of a vector rank 0 holds at a time on their way to a file.
const GatherChunk = 4 << 20

// countStretches returns what rank 0 takes to write an image: a stretch of it and, if it comes from
// several ranks, as much where it arrives and where it is read back.
func (c *memoryCount) countStretches() int64 {
	n := min(GatherChunk, c.points())
	if c.share.Grid == [2]int{1, 1} {
		return 4 * n
	}
	return 12 * n
}

// countLists returns what is known of each trace of the survey, and of each of the share.
func (c *memoryCount) countLists() int64 {
	each := int64(2*4 + 2*4) // its rows of sources and receivers, its places
	for _, has := range []bool{!c.plan.Geometry.Shots.InOrder(), c.plan.Inputs.Numbers != nil, c.plan.Classes.ByTrace != nil} {
		if has {
			each += 4
		}
	}
	return each*int64(c.plan.Geometry.Survey.NumTraces()) + 2*4*int64(c.share.Traces()) + c.countUnsorted()
}

// countUnsorted returns what reading traces takes that are not in the file's order: a part of the file, the order
// and, where they are streamed, where each lies in a copy.
func (c *memoryCount) countUnsorted() int64 {
	if c.plan.Geometry.Shots.InOrder() || !c.plan.Inputs.HasData {
		return 0
	}
	bytes := c.plan.Inputs.Chunks.Buffer(c.share.Traces()) + 3*4*int64(c.share.Traces())
	if c.plan.Held.Stream {
		bytes += 4 * int64(c.plan.Inputs.Recorded)
	}
	return bytes
}

// countReference completes the memory of the reference engine, whose tables are on the heap.
func (c *memoryCount) countReference(m Memory) Memory {
	n := kirchhoff.ReferenceNeeds(c.problem)
	m.Scratch = n.Heap
	m.Tables, m.AllTables = n.Tables, n.AllTables
	m.addMaking(n.Making, 0)
	return m
}

// countTables completes the memory for the way in which the host's engine holds its tables.
func (c *memoryCount) countTables(m Memory, with func(Memory) Memory) Memory {
	switch c.plan.Held.Tables {
	case "full":
		return with(m)
	case "exact":
		if whole := with(m); whole.Fits() {
			return whole
		}
	}
	m.Recompute = true
	if c.plan.Held.Tables == "coarse" {
		_, opt := c.problem.TimesNeeded()
		if outline, err := traveltime.OutlineCoarse(c.problem.Times, c.problem.Positions, CoarseFactor, opt); err == nil { // on failure the run reports it
			m.Coarse, c.problem.Times = outline.Bytes(), outline
		}
	}
	return with(m)
}

// countResident completes the memory of a run that holds its traces. It counts the tables of all
// places or, if they are recomputed, of the number of places that fits.
func (c *memoryCount) countResident(m Memory) Memory {
	p, work := c.problem, kirchhoff.Work{Remake: m.Recompute}
	with := c.addHostEngine
	if c.plan.Hardware.Card != nil {
		with = func(m Memory, n kirchhoff.Need) Memory { return c.addCardEngine(m, n, 4*c.samples()) }
		work.Classes = c.plan.Classes.Of(c.plan.Geometry.Shots.List(c.share.First, c.share.Last))
	}
	all := c.engineNeeds(p, work)
	if !m.Recompute {
		return with(m, all)
	}
	if p.Dynamic {
		m.Model += 8 * int64(c.plan.Geometry.Reached(c.share)) // on the image, for weights
	}
	return c.fitMostPlaces(func(places int64) Memory {
		k := m
		k.Budget = places * all.Place
		work.Budget = k.Budget
		n := c.engineNeeds(p, work)
		n.Tables = k.Budget // an upper limit: even the largest stretch may take less
		return with(k, n)
	})
}

// engineNeeds returns what the engine of the run takes.
func (c *memoryCount) engineNeeds(p *kirchhoff.Problem, w kirchhoff.Work) kirchhoff.Need {
	if w.Exact = c.plan.Exact(); c.plan.Hardware.Card != nil {
		return kernels.Needs(p, w, c.plan.Hardware.Card.Multiprocessors)
	}
	return kirchhoff.Needs(p, w)
}

// addHostEngine counts what an engine takes that works on the host.
func (c *memoryCount) addHostEngine(m Memory, n kirchhoff.Need) Memory {
	m.addScratch(c.countOverlap(n.Pieces))
	m.addEngine(n)
	return m
}

// addCardEngine counts the memory of an engine that works on a card. The vectors and data bytes of
// traces are on the card too.
func (c *memoryCount) addCardEngine(m Memory, n kirchhoff.Need, data int64) Memory {
	m.CardLimit = c.plan.Hardware.Card.Free
	m.Card = n.Tables + n.Scratch + max(0, n.OnCard-n.Pieces) + m.Vectors + data
	m.Vectors, m.Late = 0, 0
	m.Tables, m.AllTables = n.Tables, n.AllTables
	m.Scratch += n.Making
	m.addScratch(c.countCrossing(n.Pieces))
	return m
}

// addEngine counts what the host's engine takes.
func (m *Memory) addEngine(n kirchhoff.Need) {
	m.Tables, m.AllTables = n.Tables, n.AllTables
	m.Outside += n.Tables
	m.Scratch += n.Heap
	m.addScratch(n.Scratch)
	m.addMaking(n.Making, n.Traces)
}

// fitMostPlaces returns the memory with the tables of as many places as fit, in steps of a 64th of
// all places, and at least of those that belong together. Fewer places mean fewer traces
// in the lists, which leaves more room.
func (c *memoryCount) fitMostPlaces(with func(places int64) Memory) Memory {
	const steps = 64
	all := c.places()
	least := min(all, int64(c.problem.LeastPlaces(c.plan.Exact())))
	places := func(step int) int64 { return all - (all-least)*int64(step)/steps }
	return with(places(sort.Search(steps, func(step int) bool { return with(places(step)).Fits() })))
}

// countHalo returns what a rank takes to map points that others hold: the image there, and sums that
// come of those points which it holds itself.
func (c *memoryCount) countHalo() int64 {
	if c.share.Lent == 0 {
		return 0
	}
	return int64(c.plan.Geometry.Reached(c.share))*int64(c.plan.Type().Size()) + int64(c.share.Lent*c.plan.Geometry.Plane())*8
}

// countOverlap returns what a library that sums over ranks beside the computation takes for it:
// room for what comes from others, of as many pieces as are under way.
func (c *memoryCount) countOverlap(pieces int64) (bytes int64) {
	if c.plan.Config.Comm.Overlap == "off" {
		return 0
	}
	if c.share.Grid[1] > 1 { // data are summed over blocks
		bytes += pieces
	}
	if c.share.Grid[0] > 1 && !c.share.Local() { // images are summed over shots
		word := int64(4)
		if c.plan.Exact() {
			word = 8
		}
		bytes += word * c.points()
	}
	return bytes
}

// countCrossing returns the pinned memory of the host that sums over ranks take on their way between
// cards, where they may go through the host: as much as is under way, each piece in the next
// power of two.
func (c *memoryCount) countCrossing(pieces int64) int64 {
	if b := c.plan.Config.Comm; (b.Backend == "nccl" || b.Backend == "rccl") && b.Fallback != "mpi" {
		return 0
	}
	return 2 * c.countOverlap(pieces)
}

// The traces of a streamed group take at most groupBytes in all buffers, unless a single
// shot takes more.
const (
	groupBytes   = 64 << 20
	groupBuffers = 3 // two that are read, one that is computed
)

// countStreamed completes the memory of a run whose traces are streamed: in groups as large as
// they may be, or smaller where memory asks for it.
func (c *memoryCount) countStreamed(m Memory) Memory {
	p, nt := c.problem, int64(c.plan.Geometry.Survey.NT)
	for most := max(1, groupBytes/(4*groupBuffers*c.plan.Geometry.Survey.NT)); ; most /= 2 {
		m.Groups = cutIntoGroups(c.share, most)
		longest, second := FindTwoLongest(m.Groups)
		n := c.engineNeeds(p, kirchhoff.Work{Cuts: m.Groups, Remake: m.Recompute})
		k := m
		if c.plan.Hardware.Card != nil {
			k.Data = 2 * gpu.StageBytes(4*nt*int64(longest))
			k = c.addCardEngine(k, n, 4*nt*int64(longest)*c.countCardBuffers())
		} else {
			k.Data = 4 * nt * int64(2*longest+second)
			k.Outside -= 4 * nt * int64(longest-second) // on the heap, never touched
			k.addScratch(c.countOverlap(n.Pieces))
			k.addEngine(n)
		}
		if k.Fits() || len(k.Groups)-1 == len(c.share.Shots) {
			return k
		}
	}
}

// countCardBuffers returns how many buffers of a group's traces a card has: two that are filled in turn,
// one that is computed, and their weights.
func (c *memoryCount) countCardBuffers() int64 {
	if c.plan.Knowing(Found{Dead: 1}).Weighted() {
		return 4
	}
	return 3
}

// cutIntoGroups are the first traces of groups of shots with at most the given number of
// traces, or of one shot, and the number of traces.
func cutIntoGroups(s *Share, most int) (cuts []int) {
	for i, at := range s.Shots {
		_, end := s.Shot(i)
		if len(cuts) == 0 || end-cuts[len(cuts)-1] > most {
			cuts = append(cuts, at)
		}
	}
	return append(cuts, s.Traces())
}

// FindTwoLongest are the numbers of traces in the two largest groups; second is 0 if there
// is one group. If groups are read into two buffers in turn, one buffer holds at most the
// second largest.
func FindTwoLongest(cuts []int) (longest, second int) {
	for i := range len(cuts) - 1 {
		n := cuts[i+1] - cuts[i]
		second = max(second, min(n, longest))
		longest = max(longest, n)
	}
	return longest, second
}
