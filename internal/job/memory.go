package job

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	kernels "github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
	"github.com/kirchhoff-lsm/lsm/solver"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Memory is what a run holds at once, in bytes.
type Memory struct {
	Tables    int64 // traveltimes and weights, at once
	AllTables int64 // of every place; more than Tables where they are recomputed
	Data      int64 // of it what is held at once
	AllData   int64 // more than Data where it is streamed
	Vectors   int64 // of the solver
	Scratch   int64 // of the engine and the traveltimes
	Model     int64 // the velocity model
	Gather    int64 // the whole image, on the rank that writes it
	Lists     int64 // of the survey: which trace has which places
	Program   int64 // the program itself, its libraries, and garbage that the collector lets stand
	Limit     int64

	outside int64 // what of it is not on Go's heap, but for Program
	late    int64 // what of the heap is there only once the tables are made

	// On the GPU, where there is one: tables, vectors, scratch; and what is free there
	// for this rank.
	Card, CardLimit int64

	Compact   bool  // their times are held in 16 bits
	Recompute bool  // tables are made anew in every application
	Coarse    int64 // of the coarse tables that they are made from; 0 for none

	Stream bool  // traces are read as they are needed
	groups []int // in groups that begin at these of the rank's traces, the last number being that of all
}

// coarseFactor is the distance, in points, between those that coarse tables keep.
const coarseFactor = 2

// program is what the process took before its first job, code, libraries and run time,
// and the part of it that is Go's heap.
var program = sync.OnceValues(func() (resident, heap int64) { return machine.PeakMemory(), machine.Heap() })

// garbage is what the collector may let stand on the heap besides what is counted,
// touched what becomes resident of code, libraries and run time in the course of a run.
const (
	garbage = 4 << 20
	touched = 1 << 20
)

// Total is the sum.
func (m Memory) Total() int64 { return m.Tables + m.besides() }

// besides is all but the tables, rest what messages call so.
func (m Memory) besides() int64 {
	return m.Data + m.Vectors + m.Scratch + m.Coarse + m.rest()
}

func (m Memory) rest() int64 { return m.Model + m.Gather + m.Lists + m.Program }

// making counts what is needed while tables are made, and what of traces once they are,
// both outside the heap. Where tables are made anew in every application the solver's
// vectors are there as well; else they come later.
func (m *Memory) making(tables, traces int64) {
	m.add(traces)
	if !m.Recompute {
		traces += m.late
	}
	m.add(max(0, tables-traces))
}

// boundHeap has the collector keep Go's heap to what the plan counts of it, where this
// process runs nothing else: garbage would otherwise stand until the heap has doubled.
// What is there late only is not counted before. With a card the plan of the host is a
// rough one, and there is no bound.
func (j *Job) boundHeap(m Memory, late bool) {
	if !j.Alone || j.card != nil {
		return
	}
	_, heap := program()
	bound := heap + garbage + m.Total() - m.Program - m.outside
	if !late {
		bound -= m.late
	}
	bound += bound / 32 // of a limit the collector aims 3 per cent lower
	debug.SetMemoryLimit(min(bound, userLimit()))
}

// collect gives the collector its turn now, where much has become garbage at once and
// as much is asked for next: it works beside the program and might come too late.
func (j *Job) collect() {
	if j.Alone {
		runtime.GC()
	}
}

// userLimit is what the environment variable GOMEMLIMIT asks for.
var userLimit = sync.OnceValue(func() int64 { return debug.SetMemoryLimit(-1) })

func (m Memory) String() string {
	h := func(n int64) string { return humanize.IBytes(uint64(n)) }
	if m.Card > 0 {
		return fmt.Sprintf("%s (data %s, the rest %s) and %s", h(m.Total()), h(m.Data), h(m.Scratch+m.rest()), m.card())
	}
	tables := "tables " + h(m.Tables)
	switch {
	case m.Compact:
		tables += " with times in 16 bits"
	case m.Coarse > 0:
		tables += " of " + h(m.AllTables) + " at a time, interpolated in every application from coarse ones of " + h(m.Coarse)
	case m.Recompute:
		tables += " of " + h(m.AllTables) + " at a time, recomputed in every application"
	}
	data := "data " + h(m.Data)
	if m.Stream {
		data += fmt.Sprintf(" of %s at a time, streamed in %s of up to %s", h(m.AllData), readable.Count(len(m.groups)-1, "group"), readable.Count(longest(m.groups), "trace"))
	}
	return fmt.Sprintf("%s (%s, %s, solver vectors %s, scratch %s, the rest %s)",
		h(m.Total()), tables, data, h(m.Vectors), h(m.Scratch), h(m.rest()))
}

// Memory predicts what this rank holds in a run of the configured solver, and
// decides where its tables are.
func (j *Job) Memory() Memory { return j.memoryOf(j.world.Rank(), j.mine, j.own, j.residency) }

