package gpu

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

//go:embed eikonal.cu
var text string

// Program is the solver for grids of dim axes.
func Program(dim int) accel.Source {
	return accel.Source{Name: "eikonal.cu", Text: text, Defines: []string{fmt.Sprintf("DIM=%d", dim)}}
}

// Knows reports whether a Solver can take the place of m: an Eikonal, a Coarse or a method of
// NewAnalytic, whose slownesses at a point are the same in all directions.
func Knows(m traveltime.Method) bool {
	if traveltime.Unequal(m) {
		return false
	}
	switch m.(type) {
	case *traveltime.Eikonal, *traveltime.Coarse:
		return true
	}
	return traveltime.Constant(m) > 0
}

// Task says what a Solver is for.
type Task struct {
	Method    traveltime.Method // which Knows
	Positions *survey.Positions
	Places    []int // whose times are computed
	Options   traveltime.Options
	Together  int   // of Places, in a Solve, at most
	Budget    int64 // bytes that a batch of places takes at most, except for one group of them that takes more
}

// Solver computes traveltimes on a card. It is for one goroutine at a time.
type Solver struct {
	dev     *card.Device
	stream  *accel.Stream
	of      traveltime.Method
	eikonal *traveltime.Eikonal // nil for other methods
	coarse  *traveltime.Coarse  // the same
	kernels map[string]*accel.Function
	room    room
	model   model
	image   image
	batch   batch

	held                                 []device.Buf
	places, tau, dirty, dirs, lost, time device.Buf
	tables                               accel.Memory // of a Coarse
}

// These are the kernels' structs.
type (
	step  struct{ h2, hh, h4, hh4, ih float32 }
	model struct {
		slow2, straight  accel.Memory
		skipped          int64
		origin, spacing  [3]float64
		unit, scale      float64
		h                [3]step
		n                [3]int32
		tolerance        [2]float32
		rounds, patience int32
	}
	place struct {
		at          [3]float64
		lo, n       [2]int32
		first, last [3]int32
		from, count [2]int32
		table       int64
	}
	batch struct {
		places, tau, dirty, dirs, rho, lost accel.Memory
		side                                [2]int32
		chunks                              int32
	}
	image struct {
		origin, spacing [3]float64
		first, value    [3]accel.Memory
		width           [3]int32
		nz              int32
	}
)

const placeBytes = int64(unsafe.Sizeof(place{}))

// Fields are times on a card.
type Fields struct {
	Places []int
	Time   device.Buf // float64 [place][Pitch], s; each in C order of the place's window of the image
	Pitch  int
}

// New takes to a card what a task needs: its places' part of a velocity model, and memory for a
// batch of them. The solver works on a stream, which must follow the device's main one.
func New(dev *card.Device, stream *accel.Stream, t Task) (*Solver, error) {
	s := &Solver{dev: dev, stream: stream, of: t.Method, kernels: map[string]*accel.Function{}, room: newRoom(t)}
	s.eikonal, _ = t.Method.(*traveltime.Eikonal)
	s.coarse, _ = t.Method.(*traveltime.Coarse)
	program, err := dev.Build(Program(t.Positions.Dim))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"reset", "start", "sweep", "arrivals", "straight", "coarse"} {
		if s.kernels[name], err = program.Function(name); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(s.allocate(), s.put()); err != nil {
		s.Close()
		return nil, fmt.Errorf("traveltime: %w", err)
	}
	return s, nil
}

// Bytes is the memory on the card of a Solver of New.
func Bytes(t Task) int64 {
	r := newRoom(t)
	bytes := r.bytes()
	var image [3]traveltime.Interpolated
	switch m := t.Method.(type) {
	case *traveltime.Eikonal:
		g := *m.Domain()
		plane := int64(g.Len() / g.Shape[0])
		bytes += 4 * int64(r.planes[1]-r.planes[0]) * (plane + plane/int64(g.Shape[g.Dim()-1]))
		image = m.Parts().Image
	case *traveltime.Coarse:
		_, _, image = m.Parts()
		bytes += m.Bytes()
	}
	for _, i := range image {
		bytes += 4 * int64(len(i.First)+len(i.Weight))
	}
	return bytes
}

// Close frees the memory on the card.
func (s *Solver) Close() {
	for _, b := range s.held {
		s.dev.Free(b)
	}
	s.held = nil
}

// alloc makes a buffer of the solver.
func (s *Solver) alloc(n int, t device.Type, err *error) device.Buf {
	if *err != nil {
		return nil
	}
	b, failed := s.dev.Alloc(n, t)
	if *err = failed; failed == nil {
		s.held = append(s.held, b)
	}
	return b
}

