package gpu

import (
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Forward adds the demigrated traces of the image src to dst.
func (e *Engine) Forward(ctx context.Context, dst, src device.Buf) error {
	return e.apply(ctx, dist.Forward, dst, src)
}

// Adjoint adds the migrated image of the traces src to dst.
func (e *Engine) Adjoint(ctx context.Context, dst, src device.Buf) error {
	return e.apply(ctx, dist.Backward, dst, src)
}

// apply makes a whole application. Its sums are float64.
func (e *Engine) apply(ctx context.Context, d dist.Direction, dst, src device.Buf) error {
	e.room.Lock()
	defer e.room.Unlock()
	defer e.dev.Mark(d.String())()
	w, err := e.work(d, dst, src, 0, true)
	if err != nil {
		return err
	}
	if err := w.Run(ctx); err != nil {
		return err
	}
	return e.context.Err()
}

// work prepares an application: a whole one, or one in pieces that are summed over ranks.
func (e *Engine) work(d dist.Direction, dst, src device.Buf, quantum float64, whole bool) (pieces.Work, error) {
	if d == dist.Forward {
		return e.forwardWork(dst, src, quantum, whole)
	}
	return e.adjointWork(dst, src, quantum, whole)
}

// kind is how the names of the kernels for sums in float64 or float32 end.
func kind(wide bool) string {
	if wide {
		return "_f64"
	}
	return "_f32"
}

func (e *Engine) forwardWork(data, image device.Buf, quantum float64, whole bool) (pieces.Work, error) {
	if err := e.check("forward", data, image); err != nil {
		return pieces.Work{}, err
	}
	kind := kind(whole || quantum != 0)
	slot := func(lo, hi, piece int) device.Buf { return e.ring.Slice(piece%ahead*e.tracePart(), (hi-lo)*e.stride) }
	if whole {
		slot = func(lo, hi, _ int) device.Buf { return e.traces.Slice(0, (hi-lo)*e.stride) }
	} else if err := e.makeRing(quantum != 0); err != nil {
		return pieces.Work{}, err
	}
	e.elements("load", e.tiled.Len(), e.tiled, image, e.scale, e.points)
	sum := func(lo, hi, piece int) (device.Buf, error) {
		if err := e.dev.Zero(e.traces); err != nil {
			return nil, err
		}
		if e.plan.Tiles > 0 {
			block := e.firstBlock[piece]
			e.launch("forward", e.firstBlock[piece+1]-block, e.forwardParts, lanes, 2*forwardStage(e.layout)+4*lanes*e.window,
				e.operator, e.forward, e.tiled, e.traces, int32(block), int32(lo), int32(e.stride),
				int32(e.window), int64(e.tracePart()), magic(quantum))
		}
		to := slot(lo, hi, piece)
		if !whole || e.forwardParts > 1 {
			e.collect(kind, to, e.traces, e.forwardParts, e.tracePart())
		}
		return to, e.context.Err()
	}
	finish := func(lo, hi, piece int) error {
		e.filterRows("convolve"+kind, segment, data.Slice(lo*e.nt, (hi-lo)*e.nt), e.nt, slot(lo, hi, piece), e.stride, hi-lo, e.convolve)
		return e.context.Err()
	}
	return pieces.Work{Cuts: e.traceCuts, Ahead: ahead, Sum: sum, Finish: finish}, nil
}

func (e *Engine) adjointWork(image, data device.Buf, quantum float64, whole bool) (pieces.Work, error) {
	if err := e.check("adjoint", data, image); err != nil {
		return pieces.Work{}, err
	}
	if whole || e.ready == nil || memory(e.ready) != memory(data) {
		e.correlateAll(data)
	}
	e.ready = nil
	wide, sums := whole || quantum != 0, e.tiled
	if wide {
		sums = e.image
	}
	part := func(of device.Buf, lo, hi int) device.Buf {
		return of.Slice(e.firstTile[lo]*simd.TileSize, (e.firstTile[hi]-e.firstTile[lo])*simd.TileSize)
	}
	sum := func(lo, hi, _ int) (device.Buf, error) {
		group, all := e.firstGroup[lo], part(e.image, lo, hi)
		e.launch("adjoint", e.firstGroup[hi]-group, e.adjointParts, threads, 2*adjointStage(e.layout),
			e.operator, e.adjoint, e.rows, all, int32(group), int32(e.firstTile[lo]), int64(e.imagePart()), magic(quantum))
		to := part(sums, lo, hi)
		if !wide || e.adjointParts > 1 {
			e.collect(kind(wide), to, all, e.adjointParts, e.imagePart())
		}
		return to, e.context.Err()
	}
	finish := func(lo, hi, _ int) error {
		from := part(sums, lo, hi)
		e.elements("unload"+kind(wide), from.Len(), image, from, e.scale, part(e.points, lo, hi))
		return e.context.Err()
	}
	return pieces.Work{Cuts: e.boxCuts, Ahead: len(e.boxCuts) - 1, Sum: sum, Finish: finish}, nil
}

// check panics if buffers have the wrong size. Buffers of another device are an error.
func (e *Engine) check(op string, data, image device.Buf) error {
	p := &e.plan.Problem
	if e.closed {
		panic(fmt.Sprintf("kirchhoff: %s of a closed engine", op))
	}
	if data.Len() != e.ntrace*e.nt || image.Len() != p.ImageLen() {
		panic(fmt.Sprintf("kirchhoff: %s with %d samples and %d image points, want %d and %d",
			op, data.Len(), image.Len(), e.ntrace*e.nt, p.ImageLen()))
	}
	return e.mine(op, data, image)
}

func (e *Engine) mine(op string, bufs ...device.Buf) error {
	for _, b := range bufs {
		if c, ok := b.(*card.Buf); !ok || c.Device() != device.Device(e.dev) || b.Type() != device.F32 {
			return fmt.Errorf("kirchhoff: %s on %s of %v on %s, want %v", op, e.dev.Name(), b.Type(), b.Device().Name(), device.F32)
		}
	}
	return nil
}

// correlateAll sets the rows to all traces correlated with the wavelet.
func (e *Engine) correlateAll(data device.Buf) {
	// The last sample of a block is only needed for the one before it.
	e.filterRows("correlate", segment-1, e.rows, 2*e.pitch(), data, e.nt, e.ntrace, e.correlate)
}

// filterRows filters rows of x. Each block of threads computes step samples.
func (e *Engine) filterRows(name string, step int, y device.Buf, ystride int, x device.Buf, xstride, rows int, t taps) {
	e.launch(name, rows, (e.nt+step-1)/step, narrow, 0, y, int64(ystride), x, int64(xstride), int32(e.nt),
		t.at, int32(t.count), int32(t.first), e.one())
}

// magic makes sums of numbers near it have no digits below 2 quanta.
func magic(quantum float64) float64 { return 1.5 * (1 << 53) * quantum }

// pitch is the number of pairs of a row, even so that they are copied by two.
func (e *Engine) pitch() int { return (e.nt + 1) &^ 1 }

// imagePart and tracePart are the numbers of sums in a part of the adjoint and the forward.
func (e *Engine) imagePart() int { return e.plan.Tiles * simd.TileSize }
func (e *Engine) tracePart() int { return e.longestPiece() * e.stride }

// collect adds up the sums of several parts.
func (e *Engine) collect(kind string, dst, sums device.Buf, parts, part int) {
	e.elements("collect"+kind, dst.Len(), dst, sums, int32(parts), int64(part))
}
