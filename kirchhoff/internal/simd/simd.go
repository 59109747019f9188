// Package simd holds the Kirchhoff loops in C. One source, body.h, is compiled for plain
// C, for AVX2 and for AVX-512; the set is chosen at run time. Package kirchhoff prepares
// what the loops read.
//
// # Layout
//
// The image is cut into tiles of TileSize = 64 points: sixteen, eight or four registers.
// Tables are [tile][place][field][64]. The first field of a place is its times relative
// to a whole number of samples (Span.Base), so that a float32 resolves about a millionth
// of a sample. The others are the fields of the dynamic weights, if any:
//
//	Static  time
//	Plane   time, C, S        weight C_s C_r + S_s S_r
//	Space   time, b, x, y, z  weight b_s b_r √(2 + 2 p_s·p_r), p = (x, y, z)
//
// With Limits, Plane holds time, b and the ray's angle a. Weights are then b_s b_r times
// the windows of dip and opening angle, and with Dynamic also times cos ((a_s − a_r)/2) in
// 2-D or |p_s + p_r| in 3-D. With Unequal the vectors p have any length, in 2-D too, where
// y = 0.
//
// With k0 = base_s + base_r the time of a pair is q = k0 + table_s + table_r: one addition
// for each register, no conversion.
//
// Traces come in blocks. A block is a list of runs, and a run is a list of pairs that
// share their source. The many pairs of a block need few tables, and these stay in the
// cache.
//
// # Promises
//
// Both directions compute times, fractions and weights by the same float32
// expressions, so they are adjoint to rounding. The order of every sum depends only on
// the arguments. Two sets of kernels may differ by rounding.
//
// With anti-aliasing a trace comes in bands: the first is the trace itself, and each
// further one is smoothed by a longer triangle. Each tile meets a pair in one band, which
// follows from the sum of the two places' slopes there. In the adjoint, bands are rows of
// the correlated traces; in the forward they are windows, which Drain smooths.
//
// Sums may be exact: the adjoint then rounds the sum of a run over a tile as a whole, and
// the forward that of a box of tiles over a trace, see Drain. Such a sum depends only on
// the run or the box, and on the kernels.
//
// All memory the kernels see, except plain Go slices in the arguments, is from
// Alloc: 64-byte alignment is assumed.
package simd

/*
#cgo CFLAGS: -O3 -g0 -std=gnu11 -Wall
#cgo LDFLAGS: -lm
#cgo noescape lsm_call_drain
#cgo nocallback lsm_call_drain
#cgo noescape lsm_call_filter
#cgo nocallback lsm_call_filter
#cgo noescape lsm_call_largest
#cgo nocallback lsm_call_largest
#cgo noescape lsm_collapse
#cgo nocallback lsm_collapse
#include "kernel.h"

static void lsm_call_walk(int isa, int way, const lsm_operator *op, void *out, const void *in, lsm_part part) {
	const int kind = op->mode & LIMITS ? LIMITS : op->mode;
	lsm_kernels_of(isa)->walk[way][kind][op->cut_count > 0](op, out, in, part);
}
static void lsm_call_drain(int isa, int way, const lsm_operator *op, double *sums, float *windows, double *scratch,
	int64_t row0, double magic) {
	const lsm_kernels *k = lsm_kernels_of(isa);
	(way == CELL ? k->drain_cell : k->drain)(op, sums, windows, scratch, row0, magic);
}
static void lsm_call_filter(int isa, float *y, const float *x, const float *taps, int64_t n, int64_t m, int add) {
	lsm_kernels_of(isa)->filter(y, x, taps, n, m, add);
}
static float lsm_call_largest(int isa, const float *x, int64_t n) { return lsm_kernels_of(isa)->largest(x, n); }
*/
import "C"

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// ISA is one set of kernels.
type ISA int

const (
	Portable ISA = iota // plain C
	AVX2                // AVX2 and FMA
	AVX512              // AVX-512 F, DQ, VL, BW
)

var names = [...]string{"portable", "avx2", "avx512"}

func (i ISA) String() string { return names[i] }

// Best is the fastest set this processor runs.
func Best() ISA {
	switch x := &cpu.X86; {
	case !x.HasAVX2 || !x.HasFMA:
		return Portable
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512BW:
		return AVX512
	default:
		return AVX2
	}
}

// Parse returns the set of the given name; "" stands for Best. Its error names a
// set that does not exist or that this processor cannot run.
func Parse(name string) (ISA, error) {
	if name == "" {
		return Best(), nil
	}
	for i, n := range names {
		if n != name {
			continue
		}
		if ISA(i) > Best() {
			return 0, fmt.Errorf("kirchhoff: this processor has no %s instructions, the best it has is %v", name, Best())
		}
		return ISA(i), nil
	}
	return 0, fmt.Errorf("kirchhoff: no kernels called %q, there are %v", name, names)
}