// allocate makes room for a batch.
func (s *Solver) allocate() (err error) {
	r := &s.room
	s.places = s.alloc(r.list*int(placeBytes/4), device.F32, &err)
	s.tau, s.time = s.alloc(r.tau(r.groups), device.F32, &err), s.alloc(r.fields*r.pitch, device.F64, &err)
	s.dirty, s.dirs = s.alloc(r.blocks(), device.F32, &err), s.alloc(r.dirs(), device.F32, &err)
	s.lost = s.alloc(1, device.F32, &err)
	rho := s.alloc(r.rho(), device.F32, &err)
	if err == nil {
		s.batch = batch{memory(s.places), memory(s.tau), memory(s.dirty), memory(s.dirs), memory(rho), memory(s.lost),
			[2]int32{int32(r.side[0]), int32(r.side[1])}, int32(r.chunks())}
	}
	return err
}

func memory(b device.Buf) accel.Memory { return b.(*card.Buf).Memory() }

// zero sets words to zero.
func (s *Solver) zero(b device.Buf) {
	s.dev.Context().Fill(s.stream, memory(b), 0, 4*int64(b.Len()))
}

// words are elements of 32 bits on the card.
func words[T any](s *Solver, list []T, err *error) accel.Memory {
	b := s.alloc(len(list), device.F32, err)
	if *err == nil {
		*err = s.dev.Copy(b, card.Words(list))
	}
	if *err != nil {
		return 0
	}
	return memory(b)
}

// put copies the model, or coarse tables, to the card.
func (s *Solver) put() (err error) {
	g := s.of.Grid()
	for axis := range g.Shape {
		a := AxisOf(axis, g.Dim())
		s.image.origin[a], s.image.spacing[a] = g.Origin[axis], g.Spacing[axis]
	}
	s.image.nz = int32(g.Shape[g.Dim()-1])
	defer runtime.KeepAlive(s.of)
	var image [3]traveltime.Interpolated
	switch {
	case s.eikonal != nil:
		parts := s.eikonal.Parts()
		image = parts.Image
		s.putModel(parts, &err)
	case s.coarse != nil:
		var tau []float32
		tau, _, image = s.coarse.Parts()
		s.tables = words(s, tau, &err)
	}
	for a, i := range image {
		if i.Width > 0 {
			s.image.width[a], s.image.first[a], s.image.value[a] = int32(i.Width), words(s, i.First, &err), words(s, i.Weight, &err)
		}
	}
	return err
}

// putModel copies the part of the velocity model to the card that is kept there.
func (s *Solver) putModel(parts traveltime.Parts, err *error) {
	r := &s.room
	plane := parts.Model.Len() / parts.Model.Shape[0]
	m := &s.model
	m.skipped, m.scale = int64(r.planes[0]*plane), parts.Scale
	m.tolerance, m.rounds, m.patience = parts.Tolerance, int32(parts.Rounds), int32(parts.Patience)
	m.unit = slices.Min(parts.Model.Spacing)
	m.n[1] = 1
	for axis, n := range parts.Model.Shape {
		a := AxisOf(axis, parts.Model.Dim())
		m.origin[a], m.spacing[a], m.n[a] = parts.Model.Origin[axis], parts.Model.Spacing[axis], int32(n)
		h := float32(m.spacing[a] / m.unit)
		m.h[a] = step{2 * h, h * h, 4 * h, 4 * h * h, 1 / h}
	}
	first, last := r.planes[0]*plane-parts.First, r.planes[1]*plane-parts.First
	m.slow2 = words(s, parts.Slow2[first:last], err)
	nz := int(m.n[2])
	m.straight = words(s, parts.Straight[first/nz:last/nz], err)
}

// AxisOf is the number among x, y, z of an axis of a grid: kernels have three.
func AxisOf(axis, dim int) int {
	if axis == dim-1 {
		return 2
	}
	return axis
}

