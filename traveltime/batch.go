package traveltime

/*
#cgo CFLAGS: -O3
#cgo LDFLAGS: -lm
#include <stdlib.h>
#include "output.h"
#include "sweep.h"
*/
import "C"

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/internal/pages"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Bounds of the iteration. The first-order times only have to reach every
// point, and be near enough to tell which side is upwind. Second-order times
// may never come to rest where two waves meet, because there a difference of
// one rounding switches the stencil; so after a number of rounds the tolerance
// doubles with each further one. All bounds count rounds alike for every
// source, whatever else is in its batch.
const (
	firstTolerance  = 1e-3
	secondTolerance = 1e-6
	patience        = 16
	maxRounds       = 1000
)

// engine is one build of the sweeps: an instruction set and a number of lanes.
type engine struct {
	name  string
	lanes int
	sweep C.eik_sweep
}

// engines lists what this machine offers, widest first. Engines that are listed
// together give the same bits; "portable" has no fused multiply-add everywhere
// and stands in only where there is no other.
func engines() []engine {
	var list []engine
	for _, e := range []engine{{name: "avx512", lanes: 16}, {name: "avx2", lanes: 8}} {
		if e, ok := findEngine(e.name, e.lanes); ok {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		e, ok := findEngine("portable", 4)
		if !ok {
			panic("traveltime: the portable sweeps are missing")
		}
		list = append(list, e)
	}
	return list
}

func findEngine(name string, lanes int) (engine, bool) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	e := engine{name: name, lanes: lanes, sweep: C.eik_find(c, C.int(lanes))}
	return e, e.sweep != nil
}

// batch is the scratch memory of one batch of sources, all of it outside Go's heap, so
// that it may point to itself; made once per worker and engine.
type batch struct {
	c       *C.eik_batch
	rows    int // n0*n1
	row     int // floats in a row of tau
	origin  [3]float64
	spacing [3]float64 // m
	unit    float64    // m, the smallest spacing
	blocks  int
	memory  pages.Arena
}

func newBatch(e *Eikonal, lanes int) (*batch, error) {
	b := &batch{}
	failed := false
	get := func(bytes int) unsafe.Pointer {
		p, err := pages.Make[byte](&b.memory, bytes)
		failed = failed || err != nil
		return unsafe.Pointer(unsafe.SliceData(p))
	}
	if b.c = (*C.eik_batch)(get(int(unsafe.Sizeof(C.eik_batch{})))); failed {
		return nil, fmt.Errorf("traveltime: out of memory")
	}
	g, dim := e.model, e.model.Dim()
	n := [3]int{g.Shape[0], 1, g.Shape[dim-1]}
	b.origin, b.spacing = [3]float64{g.Origin[0], 0, g.Origin[dim-1]}, [3]float64{g.Spacing[0], math.Inf(1), g.Spacing[dim-1]}
	if dim == 3 {
		n[1], b.origin[1], b.spacing[1] = g.Shape[1], g.Origin[1], g.Spacing[1]
	}
	b.unit = min(b.spacing[0], b.spacing[1], b.spacing[2])
	b.rows, b.row = n[0]*n[1], (n[2]+2*C.EIK_GHOSTS)*lanes
	c := b.c
	c.dim, c.lanes = C.int(dim), C.int(lanes)
	c.chunks = C.int((n[2] + C.EIK_CHUNK - 1) / C.EIK_CHUNK)
	b.blocks = b.rows * int(c.chunks)
	for a := range 3 {
		c.n[a] = C.int(n[a])
		c.h[a] = C.float(b.spacing[a] / b.unit)
		c.rho[a] = (*C.float)(get(4 * lanes * n[a]))
		c.box[a] = (*C.uint16_t)(get(2 * n[a]))
	}
	c.rho_back = (*C.float)(get(4 * lanes * n[2]))
	c.tau = (*C.float)(get(4 * b.rows * b.row))
	c.beyond = (*C.float)(get(4 * b.row))
	c.dirty = (*C.uint16_t)(get(2 * C.EIK_DIRECTIONS * b.blocks))
	c.dirs = (*C.uint16_t)(get(2 * C.EIK_DIRECTIONS * b.blocks))
	if failed {
		b.free()
		return nil, fmt.Errorf("traveltime: out of memory: a batch of %d sources on %v needs %d bytes", lanes, g, batchBytes(g, lanes))
	}
	fill(floats(c.beyond, b.row), C.EIK_UNREACHED)
	return b, nil
}

func (b *batch) free() { b.memory.Free() }