// Mode says which weights the tables hold.
type Mode int32

const (
	Static Mode = C.STATIC
	Plane  Mode = C.PLANE
	Space  Mode = C.SPACE

	Limits Mode = C.LIMITS // to be added to Plane or Space: weights by dip and opening angle
)

// Fields is the number of values per place and point.
func (m Mode) Fields() int { return int(C.lsm_fields(C.int(m))) }

// Row is the number of values that a place takes per tile, its times first.
func (m Mode) Row() int { return int(C.lsm_row(C.int(m))) }

const (
	TileSize = C.TILE
	Slots    = C.SLOTS

	Lanes  = C.LANES  // receivers of a cell
	Widest = C.WIDEST // number of samples in which a tile may arrive to go through a cell's lanes
)

// Span places a table's times: Base + table, in samples, the table within
// [0, Width]. A negative Width says that the place gives nothing to the tile.
type Span struct {
	Base  int32
	Width float32
}

// Run is pairs Pair0 to Pair1, which share a source place.
type Run struct{ Source, Pair0, Pair1 int32 }

// Pair is one trace: its receiver place, the row of its trace and its number in the block.
// First is 1 in the list's first pair with that receiver, otherwise 0: a hint when to fetch its
// table. In a cell's block it is the lane. Cut is −1, or the number in Cuts of a trace whose
// aperture ends in the box.
type Pair struct{ Receiver, Row, Slot, First, Cut int32 }

// Cut is where a trace has its midpoint, in columns from the box's first along the axes
// before z; in 2-D the first number counts for nothing.
type Cut [2]float32

// Taper is a weight by the distance of a column from a trace's midpoint, in columns: 1 up
// to Flat, 0 from Edge on, half a period of a cosine between, Rate being one over its
// length. The zero Taper is 1 everywhere.
type Taper struct{ Flat, Edge, Rate float32 }

// Reach is the range [Lo, Hi] of whole samples that a place's times over one box of
// tiles fall into; Lo > Hi says none.
type Reach struct{ Lo, Hi int32 }

// Slopes are the least and the largest slope of a place over one box of tiles.
type Slopes struct{ Lo, Hi float32 }

// Band returns the band in which a tile meets a pair of places with slopes s and r there:
// ⌊2 log₂(s + r)⌋, but at least 0 and less than bands.
func Band(bands int, s, r float32) int {
	sum := s + r
	return max(0, min(bands-1, int(math.Float32bits(sum*sum)>>23)-127))
}

// Operator holds the arguments that every call of the kernels reads: one box of tiles and one block
// of traces. Places belong to the box.
type Operator struct {
	Table  []float32 // [tile][place][Mode.Row()]
	Span   []Span    // [tile][place]
	Reach  []Reach   // [place]
	Places int
	Tiles  [3]int // of the box along each axis, in C order; in 2-D the first is 1
	Wide   int    // columns of a tile along an axis: 8 in 2-D, 4 in 3-D

	Runs  []Run // of traces that count in the box; like Pairs and Cuts in memory from Alloc
	Pairs []Pair
	Cuts  []Cut
	Lanes []int32 // [Lanes], of a cell: receivers, −1 for none; otherwise nil

	Stride   int // elements between rows, a multiple of 16, at least NT + 2·TileSize
	Mode     Mode
	NT       int
	Aperture [2]Taper // along the axes before z; in 2-D the first is zero

	Bands  int              // of each trace, at least 1
	Slope  []float32        // [tile][place], where there are bands; see Band
	Slopes []Slopes         // [place]
	Taps   *Memory[float32] // of each band after the first, 2·Half + 1 in turn
	Half   *Memory[int32]   // [band]

	Dynamic      bool   // with Limits: whether the rays' obliquity is in the weights
	Unequal      bool   // with Space and Limits: vectors p are of any length
	Dip, Opening Window // with Limits
}

// Window is a weight of an angle x in radians: ½ + ½ cos πu, u the larger of
// (Rise1 − x) Rise and (x − Fall0) Fall, but within [0, 1].
type Window struct{ Rise1, Rise, Fall0, Fall float32 }

func (w Window) c() C.lsm_window {
	return C.lsm_window{rise1: C.float(w.Rise1), rise: C.float(w.Rise), fall0: C.float(w.Fall0), fall: C.float(w.Fall)}
}

// Pitch is the number of elements between traces. A trace takes Stride elements for each
// band. Like Stride, Pitch is an odd number of cache lines, so that rows which are read
// together fall into different sets of the cache.
func (o *Operator) Pitch() int { return Pitch(o.Bands, o.Stride) }

