package gpu

import (
	"runtime"

	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// These constants must agree with the CUDA C++ text.
const (
	lanes   = 8   // LANES: places that a block of threads solves together
	chunk   = 32  // CHUNK: points of a block along z
	ghosts  = 2   // GHOSTS: points beyond both ends of a row
	threads = 512 // THREADS: of a group, at most
	starts  = 256 // START: threads of a place in start
)

// room is the memory for the places of a batch, all of one size.
type room struct {
	planes [2]int // planes [lo, hi) of the model along x that are kept on the card
	side   [2]int // columns of the largest region, along x and y
	nz     int    // points of a column
	pitch  int    // points of the largest window of the image
	fields int    // times that are held at once
	list   int    // places of a batch
	groups int    // of lanes places
}

// newRoom finds the room for a task's places.
func newRoom(t Task) room {
	var r room
	for _, place := range t.Places {
		r.pitch = max(r.pitch, t.Options.Window(t.Method.Grid(), place).Grid(t.Method.Grid()).Len())
	}
	r.fields = max(1, min(t.Together, fieldPoints/max(1, r.pitch)))
	e, ok := t.Method.(*traveltime.Eikonal)
	if !ok || len(t.Places) == 0 {
		r.list = r.fields
		return r
	}
	model := *e.Domain()
	r.planes, r.nz = [2]int{model.Shape[0], 0}, model.Shape[model.Dim()-1]
	for _, place := range t.Places {
		region := e.Region(t.Positions, place, t.Options)
		for a := range r.side {
			r.side[a] = max(r.side[a], region.Hi[a]-region.Lo[a])
		}
		r.planes = [2]int{min(r.planes[0], region.Lo[0]), max(r.planes[1], region.Hi[0])}
	}
	fixed := r.bytes()
	r.groups, r.list = 1, lanes
	each := r.bytes() - fixed
	r.groups = max(1, int(min(int64((t.Together+lanes-1)/lanes), (t.Budget-fixed)/each)))
	r.list = r.groups * lanes
	return r
}

// fieldPoints is how many times are made at once if a place has fewer: enough to keep a card
// busy, in 32 MiB.
const fieldPoints = 4 << 20

func (r *room) columns() int { return r.side[0] * r.side[1] }

func (r *room) chunks() int { return (r.nz + chunk - 1) / chunk }

// Lengths of a batch's arrays.
func (r *room) tau(groups int) int { return (1 + groups*r.columns()) * (r.nz + 2*ghosts) * lanes }
func (r *room) blocks() int        { return r.groups * r.columns() * r.chunks() * lanes }
func (r *room) rho() int           { return r.groups * (r.side[0] + r.side[1] + r.nz) * lanes }
func (r *room) dirs() int          { return (r.blocks() + 3) / 4 } // words

// bytes is the memory of a batch.
func (r *room) bytes() int64 {
	return 4*int64(r.tau(r.groups)+r.blocks()+r.rho()+r.dirs()) + placeBytes*int64(r.list) + 8*int64(r.fields)*int64(r.pitch) + 4
}

// wave is the number of blocks of points that a sweep may work on at a time, for each place.
func (r *room) wave() int {
	x, y, z := r.side[0], r.side[1], r.chunks()
	if y == 1 {
		return min(x, z)
	}
	return min(x*z, y*z, x*y)
}

// threads is the number of threads that sweep a group: one for each place and block of the
// wave, in multiples of 64, which every card runs together.
func (r *room) threads() int {
	const together = 64
	return min(threads, (r.wave()*lanes+together-1)/together*together)
}

// worth is how many threads of a card are worth one of the processor. The update of a point
// takes 209 to 324 instructions on a card (sm_90), for 32 lanes, and 153 to 271
// on a processor with AVX-512, for 16, counted once in what the compiler made. A thread of the
// card waits for its own results: it issues an instruction in four cycles at best, at about 0.6
// of the processor's clock. So 16 lanes of the processor do as much as
// 16 · 4 / 0.6 · 324 / 271 = 127 threads, or twice as many, since a sweep's wave grows and
// shrinks. But the processor's times have to go to the card.
const worth = 127

// Pays reports whether a card computes the times faster than the given number of processor
// threads: whether its sweeps have enough threads. Straight rays and coarse tables take no
// sweeps, and always pay. Where the processor's solver would have other bits, the card solves
// too, so that results do not depend on the choice.
func Pays(t Task) bool {
	if e, ok := t.Method.(*traveltime.Eikonal); !ok || len(t.Places) == 0 || !e.Parts().Fused {
		return true
	}
	r := newRoom(t)
	processor := t.Options.Threads
	if processor <= 0 {
		processor = runtime.GOMAXPROCS(0)
	}
	return min(r.list, t.Together)*min(r.wave(), threads/lanes) >= worth*processor
}