// memoryOf is Memory for a rank with a share whose traces have the given places.
func (j *Job) memoryOf(rank int, s share, own *survey.Positions, r residency) Memory {
	p, places := j.problemOf(s, own), own.Len()
	word := int64(j.elementType().Size())
	n, classes := int64(j.slabLen(s)), int64(max(1, j.classes()))
	samples := int64(s.last-s.first) * int64(j.Survey.NT)
	options := j.options()
	if j.twoLevels() {
		options.Preconditioner = (*twoLevel)(nil)
	}
	images, vectors := solver.Footprint(j.Config.Solver.Method, options)
	if j.matches() {
		images, vectors = 3, 1
	}
	below, besides := j.rowVectors()
	images += below*(vectors+1) + besides // the data's rows, too
	scaling, least := j.preconditionerVectors()
	images += scaling
	vectors = max(vectors, least) // the solver's come later
	if j.Engine == "reference" {
		vectors++ // the data in double precision
	}
	if j.weighted() {
		vectors += 2 // the weights and what lies between them and the operator
		if j.Config.Output.Residual.IsSet() {
			vectors++ // the weighted data beside the data
		}
	}
	if j.surface != nil {
		images += 3 // likewise, and the image beside the iterate
	}
	if j.Config.Output.Residual.IsSet() {
		vectors++
	}
	m := Memory{
		Data:    samples * 4,
		AllData: samples * 4,
		Vectors: word*(int64(images)*classes*n+int64(vectors)*samples) + j.twoLevelVectors(int64(s.last-s.first), n),
		Model:   (8 + 4) * int64(len(j.Velocity)), // and what the eikonal solver makes of it
		Lists:   j.listBytes(s),
		Limit:   j.memoryLimit(),
	}
	resident, _ := program()
	m.Program = resident + garbage + touched
	if rank == 0 {
		m.Gather = 4*int64(j.Image.Len()) + j.dipBytes() + j.matchBytes()
	}
	if classes > 1 {
		m.Vectors += word * n // their sum
		if j.Config.Output.Adjoint.IsSet() {
			m.Vectors += word * classes * n // written before the solve, and not at once given back
		}
	}
	if j.card != nil {
		m = j.onCard(m, p, samples, r)
		if c := j.coarseProblem(s, own); c != nil {
			coarse := kernels.Needs(c, kirchhoff.Work{Exact: j.exact()}, j.card.Card().Multiprocessors)
			m.Card += coarse.Tables + coarse.Scratch
		}
		m.Scratch += j.windowBytes(n)
		return m
	}
	if r.stream {
		return j.streamMemory(m, p, s, r)
	}
	m.late = m.Vectors + m.Gather
	if j.Engine == "reference" {
		return j.referenceMemory(m, p, s)
	}
	coarse := j.coarseBytes(s, own, m.Vectors)
	m.Scratch = j.windowBytes(n)
	add := func(m Memory, n kirchhoff.Need, making int64) Memory {
		m.Tables, m.AllTables = n.Tables, n.AllTables
		m.outside += n.Tables
		m.Scratch += n.Heap
		m.add(n.Scratch + j.overlapBytes(n.Pieces, s) + coarse)
		m.making(n.Making+making, n.Traces)
		return m
	}
	work := kirchhoff.Work{Exact: j.exact()}
	for _, tables := range []string{"full", "uint16"} {
		if !r.tries(tables) {
			continue
		}
		whole := m
		p.Compact = tables == "uint16"
		whole.Compact = p.Compact
		if whole = add(whole, kirchhoff.Needs(p, work), 0); r.tables == tables || whole.Total() <= m.Limit {
			return whole
		}
	}
	p.Compact = false
	m.Recompute, work.Remake = true, true
	of := kirchhoff.Needs(p, work)
	making := int64(0)
	if r.tables == "coarse" {
		// What the coarse tables are made with is gone before there are others.
		m.Coarse = int64(places) * traveltime.CoarseBytes(j.Image, coarseFactor)
		making = traveltime.CoarseScratchBytes(j.Image)*int64(p.Threads) - of.Fields
	}
	if p.Velocity != nil {
		m.Model += 8 * int64(j.Image.Len()) // on the image, for weights
	}
	with := func(places int64) Memory {
		work.Budget = places * of.Place
		k := add(m, kirchhoff.Needs(p, work), making)
		k.outside += work.Budget - k.Tables
		k.Tables = work.Budget // of which the last stretches may take less
		return k
	}
	// Whole places, and those that belong together at least. Fewer of them leave fewer
	// traces to be listed at a time, which leaves room for more.
	fits := func(places int64) bool { return with(places).Total() <= m.Limit }
	hi := int64(places)
	if hi == 0 || fits(hi) {
		return with(hi)
	}
	lo := min(hi, int64(p.LeastPlaces(j.exact())))
	for range searches {
		if mid := (lo + hi) / 2; fits(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return with(lo)
}

// searches is how often the number of places whose tables are held is halved in search of
// the most that fit: to a 64th of all places.
const searches = 6

// overlapBytes is what a library that sums over ranks beside the computation takes for it:
// room for what comes from others, of as many pieces as are under way.
func (j *Job) overlapBytes(pieces int64, s share) (bytes int64) {
	if j.Config.Comm.Overlap == "off" {
		return 0
	}
	if j.slabLen(s) < j.Image.Len() { // data are summed over blocks
		bytes += pieces
	}
	if s.last-s.first < j.total() { // images are summed over shots
		word := int64(4)
		if j.exact() {
			word = 8
		}
		bytes += word * int64(j.slabLen(s))
	}
	return bytes
}

// add counts scratch outside the heap.
func (m *Memory) add(bytes int64) {
	m.Scratch += bytes
	m.outside += bytes
}

// referenceMemory completes the memory of the reference engine, whose tables are on the
// heap.
func (j *Job) referenceMemory(m Memory, p *kirchhoff.Problem, s share) Memory {
	n := kirchhoff.ReferenceNeeds(p, kirchhoff.Work{})
	m.Scratch = n.Heap + j.windowBytes(int64(j.slabLen(s))) + j.coarseBytes(s, p.Positions, m.Vectors)
	m.Tables, m.AllTables = n.Tables, n.AllTables
	m.making(n.Making, 0)
	return m
}

// listBytes is what is known of each trace of the survey, and of each of a share.
func (j *Job) listBytes(s share) int64 {
	each := int64(2*4 + 2*4) // its rows of sources and receivers, its places
	for _, list := range [][]int32{j.order, j.file, j.class} {
		if list != nil {
			each += 4
		}
	}
	return each*int64(j.Survey.NumTraces()) + 2*4*int64(s.last-s.first)
}

// streamMemory completes the memory of a run whose traces are streamed: groups as large
// as they may be where the tables fit, whole, else in 16 bits, else of one group.
func (j *Job) streamMemory(m Memory, p *kirchhoff.Problem, s share, r residency) Memory {
	m.Stream = true
	images := solver.StreamFootprint(j.Config.Solver.Method, j.options())
	if j.Config.Solver.Damping > 0 {
		images += 2 // the row's scratch
	}
	if j.surface != nil {
		images += 4 // its weights, two of scratch, the image beside the iterate
	}
	m.Vectors = 4 * int64(j.slabLen(s)) * int64(images)
	most := max(1, groupBytes/(4*groupBuffers*j.Survey.NT))
	for _, tables := range []string{"full", "uint16"} {
		if !r.tries(tables) {
			continue
		}
		whole := m
		p.Compact = tables == "uint16"
		whole.Compact = p.Compact
		if whole = j.fitGroups(whole, p, s, most); r.tables == tables || whole.Total() <= m.Limit {
			return whole
		}
	}
	p.Compact = false
	m.Recompute = true
	if r.tables == "coarse" {
		m.Coarse = int64(p.Positions.Len()) * traveltime.CoarseBytes(j.Image, coarseFactor)
	}
	return j.fitGroups(m, p, s, most)
}

// fitGroups cuts groups of at most so many traces, or fewer where memory asks for it.
func (j *Job) fitGroups(m Memory, p *kirchhoff.Problem, s share, most int) Memory {
	for ; ; most /= 2 {
		m.groups = cutShots(s, most)
		n := kirchhoff.Needs(p, kirchhoff.Work{Cuts: m.groups, Remake: m.Recompute, Exact: j.exact()})
		traces := int64(longest(m.groups))
		m.Data = 4 * int64(j.Survey.NT) * (2*traces + secondLongest(m.groups))
		m.Tables, m.AllTables = n.Tables, n.AllTables
		m.Scratch, m.outside, m.late = n.Heap, m.Tables, m.Vectors+m.Gather
		m.outside -= 4 * int64(j.Survey.NT) * (traces - secondLongest(m.groups)) // on the heap, never touched
		m.add(n.Scratch + j.overlapBytes(n.Pieces, s))
		m.making(n.Making, n.Traces)
		if m.Total() <= m.Limit || len(m.groups)-1 == len(s.shots) {
			return m
		}
	}
}

// CheckMemory refuses a run of which this rank's part would not fit.
func (j *Job) CheckMemory() error { return j.Memory().Check() }

// Check refuses what does not fit.
func (m Memory) Check() error {
	if m.Card > m.CardLimit {
		return status.Hint(status.Resource(fmt.Errorf("memory: this run needs %s", m.card())),
			"use more ranks with a GPU each, a coarser or smaller image grid or fewer traces")
	}
	if m.Total() <= m.Limit {
		return nil
	}
	hint := "use more ranks, a coarser or smaller image grid or fewer traces, or raise machine.memory_gib"
	if !m.Stream {
		hint += `; data.read = "stream" holds few traces at a time`
	}
	return status.Hint(status.Resource(fmt.Errorf("memory: this run needs %s; the limit is %s", m, humanize.IBytes(uint64(m.Limit)))), hint)
}

// memoryLimit is machine.memory_gib, or this rank's part of what the machine could give
// when the job was opened: what the job takes itself is in the plan.
func (j *Job) memoryLimit() int64 {
	if g := j.Config.Machine.MemoryGiB; g > 0 {
		return int64(g * (1 << 30))
	}
	return j.available
}

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