// Pitch is Operator.Pitch for the given bands and stride.
func Pitch(bands, stride int) int {
	const line = 16
	if bands%2 == 0 {
		return bands*stride + line
	}
	return bands * stride
}

func flag(set bool) C.int32_t {
	if set {
		return 1
	}
	return 0
}

func (o *Operator) c() C.lsm_operator {
	op := C.lsm_operator{
		bands: 1, dynamic: flag(o.Dynamic), unequal: flag(o.Unequal), dip: o.Dip.c(), opening: o.Opening.c(),
		table:     (*C.float)(first(o.Table)),
		span:      (*C.lsm_span)(first(o.Span)),
		reach:     (*C.lsm_reach)(first(o.Reach)),
		runs:      (*C.lsm_run)(first(o.Runs)),
		pairs:     (*C.lsm_pair)(first(o.Pairs)),
		cuts:      (*C.lsm_cut)(first(o.Cuts)),
		lanes:     (*C.int32_t)(first(o.Lanes)),
		run_count: C.int32_t(len(o.Runs)), cut_count: C.int32_t(len(o.Cuts)),
		places: C.int64_t(o.Places), stride: C.int64_t(o.Stride), pitch: C.int64_t(o.Pitch()),
		mode: C.int32_t(o.Mode), nt: C.int32_t(o.NT), wide: C.int32_t(o.Wide),
	}
	for a := range 3 {
		op.tiles[a] = C.int32_t(o.Tiles[a])
	}
	for a, t := range o.Aperture {
		op.aperture[a] = C.lsm_aperture{flat: C.float(t.Flat), edge: C.float(t.Edge), rate: C.float(t.Rate)}
	}
	if o.Bands > 1 {
		op.bands = C.int32_t(o.Bands)
		op.slope = (*C.float)(first(o.Slope))
		op.slopes = (*C.lsm_slopes)(first(o.Slopes))
		op.taps = (*C.float)(o.Taps.pointer())
		op.half = (*C.int32_t)(o.Half.pointer())
	}
	return op
}