// Solve computes the times of places, and passes them to each in batches, in any order. The
// places and their windows are among those of New, but p may number them otherwise. Fields
// are valid until each returns; work on them must be on the solver's stream. The times
// of a place have the same bits whatever is computed with it. Its errors come from the
// method's Solve, from the card and from each.
func (s *Solver) Solve(ctx context.Context, p *survey.Positions, places []int, opt traveltime.Options, each func(Fields) error) error {
	if err := traveltime.Check(s.of, p, places, opt); err != nil {
		return err
	}
	if s.eikonal == nil {
		for batch := range slices.Chunk(places, s.room.list) {
			if err := errors.Join(ctx.Err(), s.list(p, batch, opt)); err != nil {
				return err
			}
			kernel, args := "straight", []any{memory(s.places), s.image, traveltime.Constant(s.of)}
			if s.coarse != nil {
				_, nz, _ := s.coarse.Parts()
				kernel, args = "coarse", []any{memory(s.places), s.image, s.tables, int32(nz)}
			}
			if err := s.pass(batch, opt, each, kernel, args...); err != nil {
				return err
			}
		}
		return nil
	}
	s.zero(s.lost)
	for batch := range slices.Chunk(s.eikonal.Near(p, places), s.room.list) {
		if err := errors.Join(ctx.Err(), s.sweep(p, batch, opt)); err != nil {
			return err
		}
		if err := s.pass(batch, opt, each, "arrivals", s.model, s.batch, s.image); err != nil {
			return err
		}
	}
	lost := make([]int32, 1)
	if err := s.dev.Receive(s.stream, card.Words(lost), s.lost); err != nil {
		return err
	}
	if lost[0] > 0 {
		return fmt.Errorf("traveltime: %d times of %d places were never reached by the sweeps", lost[0], len(places))
	}
	return nil
}

// pass makes the times of a batch by a kernel, some places at a time, and passes them on.
func (s *Solver) pass(batch []int, opt traveltime.Options, each func(Fields) error, kernel string, args ...any) error {
	first := 0
	for some := range slices.Chunk(batch, s.room.fields) {
		f := Fields{some, s.time, s.room.pitch}
		s.launch(kernel, (f.Pitch+threadsEach-1)/threadsEach, len(some), threadsEach, append(args, int32(first), memory(s.time), int64(f.Pitch))...)
		if err := each(f); err != nil {
			return err
		}
		for range some {
			if opt.Progress != nil {
				opt.Progress()
			}
		}
		first += len(some)
	}
	return nil
}

// threadsEach is the number of threads of a block of reset and arrivals.
const threadsEach = 256

func (s *Solver) launch(name string, x, y, threads int, args ...any) {
	s.dev.Context().Launch(s.stream, s.kernels[name], accel.Shape{Blocks: [3]int{x, y, 1}, Threads: [3]int{threads, 1, 1}}, args...)
}

// list copies what kernels need to know of a batch's places to the card.
func (s *Solver) list(p *survey.Positions, batch []int, opt traveltime.Options) error {
	list := make([]place, s.room.list)
	for i := range list {
		if i < len(batch) {
			var err error
			if list[i], err = s.place(p, batch[i], opt); err != nil {
				return err
			}
		} else { // an idle lane, which reads the velocity beside its place all the same
			list[i] = place{at: list[0].at, last: [3]int32{-1, -1, -1}}
		}
	}
	from := card.Words(list)
	return s.dev.Send(s.stream, s.places.Slice(0, from.Len()), from)
}

func (s *Solver) place(p *survey.Positions, number int, opt traveltime.Options) (out place, err error) {
	set := func(lo, n *[2]int32, w traveltime.Window) {
		for a := range lo {
			lo[a], n[a] = int32(w.Lo[a]), int32(w.Hi[a]-w.Lo[a])
		}
	}
	window := opt.Window(s.of.Grid(), number)
	set(&out.from, &out.count, window)
	switch {
	case s.eikonal != nil:
		set(&out.lo, &out.n, s.eikonal.Region(p, number, opt))
	case s.coarse != nil:
		t, err := s.coarse.Table(p, number, window)
		if err != nil {
			return out, err
		}
		set(&out.lo, &out.n, t.Window)
		out.table = int64(t.First)
	}
	for axis, x := range p.At(number) {
		a := AxisOf(axis, p.Dim)
		out.at[a] = x
		if s.eikonal != nil {
			first, last := s.eikonal.Start(p, number, axis)
			out.first[a], out.last[a] = int32(first), int32(last)
		}
	}
	return out, nil
}

// sweep computes τ of the places of a batch.
func (s *Solver) sweep(p *survey.Positions, batch []int, opt traveltime.Options) error {
	if err := s.list(p, batch, opt); err != nil {
		return err
	}
	s.zero(s.dirty)
	s.zero(s.dirs)
	groups := (len(batch) + lanes - 1) / lanes
	n := s.room.tau(groups)
	s.launch("reset", (n+threadsEach-1)/threadsEach, 1, threadsEach, int64(n), memory(s.tau))
	s.launch("start", groups*lanes, 1, starts, s.model, s.batch)
	s.launch("sweep", groups, 1, s.room.threads(), s.model, s.batch)
	return nil
}
