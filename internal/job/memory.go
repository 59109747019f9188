package job

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Memory is what a run holds at once, in bytes.
type Memory struct {
	Tables    int64 // traveltimes and weights, at once
	AllTables int64 // of every place; more than Tables where they are recomputed
	Data      int64
	Vectors   int64 // of the solver
	Scratch   int64 // of the engine and the traveltimes
	Limit     int64

	Compact   bool  // their times are held in 16 bits
	Recompute bool  // tables are made anew in every application
	Coarse    int64 // of the coarse tables that they are made from; 0 for none
}

// coarseFactor is the distance, in points, between those that coarse tables keep.
const coarseFactor = 2

// Total is the sum.
func (m Memory) Total() int64 { return m.Tables + m.rest() }

func (m Memory) rest() int64 { return m.Data + m.Vectors + m.Scratch + m.Coarse }

func (m Memory) String() string {
	h := func(n int64) string { return humanize.IBytes(uint64(n)) }
	tables := "tables " + h(m.Tables)
	switch {
	case m.Compact:
		tables += " with times in 16 bits"
	case m.Coarse > 0:
		tables += " of " + h(m.AllTables) + " at a time, interpolated in every application from coarse ones of " + h(m.Coarse)
	case m.Recompute:
		tables += " of " + h(m.AllTables) + " at a time, recomputed in every application"
	}
	return fmt.Sprintf("%s (%s, data %s, solver vectors %s, scratch %s)",
		h(m.Total()), tables, h(m.Data), h(m.Vectors), h(m.Scratch))
}

// Memory predicts what a run of the configured solver holds, and decides where
// its tables are.
func (j *Job) Memory() Memory {
	word := int64(j.elementType().Size())
	n := int64(j.Image.Len())
	samples := int64(j.Survey.NumTraces()) * int64(j.Survey.NT)
	perImage, perData := int64(3+j.keptGradients()), int64(3) // CGLS: x, s, p, gradients; d, r, q
	if j.Config.Solver.Damping > 0 {
		perImage += 4 // the second row of d, r, q and the scratch of its adjoint
	}
	m := Memory{
		Data:    samples * 4,
		Vectors: word * (perImage*n + perData*samples),
		Scratch: word * samples,
		Limit:   j.memoryLimit(),
	}
	p := j.problem()
	place := p.PlaceBytes()
	if j.Engine == "reference" {
		place = word * n
		if p.Dynamic {
			place *= 2*int64(j.Image.Dim()) - 1
		}
	} else {
		m.Scratch = p.ScratchBytes()
	}
	if e, ok := j.Times.(*traveltime.Eikonal); ok {
		m.Scratch += e.ScratchBytes(false) * int64(j.Device.Threads())
	}
	m.AllTables = place * int64(j.Places.Len())
	m.Tables = m.AllTables
	want := j.Config.Kirchhoff.Tables
	if j.Engine == "reference" || want == "full" || want == "auto" && m.Total() <= m.Limit {
		return m
	}
	if want == "uint16" || want == "auto" {
		compact := m
		compact.Compact = true
		p.Compact = true
		compact.Tables = p.PlaceBytes() * int64(j.Places.Len())
		compact.AllTables = compact.Tables
		if want == "uint16" || compact.Total() <= m.Limit {
			return compact
		}
	}
	m.Recompute = true
	if want == "coarse" {
		m.Coarse = int64(j.Places.Len()) * traveltime.CoarseBytes(j.Image, coarseFactor)
	}
	// Whole places, two at least: a trace has two.
	m.Tables = min(m.AllTables, max(2, (m.Limit-m.rest())/place)*place)
	return m
}

// CheckMemory refuses a run that would not fit.
func (j *Job) CheckMemory() error {
	m := j.Memory()
	if m.Total() <= m.Limit {
		return nil
	}
	return status.Hint(status.Resource(fmt.Errorf("memory: this run needs %s; the limit is %s", m, humanize.IBytes(uint64(m.Limit)))),
		"use a coarser or smaller image grid or fewer traces, or raise machine.memory_gib")
}

// memoryLimit is machine.memory_gib, or what the machine can give now.
func (j *Job) memoryLimit() int64 {
	if g := j.Config.Machine.MemoryGiB; g > 0 {
		return int64(g * (1 << 30))
	}
	m := machine.ReadMemory("/proc", "/sys/fs/cgroup")
	switch {
	case m.Available == 0:
		return 1 << 62 // not known on this system: the allocation itself will tell
	case m.Limit > 0:
		return min(m.Available, m.Limit)
	}
	return m.Available
}
