package gpu

import (
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Forward adds the demigrated traces of the image src to dst.
func (e *Engine) Forward(ctx context.Context, dst, src device.Buf) error {
	e.room.Lock()
	defer e.room.Unlock()
	if err := e.check("forward", dst, src); err != nil {
		return err
	}
	defer e.dev.Mark("forward")()
	e.load(src)
	for piece := range len(e.traceCuts) - 1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.demigrate(piece, 0); err != nil {
			return err
		}
		lo, hi := e.traceCuts[piece], e.traceCuts[piece+1]
		if e.forwardParts > 1 {
			e.collect("collect_f64", e.traces, e.traces, (hi-lo)*e.stride, e.forwardParts, e.tracePart())
		}
		e.convolveRows("_f64", dst, e.traces, lo, hi)
	}
	return e.context.Err()
}

// Adjoint adds the migrated image of the traces src to dst.
func (e *Engine) Adjoint(ctx context.Context, dst, src device.Buf) error {
	e.room.Lock()
	defer e.room.Unlock()
	if err := e.check("adjoint", src, dst); err != nil {
		return err
	}
	defer e.dev.Mark("adjoint")()
	e.correlateAll(src)
	e.ready = nil
	for piece := range len(e.boxCuts) - 1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		e.migrate(piece, 0)
	}
	e.unload("unload_f64", dst, e.image, 0, e.plan.Tiles, e.adjointParts)
	return e.context.Err()
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

// load puts the image into tiles.
func (e *Engine) load(image device.Buf) {
	e.elements("load", e.plan.Tiles*simd.TileSize, e.tiled, image, e.scale, e.points)
}

// correlateAll sets the rows to all traces correlated with the wavelet.
func (e *Engine) correlateAll(data device.Buf) {
	// The last sample of a block is only needed for the one before it.
	e.filterRows("correlate", segment-1, e.rows, 2*e.nt, data, e.nt, e.ntrace, e.correlate)
}

// filterRows filters rows of x. Each block of threads computes step samples.
func (e *Engine) filterRows(name string, step int, y device.Buf, ystride int, x device.Buf, xstride, rows int, t taps) {
	e.launch(name, rows, (e.nt+step-1)/step, narrow, 0, y, int64(ystride), x, int64(xstride), int32(e.nt),
		t.at, int32(t.count), int32(t.first))
}

// convolveRows adds traces lo to hi, convolved, to the data.
func (e *Engine) convolveRows(kind string, data, sums device.Buf, lo, hi int) {
	e.filterRows("convolve"+kind, segment, data.Slice(lo*e.nt, (hi-lo)*e.nt), e.nt, sums, e.stride, hi-lo, e.convolve)
}

// magic makes sums of numbers near it have no digits below 2 quanta.
func magic(quantum float64) float64 { return 1.5 * (1 << 53) * quantum }

// migrate sets the sums of a piece of the image, in all parts.
func (e *Engine) migrate(piece int, quantum float64) {
	lo, hi := e.boxCuts[piece], e.boxCuts[piece+1]
	tile := e.firstTile[lo]
	part := e.plan.Tiles * simd.TileSize
	e.launch("adjoint", e.firstGroup[hi]-e.firstGroup[lo], e.adjointParts, threads, 2*adjointStage(e.plan.Layout().Fields),
		e.operator, e.adjoint, e.rows, e.image.Slice(tile*simd.TileSize, 0), int32(e.firstGroup[lo]), int32(tile), int64(part), magic(quantum))
}

// demigrate sets the sums of a piece of the traces, not yet convolved, in all parts.
func (e *Engine) demigrate(piece int, quantum float64) error {
	if err := e.dev.Zero(e.traces); err != nil {
		return err
	}
	blocks := e.firstBlock[piece+1] - e.firstBlock[piece]
	if e.plan.Tiles == 0 {
		return nil
	}
	e.launch("forward", blocks, e.forwardParts, lanes, 2*forwardStage(e.plan.Layout().Fields)+4*lanes*e.window,
		e.operator, e.forward, e.tiled, e.traces, int32(e.firstBlock[piece]), int32(e.traceCuts[piece]), int32(e.stride),
		int32(e.window), int64(e.tracePart()), magic(quantum))
	return nil
}

// tracePart is the number of samples that a part of the forward has.
func (e *Engine) tracePart() int { return e.longestPiece() * e.stride }

// collect adds up n sums of several parts.
func (e *Engine) collect(name string, dst, sums device.Buf, n, parts, part int) {
	e.elements(name, n, dst, sums, int32(parts), int64(part))
}

// unload adds tiles lo to hi to the image. The sums begin with tile lo.
func (e *Engine) unload(name string, image, sums device.Buf, lo, hi, parts int) {
	part := e.plan.Tiles * simd.TileSize
	e.elements(name, (hi-lo)*simd.TileSize, image, sums, e.scale, e.points.Slice(lo*simd.TileSize, 0), int32(parts), int64(part))
}