// first is where s lies.
func first[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// keep holds back the cleanup of memory that C is reading.
func (o *Operator) keep(more ...any) {
	runtime.KeepAlive(o)
	runtime.KeepAlive(more)
}

// Adjoint adds the adjoint of the block to the box's tiles tile0 to tile1 of image, the
// box's [tile][TileSize]; rows holds the correlated traces, [row][Pitch]. With a quantum
// other than 0 the sum of each run is rounded, see Drain.
func (i ISA) Adjoint(o *Operator, image []float64, rows *Memory[float32], tile0, tile1 int, quantum float64) {
	i.walk(C.ADJOINT, o, first(image), rows.pointer(), tile0, tile1, quantum)
	o.keep(image, rows)
}

func (i ISA) walk(way C.int, o *Operator, out, in unsafe.Pointer, tile0, tile1 int, quantum float64) {
	op := o.c()
	C.lsm_call_walk(C.int(i), way, &op, out, in, C.lsm_part{
		tile0: C.int64_t(tile0), tile1: C.int64_t(tile1), magic: C.double(magic * quantum),
	})
}

// Squares holds the diagonal's inputs for each trace and band, see Diagonal.
type Squares struct {
	Norms *Memory[float32] // [row][Stride], ‖c[k]‖², c[k] what a one at sample k of the band becomes
	Inner *Memory[float32] // [row][Stride], ⟨c[k], c[k+1]⟩
	Flat  *Memory[int32]   // [row][2], first and last k with the same Norms[k], Norms[k+1] and Inner[k]
	Step  int              // rows between traces: Operator.Bands, or 0 where all traces share theirs
}

// Diagonal adds Σ a² ‖(1−w) c[k] + w c[k+1]‖² over the traces of the block to the box's
// tiles tile0 to tile1 of image, the box's [tile][TileSize]. Rounding is as in Adjoint.
func (i ISA) Diagonal(o *Operator, image []float64, q *Squares, tile0, tile1 int, quantum float64) {
	sq := C.lsm_squares{e: (*C.float)(q.Norms.pointer()), f: (*C.float)(q.Inner.pointer()), flat: (*C.int32_t)(q.Flat.pointer()), step: C.int64_t(q.Step)}
	i.walk(C.DIAGONAL, o, first(image), unsafe.Pointer(&sq), tile0, tile1, quantum)
	o.keep(image, q)
}

// Forward adds the box's tiles tile0 to tile1 of image, the box's [tile][TileSize], to the
// windows of the block's traces, [slot][Slots·Pitch].
func (i ISA) Forward(o *Operator, windows *Memory[float32], image []float32, tile0, tile1 int) {
	i.walk(C.FORWARD, o, windows.pointer(), first(image), tile0, tile1, 0)
	o.keep(windows, image)
}

// magic times a quantum rounds: adding and subtracting it leaves multiples of two
// quanta, if what is rounded is 2⁵² quanta at most.
const magic = 1.5 * (1 << 53)

// Drain adds the windows of a block's traces after the tiles of the box, smoothed and rounded
// to a multiple of two quanta, to rows pair.Row − row0 of sums, [row][NT], and clears them.
// With row0 = −1 it adds to rows pair.Slot, and with quantum 0 without
// rounding. Rounded sums add up exactly, in any order, up to 2⁵⁴ quanta. With bands scratch
// is zero, NT + 2·ScratchEnd elements, otherwise it may be nil.
func (i ISA) Drain(o *Operator, sums []float64, windows *Memory[float32], scratch []float64, row0 int, quantum float64) {
	var zero *C.double
	if o.Bands > 1 {
		if len(scratch) < o.NT+2*ScratchEnd {
			panic(fmt.Sprintf("simd: scratch of %d elements for %d samples", len(scratch), o.NT))
		}
		zero = (*C.double)(&scratch[ScratchEnd])
	}
	i.drain(C.FORWARD, o, sums, windows, zero, row0, quantum)
}

func (i ISA) drain(way C.int, o *Operator, sums []float64, windows *Memory[float32], zero *C.double, row0 int, quantum float64) {
	op := o.c()
	C.lsm_call_drain(C.int(i), way, &op, (*C.double)(unsafe.SliceData(sums)), (*C.float)(windows.pointer()), zero,
		C.int64_t(row0), C.double(magic*quantum))
	o.keep(windows)
}

// ScratchEnd is how far Drain's scratch reaches beyond the record: MaxHalf and some.
const ScratchEnd = MaxHalf + 64

// MaxHalf is the most taps on each side of the middle one of a band's triangle.
const MaxHalf = 1 << 10

// HasCells says whether there are kernels for blocks that are cells: all receivers of such
// a block, at most Lanes, are neighbours.
func (i ISA) HasCells(m Mode) bool { return i == AVX512 && m&Limits == 0 }

// ForwardCell is Forward for a block that is a cell. It adds to traces themselves,
// [slot][Stride], sample n of a row at Widest + n; Stride is at least NT + 3·Widest + 16.
func (i ISA) ForwardCell(o *Operator, traces *Memory[float32], image []float32, tile0, tile1 int) {
	i.walk(C.CELL, o, traces.pointer(), first(image), tile0, tile1, 0)
	o.keep(traces, image)
}

// DrainCell is Drain for a block that is a cell.
func (i ISA) DrainCell(o *Operator, sums []float64, traces *Memory[float32], row0 int, quantum float64) {
	i.drain(C.CELL, o, sums, traces, nil, row0, quantum)
}

// Filter sets y[i] = Σ_j taps[j] x[i+j], or adds it. It reads len(y) + len(taps)
// + 2·TileSize elements of x.
func (i ISA) Filter(y, x, taps []float32, add bool) {
	if len(x) < len(y)+len(taps)+3*TileSize {
		panic(fmt.Sprintf("simd: filter of %d samples with %d taps from %d", len(y), len(taps), len(x)))
	}
	flag := C.int(0)
	if add {
		flag = 1
	}
	C.lsm_call_filter(C.int(i), (*C.float)(unsafe.SliceData(y)), (*C.float)(unsafe.SliceData(x)),
		(*C.float)(unsafe.SliceData(taps)), C.int64_t(len(y)), C.int64_t(len(taps)), flag)
}

// Collapse sets trace[n] to the sum over the windows, [Slots·len(trace)] at
// least, for sample n.
func Collapse(trace, windows []float32) {
	if len(windows) < Slots*len(trace) {
		panic(fmt.Sprintf("simd: collapse of %d samples from %d", len(trace), len(windows)))
	}
	C.lsm_collapse((*C.float)(unsafe.SliceData(trace)), (*C.float)(unsafe.SliceData(windows)), C.int64_t(len(trace)))
}

// Narrow sets y to x, rounded.
func Narrow(y []float32, x []float64) {
	if len(y) < len(x) {
		panic(fmt.Sprintf("simd: %d samples into %d", len(x), len(y)))
	}
	for i, v := range x {
		y[i] = float32(v)
	}
}

// Largest returns the largest |x[i]|: NaN if any is NaN, 0 for an empty x.
func (i ISA) Largest(x []float32) float64 {
	return float64(C.lsm_call_largest(C.int(i), (*C.float)(unsafe.SliceData(x)), C.int64_t(len(x))))
}