// start sets the batch up for its sources: geometry, boxes, unreached times.
func (b *batch) start(e *Eikonal, p *survey.Positions, places []int) {
	lanes := int(b.c.lanes)
	fill(floats(b.c.tau, b.rows*b.row), C.EIK_UNREACHED)
	size := C.EIK_DIRECTIONS * b.blocks
	dirty := unsafe.Slice((*uint16)(b.c.dirty), size)
	clear(dirty)
	clear(unsafe.Slice((*uint16)(b.c.dirs), size))
	dim := p.Dim
	for a := range 3 {
		clear(unsafe.Slice((*uint16)(b.c.box[a]), int(b.c.n[a])))
	}
	velocity := func(n int) float64 { return 1 / (math.Sqrt(float64(e.slow2[n])) * e.scale) }
	tau := floats(b.c.tau, b.rows*b.row)
	for lane := range lanes {
		// Idle lanes repeat the last source but are never due.
		at := p.At(places[min(lane, len(places)-1)])
		b.geometry(lane, at)
		if lane >= len(places) {
			continue
		}
		for axis := range dim {
			a := b.axis(axis, dim)
			lo, hi := startRange(e.model, axis, at[axis])
			for i := lo; i <= hi; i++ {
				unsafe.Slice((*uint16)(b.c.box[a]), int(b.c.n[a]))[i] |= 1 << lane
			}
		}
		startBox(e.model, at, velocity, func(k [3]int, t float64) {
			if dim == 2 {
				k[1], k[2] = 0, k[1]
			}
			row := k[0]*int(b.c.n[1]) + k[1]
			tau[row*b.row+(C.EIK_GHOSTS+k[2])*lanes+lane] = float32(t / e.scale)
			C.eik_mark_all(b.c, C.int(k[0]), C.int(k[1]), C.int(k[2]/C.EIK_CHUNK), 1<<lane)
		})
	}
}

// axis is the C side's number of a grid axis: z is always number 2.
func (b *batch) axis(axis, dim int) int {
	if axis == dim-1 {
		return 2
	}
	return axis
}

func (b *batch) geometry(lane int, at []float64) {
	lanes := int(b.c.lanes)
	for axis := range at {
		a := b.axis(axis, len(at))
		n := int(b.c.n[a])
		rho := floats(b.c.rho[a], n*lanes)
		for i := range n {
			rho[i*lanes+lane] = float32((b.origin[a] + float64(i)*b.spacing[a] - at[axis]) / b.unit)
		}
		if a == 2 {
			back := floats(b.c.rho_back, n*lanes)
			for i := range n {
				back[i*lanes+lane] = -rho[i*lanes+lane]
			}
		}
	}
}

// settle sweeps until nothing is due: first-order times, then second-order
// ones. It returns the number of second-order rounds and the tolerance that the
// last of them had.
func (b *batch) settle(ctx context.Context, e *Eikonal, eng engine) (rounds int, tolerance float64, err error) {
	size := C.EIK_DIRECTIONS * b.blocks
	dirty := unsafe.Slice((*uint16)(b.c.dirty), size)
	dirs := unsafe.Slice((*uint16)(b.c.dirs), size)
	slow2 := (*C.float)(unsafe.Pointer(&e.slow2[0]))
	round := func(order C.int) (blocks int) {
		for d := range 1 << e.model.Dim() {
			blocks += int(C.eik_call(eng.sweep, b.c, slow2, C.int(d), order))
		}
		return blocks
	}
	b.c.tolerance = firstTolerance
	for r := 0; r < maxRounds && round(0) > 0; r++ {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
	}
	copy(dirty, dirs)
	b.c.tolerance = secondTolerance
	for rounds < maxRounds && round(1) > 0 {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		if rounds++; rounds > patience {
			b.c.tolerance *= 2
		}
	}
	return rounds, float64(b.c.tolerance), nil
}

// split writes τ of the first n lanes to dst, [n][points].
func (b *batch) split(dst []float32, n int) error {
	if lost := C.eik_split(cfloats(dst), b.c.tau, C.long(b.rows), b.c.n[2], b.c.lanes, C.int(n)); lost > 0 {
		return fmt.Errorf("traveltime: %d of %d times were never reached by the sweeps", lost, len(dst))
	}
	return nil
}

func floats(p *C.float, n int) []float32 { return unsafe.Slice((*float32)(unsafe.Pointer(p)), n) }

func fill(dst []float32, v float32) {
	for i := range dst {
		dst[i] = v
	}
}
