package kirchhoff

import (
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Plan is a problem made ready for an engine on another processor: the image in
// tiles, the two filters, and one place's tables after the other.
type Plan struct {
	Problem Problem // without Velocity and Amplitude

	Tiles  int
	Points []int32   // [Tiles][64], the image point in each slot; ^n for a slot beyond the grid that repeats n
	Boxes  []Box     // superblocks of tiles, in the order of tiles
	Scale  []float32 // [ImageLen()], the image's share of the weights; nil for 1
	Peak   float64   // see dist.Pieced

	// Convolve and Correlate are the wavelet and its transpose.
	Convolve, Correlate Filter

	tiles *tiling
	of    *Problem
}

// Box is a superblock: Count tiles along each of three axes (the first is 1 in 2-D),
// numbered in C order from First.
type Box struct {
	First int
	Count [3]int
}

// Filter is y[n] = Σ_j Taps[j] x[n + j + First].
type Filter struct {
	Taps  []float32
	First int
}

// PlaceTable is what the cpu engine's tables hold of one place, see package simd.
type PlaceTable struct {
	Rows   []uint32    // [Tiles][Row()]
	Spans  []simd.Span // [Tiles]
	Shifts []uint8     // [Tiles], with Compact
}

// NewPlan prepares p. Its errors are those of Validate and of given amplitudes.
func NewPlan(ctx context.Context, p *Problem) (*Plan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	lo, hi := p.slab()
	t := newTiling(p.Grid, [2]int{lo, hi})
	l := &Plan{Problem: *p, Tiles: t.tiles, Points: t.point, Scale: p.imageScale(), tiles: t, of: p}
	side := [3]int{1, 8, 8}
	if p.Grid.Dim() == 3 {
		side = [3]int{4, 4, 4}
	}
	for _, b := range t.boxes {
		box := Box{First: b.tile}
		for a := range box.Count {
			box.Count[a] = (b.hi[a] - b.lo[a] + side[a] - 1) / side[a]
		}
		l.Boxes = append(l.Boxes, box)
	}
	var err error
	if l.Peak, err = peak(ctx, p, t); err != nil {
		return nil, err
	}
	convolve, correlate := newFilters(p.taps(), p.Wavelet.Zero, p.NT)
	l.Convolve, l.Correlate = Filter{convolve.taps, convolve.first}, Filter{correlate.taps, correlate.first}
	l.Problem.Velocity, l.Problem.Amplitude = nil, nil
	return l, nil
}

// Mode says what the rows of a PlaceTable hold.
func (l *Plan) Mode() simd.Mode { return l.Problem.mode() }

// Solve computes the tables of all places in use and hands each to sink, on up to
// Threads goroutines at a time; a table is valid until sink returns. It is called
// once, before the problem changes. Its errors are those of the traveltime method, of
// sink and of ctx.
func (l *Plan) Solve(ctx context.Context, sink func(place int, t *PlaceTable) error) error {
	p := l.of
	l.of = nil
	if l.Tiles == 0 {
		return nil
	}
	var w *weights
	if p.Directed() {
		w = newWeights(p)
	}
	free := make(chan *placePacker, p.threads())
	each := func(place int, f traveltime.Field) error {
		var s *placePacker
		select {
		case s = <-free:
		default:
			s = l.packer(p)
		}
		defer func() {
			select {
			case free <- s:
			default:
			}
		}()
		var slow *slowness
		if w != nil {
			slow = &s.slow
			if err := w.of(slow, place, f); err != nil {
				return err
			}
		}
		if err := s.pack(0, f.Time, slow); err != nil {
			return fmt.Errorf("kirchhoff: place %d: %w", place, err)
		}
		return sink(place, &PlaceTable{Rows: s.table, Spans: s.span, Shifts: s.shift})
	}
	opt := traveltime.Options{Threads: p.threads(), Progress: p.Progress}
	if err := p.Times.Solve(ctx, p.Positions, p.usedPlaces(), opt, each); err != nil {
		return fmt.Errorf("kirchhoff: traveltimes: %w", err)
	}
	return nil
}

// placePacker packs one place at a time.
type placePacker struct {
	packer
	slow slowness
}

func (l *Plan) packer(p *Problem) *placePacker {
	mode := p.mode()
	k := packer{tiling: l.tiles, dt: p.DT, t0: p.T0, nt: p.NT, mode: mode, places: 1,
		table: make([]uint32, l.Tiles*mode.Row()), span: make([]simd.Span, l.Tiles),
		reach: make([]simd.Reach, len(l.Boxes))}
	if mode&simd.Compact != 0 {
		k.shift = make([]uint8, l.Tiles)
	}
	return &placePacker{packer: k}
}

// TableMode says what the rows of a problem's tables hold.
func TableMode(p *Problem) simd.Mode { return p.mode() }

// TileCount is the number of tiles of a problem's image, and of boxes of them.
func TileCount(p *Problem) (tiles, boxes int64) { return p.tileCount() }
