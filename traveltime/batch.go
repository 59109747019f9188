package traveltime

/*
#cgo CFLAGS: -O3 -g0 -Wno-psabi
#cgo LDFLAGS: -lm
#include "output.h"
#include "sweep.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Bounds of the iteration. The first-order times only have to reach every point, and be
// near enough to tell which side is upwind. Second-order times may never come to rest
// where two waves meet, because there a difference of one rounding switches the stencil;
// so after a number of rounds the tolerance doubles with each further one. All bounds
// count rounds alike for every source, whatever else is in its batch.
//
// If two waves meet in an anisotropic medium, times may swing between the two. After patience
// rounds they go a smaller share of the way in each further one. The tolerance grows after as
// many rounds again. It is an error if a time would still change by more than unsettled.
const (
	firstTolerance  = 1e-3
	secondTolerance = 1e-6
	patience        = 16
	maxRounds       = 1000
	unsettled       = 2e-3
)

// portable is the number of lanes of the portable sweeps.
const portable = 4

// widths lists the numbers of lanes that this machine's sweeps offer, largest first.
// Sweeps that are listed together give the same bits. The portable ones lack a fused
// multiply-add on some machines and are used only without others.
func widths() (list []int) {
	for _, lanes := range []int{16, 8} {
		if C.eik_offers(C.int(lanes)) != 0 {
			list = append(list, lanes)
		}
	}
	if list == nil {
		return []int{portable}
	}
	return list
}

// batch is a batch of sources in C, in a window of the model that holds those of its sources:
// sweep.h has the shapes of its arrays, which lie outside Go's heap.
type batch struct {
	c                 C.eik_batch
	tau, beyond, back []float32
	swept             []float32    // tau, and behind it what rays carry
	carried           [3][]float32 // parts of swept like tau
	slowness          []float32    // at each lane's source; of rays
	rho               [3][]float32
	cone              []float32
	home              [C.EIK_LANES]*home // of each lane; nil where the medium is isotropic
	box               [3][]uint16
	in                [2][]uint16
	dirty, dirs       []uint16
	window            Window
	row               int // floats in a row of tau
	rays              int // number of values that rays carry
	origin, spacing   [3]float64
	unit              float64 // m, the smallest spacing
}

// newBatch makes a batch of at most lanes lanes on windows of g of at most the given
// extent. Where s fails, it may not be used.
func newBatch(g grid.Grid, lanes int, most extent, opt Options, s *scratch) *batch {
	b := &batch{spacing: [3]float64{1: math.Inf(1)}}
	dim := g.Dim()
	for axis := range dim {
		a := sweepAxis(axis, dim)
		b.origin[a], b.spacing[a] = g.Origin[axis], g.Spacing[axis]
	}
	b.unit = min(b.spacing[0], b.spacing[1], b.spacing[2])
	nz := g.Shape[dim-1]
	n := [3]int{most.side[0], most.side[1], nz}
	row := (nz + 2*C.EIK_GHOSTS) * lanes
	c := &b.c
	c.dim, c.wide = C.int(dim), C.int(Whole(g).columnsAlongY())
	c.chunks = C.int((nz + C.EIK_CHUNK - 1) / C.EIK_CHUNK)
	for a := range 3 {
		c.h[a] = C.float(b.spacing[a] / b.unit)
		b.rho[a], b.box[a] = take[float32](s, lanes*n[a]), take[uint16](s, n[a])
		c.rho[a], c.box[a] = cfloats(b.rho[a]), cwords(b.box[a])
	}
	for a := range c.in {
		b.in[a] = take[uint16](s, n[a])
		c.in[a] = cwords(b.in[a])
	}
	b.back, b.cone = take[float32](s, lanes*nz), take[float32](s, lanes*(coneTerms+dim))
	b.rays = opt.carried(dim)
	b.swept, b.beyond = take[float32](s, (1+b.rays)*most.columns*row), take[float32](s, row)
	if b.rays > 0 {
		b.slowness = take[float32](s, lanes)
		c.home = cfloats(b.slowness)
	}
	if dim == 2 && b.rays == 2 {
		c.line = 1
	}
	flags := C.EIK_DIRECTIONS * most.columns * int(c.chunks)
	b.dirty, b.dirs = take[uint16](s, flags), take[uint16](s, flags)
	c.rho_back, c.tau, c.beyond = cfloats(b.back), cfloats(b.swept), cfloats(b.beyond)
	c.dirty, c.dirs = cwords(b.dirty), cwords(b.dirs)
	c.n[2] = C.int(nz)
	fill(b.beyond, C.EIK_UNREACHED)
	return b
}

// shape sets the batch's window and number of lanes.
func (b *batch) shape(w Window, lanes int) {
	c := &b.c
	b.window, c.lanes = w, C.int(lanes)
	for a := range w.Lo {
		n := w.Hi[a] - w.Lo[a]
		c.n[a], b.box[a], b.in[a] = C.int(n), b.box[a][:n], b.in[a][:n]
	}
	b.row = int(c.n[2]+2*C.EIK_GHOSTS) * lanes
	flags := C.EIK_DIRECTIONS * w.count() * int(c.chunks)
	b.dirty, b.dirs = b.dirty[:flags], b.dirs[:flags]
	n := w.count() * b.row
	b.tau = b.swept[:n]
	for i := range b.rays {
		c.carried[i] = C.long((1 + i) * n)
		b.carried[i] = b.swept[(1+i)*n:][:n]
	}
}

// sweepAxis is the number that the sweeps give to a grid's axis: z is always number 2.
func sweepAxis(axis, dim int) int {
	if axis == dim-1 {
		return 2
	}
	return axis
}

// start sets the batch up for its sources: geometry, windows, boxes, unreached times.
func (b *batch) start(e *Eikonal, p *survey.Positions, places []int, opt Options) {
	lanes := int(b.c.lanes)
	fill(b.tau, C.EIK_UNREACHED)
	clear(b.dirty)
	clear(b.dirs)
	for a := range b.box {
		clear(b.box[a])
	}
	for a := range b.in {
		clear(b.in[a])
	}
	tilted := e.anyAnisotropic(e.Region(p, places[0], opt))
	for lane := range lanes {
		// Idle lanes repeat the last source but are never due.
		place := places[min(lane, len(places)-1)]
		b.geometry(lane, p.At(place))
		b.home[lane] = nil
		if tilted {
			b.home[lane] = newHome(mediumBetween(e.model, p.At(place), e.point))
		}
		if lane < len(places) {
			b.setLaneWindow(lane, e.Region(p, place, opt))
			b.startLane(e, lane, p.At(place))
		}
	}
	b.c.cone = nil
	if tilted {
		b.setCones()
	}
}

// setLaneWindow sets the window of one lane.
func (b *batch) setLaneWindow(lane int, own Window) {
	for a := range b.in {
		for i := own.Lo[a]; i < own.Hi[a]; i++ {
			b.in[a][i-b.first(a)] |= 1 << lane
		}
	}
}

// startLane sets one lane's start box and its times.
func (b *batch) startLane(e *Eikonal, lane int, at []float64) {
	dim, lanes := len(at), int(b.c.lanes)
	for axis, x := range at {
		lo, hi := startRange(e.model, axis, x)
		a := sweepAxis(axis, dim)
		for i := lo; i <= hi; i++ {
			b.box[a][i-b.first(a)] |= 1 << lane
		}
	}
	set := func(k [3]int, t float64) {
		if dim == 2 {
			k[1], k[2] = 0, k[1]
		}
		b.tau[b.window.columnsBefore(k[0], k[1])*b.row+(C.EIK_GHOSTS+k[2])*lanes+lane] = float32(t / e.scale)
		C.eik_mark_all(&b.c, C.int(k[0]-b.first(0)), C.int(k[1]-b.first(1)), C.int(k[2]/C.EIK_CHUNK), 1<<lane)
	}
	home := b.home[lane]
	if home == nil {
		skipped := e.skipped()
		startBox(e.model, at, func(n int) float64 { return 1 / (math.Sqrt(float64(e.slow2[n-skipped])) * e.scale) }, set)
		return
	}
	x := make([]float64, dim)
	startTilted(e.model, at, e.point, func(k [3]int, time float64) {
		for a := range x {
			x[a] = e.model.Coord(a, k[a]) - at[a]
		}
		if reach := home.homogeneousTime(x); reach > 0 {
			set(k, time/reach)
		} else {
			set(k, 1/math.Sqrt(home.plane+home.along))
		}
	})
}

// setCones passes the media of the sources on to the sweeps.
func (b *batch) setCones() {
	lanes := int(b.c.lanes)
	b.c.terms = 2
	for lane, home := range b.home[:lanes] {
		for k, v := range home.terms {
			b.cone[k*lanes+lane] = float32(v)
			if v != 0 {
				b.c.terms = max(b.c.terms, C.int(k+1))
			}
		}
		for a, v := range home.axis {
			b.cone[(coneTerms+a)*lanes+lane] = float32(v)
		}
	}
	b.c.cone = cfloats(b.cone)
}

// first is the number on the model of the window's first point along an axis of the sweeps.
func (b *batch) first(a int) int {
	if a == 2 {
		return 0
	}
	return b.window.Lo[a]
}

// geometry sets where the window's points lie as one lane's source sees them.
func (b *batch) geometry(lane int, at []float64) {
	lanes := int(b.c.lanes)
	for axis, x := range at {
		a := sweepAxis(axis, len(at))
		for i := range int(b.c.n[a]) {
			rho := float32((b.origin[a] + float64(b.first(a)+i)*b.spacing[a] - x) / b.unit)
			b.rho[a][i*lanes+lane] = rho
			if a == 2 {
				b.back[i*lanes+lane] = -rho
			}
		}
	}
}

// medium is where the model's values for the batch's window begin, and those of its columns.
func (b *batch) medium(e *Eikonal) (points, columns *C.float) {
	nz := int(b.c.n[2])
	first := Whole(e.model).columnsBefore(b.window.Lo[0], b.window.Lo[1]) - e.skipped()/nz
	columns = cfloats(e.straight[first:])
	if b.c.cone != nil {
		return cfloats(e.tilt[first*nz*(3+e.model.Dim()):]), columns
	}
	return cfloats(e.slow2[first*nz:]), columns
}

// sweepUntilSettled sweeps until nothing is due: first-order times, then second-order ones. Its
// last tolerance stays in the batch.
func (b *batch) sweepUntilSettled(ctx context.Context, e *Eikonal) error {
	values, straight := b.medium(e)
	round := func(order C.int) (blocks int) {
		for d := range 1 << e.model.Dim() {
			blocks += int(C.eik_sweep(&b.c, values, straight, C.int(d), order))
		}
		return blocks
	}
	b.c.tolerance, b.c.gain = firstTolerance, 1
	for r := 0; r < maxRounds && round(0) > 0; r++ {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	copy(b.dirty, b.dirs)
	b.c.tolerance = secondTolerance
	for r := 1; r <= maxRounds && round(1) > 0; r++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if b.c.cone == nil {
			if r > patience {
				b.c.tolerance *= 2
			}
			continue
		}
		if r > patience {
			b.c.gain = 1 / C.float(r-patience+1)
		}
		if r > 2*patience {
			b.c.tolerance *= 2
		}
		if lanes := b.lanesDue(); lanes != 0 && b.c.tolerance > unsettled {
			return unsettledError{bits.TrailingZeros16(lanes)}
		}
	}
	return nil
}

// lanesDue are the lanes in which any block of their window is due.
func (b *batch) lanesDue() (lanes uint16) {
	each := len(b.dirty) / b.window.count()
	for row := range b.window.count() {
		in := b.in[0][row/len(b.in[1])] & b.in[1][row%len(b.in[1])]
		for i, due := range b.dirty[row*each:][:each] {
			if i%C.EIK_DIRECTIONS < 1<<b.c.dim { // no other is ever swept
				lanes |= due & in
			}
		}
	}
	return lanes
}

// unsettledError is the error for a lane whose times do not converge.
type unsettledError struct{ lane int }

func (unsettledError) Error() string { return "times do not settle" }

// split writes τ of the first n lanes to dst, [n][points of the largest window].
func (b *batch) split(dst []float32, n int) error {
	if lost := C.eik_split(cfloats(dst), &b.c, b.c.tau, C.long(len(dst)/n), C.int(n)); lost > 0 {
		return fmt.Errorf("traveltime: %d times of %d places were never reached by the sweeps", lost, n)
	}
	return nil
}

func fill(dst []float32, v float32) {
	for i := range dst {
		dst[i] = v
	}
}

func cfloats(v []float32) *C.float { return (*C.float)(unsafe.Pointer(unsafe.SliceData(v))) }

func cwords(v []uint16) *C.uint16_t { return (*C.uint16_t)(unsafe.Pointer(unsafe.SliceData(v))) }

// lanes is the worker of Eikonal: it solves a batch of places, one in each lane.
type lanes struct {
	scratch
	e   *Eikonal
	p   *survey.Positions
	opt Options

	model extent // of the largest window that a place is solved in
	image int    // points of the largest field

	batch *batch
	split []float32    // [lanes][points of the largest window], its results
	ratio []float32    // the same, b over that of a homogeneous medium
	turn  []float32    // the same, of the take-off
	rays  []float32    // [points along z][lanes]; then one of them on the image
	part  [4][]float32 // τ on the image, its derivatives
	line  []float32
	out   Branch
}

func (e *Eikonal) worker(p *survey.Positions, places []int, opt Options) *lanes {
	w := &lanes{e: e, p: p, opt: opt}
	w.image = opt.mostColumns(e.g, places) * e.g.Shape[e.g.Dim()-1]
	if opt.Windows == nil {
		w.model.grow(Whole(e.model))
		return w
	}
	for _, place := range places {
		w.model.grow(e.Region(p, place, opt))
	}
	return w
}

// allocate makes what batches of all widths need.
func (w *lanes) allocate() {
	e, s := w.e, &w.scratch
	dim, widest := e.g.Dim(), e.widths[0]
	nz := e.model.Shape[dim-1]
	w.out = takeBranch(s, w.image, dim, w.opt)
	slopes := w.image
	if e.resample != nil {
		w.line = take[float32](s, nz)
		w.part[0] = take[float32](s, w.image)
	} else {
		slopes = w.points()
	}
	for a := range w.out.Gradient {
		w.part[1+a] = take[float32](s, slopes)
	}
	w.batch = newBatch(e.model, widest, w.model.leastRoom(Whole(e.model)), w.opt, s)
	w.split = take[float32](s, widest*w.points())
	if w.opt.Spreading != NoSpreading {
		w.ratio = take[float32](s, widest*w.points())
	}
	if w.opt.Takeoff {
		w.turn = take[float32](s, widest*w.points())
	}
	if w.opt.rays() {
		w.rays = take[float32](s, max(nz*widest, w.image))
	}
}

// ScratchBytes implements Method: the memory besides the model.
func (e *Eikonal) ScratchBytes(p *survey.Positions, places []int, opt Options) int64 {
	w := e.worker(p, places, opt)
	w.counting = true
	w.allocate()
	return w.bytes
}

// points is the size of the largest field of τ on the model.
func (w *lanes) points() int { return w.model.columns * w.e.model.Shape[w.e.model.Dim()-1] }

// solve computes τ for the places of one job.
func (w *lanes) solve(ctx context.Context, j job) error {
	if w.batch == nil {
		w.allocate()
	}
	if w.err != nil {
		return w.err
	}
	b := w.batch
	b.shape(j.model, j.lanes)
	b.start(w.e, w.p, j.places, w.opt)
	if err := b.sweepUntilSettled(ctx, w.e); err != nil {
		return w.nameUnsettled(err, j)
	}
	n := len(j.places)
	if err := b.split(w.split[:n*w.points()], n); err != nil || !w.opt.rays() {
		return err
	}
	return w.leave(ctx, j)
}

// nameUnsettled returns an error that names the place whose times do not settle.
func (w *lanes) nameUnsettled(err error, j job) error {
	var u unsettledError
	if !errors.As(err, &u) {
		return err
	}
	i := j.places[u.lane]
	return status.Hint(status.Input(fmt.Errorf("traveltime: times of %s %d at %s m do not settle in the anisotropic velocity model", w.p.Role[i], w.p.Row[i], point(w.p.At(i)))),
		"epsilon, delta and tilt must change little from point to point: smooth them")
}

// field returns the field of one lane of the batch.
func (w *lanes) field(lane, place int) (Field, error) {
	e, model := w.e, w.e.Region(w.p, place, w.opt)
	part := model.Grid(e.model)
	to := w.opt.Window(e.g, place)
	b := w.out.on(to.count() * e.g.Shape[e.g.Dim()-1])
	tau, parts := w.split[lane*w.points():][:part.Len()], w.part[:1+len(b.Gradient)]
	given := model
	if e.resample != nil {
		e.resample.apply(parts, w.line, tau, model, to)
		tau, given = parts[0], to
	} else if len(b.Gradient) > 0 {
		for a, stride := range part.Strides() {
			C.eik_slope(cfloats(parts[1+a]), cfloats(tau), C.long(part.Len()), C.int(part.Shape[a]), C.long(stride), C.double(part.Spacing[a]))
		}
	}
	b.home = w.batch.home[lane]
	finish(b, to, parts, tau, given, e.g, w.p.At(place), e.scale)
	if w.opt.rays() {
		w.spread(b, to, lane, model, w.p.At(place))
	}
	return Field{to, []Branch{b}}, nil
}
