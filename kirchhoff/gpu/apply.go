package gpu

import (
	"cmp"
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Forward adds the demigrated traces of the image src to dst.
func (k *kernel) Forward(ctx context.Context, dst, src device.Buf) error {
	return k.apply(ctx, dist.Forward, dst, src)
}

// Adjoint adds the migrated image of the traces src to dst.
func (k *kernel) Adjoint(ctx context.Context, dst, src device.Buf) error {
	return k.apply(ctx, dist.Backward, dst, src)
}

// apply makes a whole application. Its sums are float64.
func (k *kernel) apply(ctx context.Context, d dist.Direction, dst, src device.Buf) error {
	k.engine.room.Lock()
	defer k.engine.room.Unlock()
	defer k.engine.buffers.dev.Clock.Main(d.String())()
	w, err := k.prepare(ctx, d, dst, src, 0, true)
	if err != nil {
		return err
	}
	if err := w.Run(ctx); err != nil {
		return err
	}
	return k.engine.context.Err()
}

// prepare prepares an application: a whole one, or one in pieces that are summed over ranks.
func (k *kernel) prepare(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64, whole bool) (pieces.Work, error) {
	if d == dist.Forward {
		return k.forwardWork(ctx, dst, src, quantum, whole)
	}
	return k.imageWork(ctx, k.engine.adjointPass(), dst, src, quantum, whole, !whole && k.correlated(src))
}

// kind is how the names of the kernels for sums in float64 or float32 end.
func kind(wide bool) string {
	if wide {
		return "_f64"
	}
	return "_f32"
}

func (k *kernel) forwardWork(ctx context.Context, data, image device.Buf, quantum float64, whole bool) (pieces.Work, error) {
	if err := k.check("forward", data, image); err != nil {
		return pieces.Work{}, err
	}
	kind := kind(whole || quantum != 0)
	slot := func(lo, hi, piece int) device.Buf {
		return k.engine.ring.Slice(piece%ahead*k.engine.tracePart(), (hi-lo)*k.engine.stride*k.engine.geometry.layout.Bands)
	}
	if whole {
		slot = func(lo, hi, _ int) device.Buf {
			return k.engine.traces.Slice(0, (hi-lo)*k.engine.stride*k.engine.geometry.layout.Bands)
		}
	} else if err := k.engine.makeRing(quantum != 0); err != nil {
		return pieces.Work{}, err
	}
	k.engine.elements("load", k.engine.tiled.Len(), k.engine.tiled, image, k.engine.scale, k.engine.points)
	units := kirchhoff.NewCursor(k.image, k.opener(ctx))
	sum := func(lo, hi, piece int) (device.Buf, error) {
		if err := k.engine.buffers.dev.Zero(k.engine.traces); err != nil {
			return nil, err
		}
		parts := 1
		err := units.Each(piece, func(o *lists) error {
			parts = max(parts, o.forwardParts)
			o.demigrate(piece, lo, quantum)
			return nil
		})
		if err != nil {
			return nil, err
		}
		to := slot(lo, hi, piece)
		if !whole || parts > 1 {
			k.engine.collect(kind, to, k.engine.traces, parts, k.engine.tracePart())
		}
		return to, k.engine.context.Err()
	}
	finish := func(lo, hi, piece int) error {
		from, kind, err := slot(lo, hi, piece), kind, error(nil)
		if k.engine.geometry.layout.Bands > 1 {
			if from, err = k.engine.smooth(from, kind, hi-lo); err != nil {
				return err
			}
			kind = "_f32"
		}
		to, list := k.of(data, k.engine.nt, lo, hi)
		k.engine.filterRows("convolve"+kind, segment, to, k.engine.nt, from, k.engine.stride, hi-lo, k.engine.convolve, list)
		return k.engine.context.Err()
	}
	return pieces.Work{Cuts: k.image.TraceCuts, Ahead: ahead, Sum: sum, Finish: finish}, nil
}

// smooth adds up the bands of the given rows of traces, each smoothed by its triangle, in order.
// kind is the type of the sums.
func (e *Engine) smooth(sums device.Buf, kind string, rows int) (device.Buf, error) {
	to, n := e.smoothed.Slice(0, rows*e.stride), rows*e.stride
	if err := e.buffers.dev.Zero(to); err != nil {
		return nil, err
	}
	for band, t := range e.triangles {
		e.filterRows("convolve"+kind, segment, to, e.stride, sums.Slice(band*n, n), e.stride, rows, t, 0)
	}
	return to, nil
}

// pass is a way through the traces that makes an image: that of the operator's adjoint, or of
// the squared operator.
type pass struct {
	function  string                                         // of the card, which sums the rows
	correlate func(data device.Buf, of numbered, lo, hi int) // sets the rows to those of traces lo to hi
	step      int32                                          // between the samples of a row, in floats
	power     int32                                          // how often the image's scale counts
	bands     int                                            // whose samples bound those of the others
}

// adjointPass is the pass of the operator's adjoint, whose rows are pairs of samples.
func (e *Engine) adjointPass() pass { return pass{"adjoint", e.correlateRows, 2, 1, 1} }

// imageWork prepares an adjoint of the data by a pass. With correlated the rows of kept lists
// are those of the data.
func (k *kernel) imageWork(ctx context.Context, by pass, image, data device.Buf, quantum float64, whole, correlated bool) (pieces.Work, error) {
	if err := k.check("adjoint", data, image); err != nil {
		return pieces.Work{}, err
	}
	k.engine.ready = nil
	if o := k.kept; o != nil {
		if !correlated {
			by.correlate(data, o.numbered, 0, o.count)
		}
		return k.engine.backward(image, by.power, quantum, whole, func(lo, hi int, sums device.Buf) (int, error) {
			o.migrate(by.function, lo, hi, sums, quantum)
			return o.adjointParts, nil
		}), nil
	}
	return k.engine.backward(image, by.power, quantum, whole, func(lo, _ int, _ device.Buf) (int, error) {
		if lo > 0 { // the first has summed all boxes
			return 1, nil
		}
		if err := k.engine.clear(); err != nil {
			return 0, err
		}
		return 1, kirchhoff.Each(k.image, k.opener(ctx), func(o *lists) error {
			by.correlate(data, o.numbered, 0, o.count)
			o.add(by.function, quantum)
			return cmp.Or(ctx.Err(), k.engine.context.Err())
		})
	}), nil
}

// clear sets the sums of units to zero.
func (e *Engine) clear() error { return e.buffers.dev.Zero(e.image.Slice(0, e.geometry.imagePart())) }

// backward prepares an adjoint. sum sets sums, those of boxes lo to hi, and returns in how
// many parts. The image's scale counts power times.
func (e *Engine) backward(image device.Buf, power int32, quantum float64, whole bool, sum func(lo, hi int, sums device.Buf) (parts int, err error)) pieces.Work {
	wide, sums := whole || quantum != 0, e.tiled
	if wide {
		sums = e.image
	}
	part := func(of device.Buf, lo, hi int) device.Buf {
		return of.Slice(e.geometry.firstTile[lo]*simd.TileSize, (e.geometry.firstTile[hi]-e.geometry.firstTile[lo])*simd.TileSize)
	}
	piece := func(lo, hi, _ int) (device.Buf, error) {
		all, to := part(e.image, lo, hi), part(sums, lo, hi)
		parts, err := sum(lo, hi, all)
		if err != nil {
			return nil, err
		}
		if !wide || parts > 1 {
			e.collect(kind(wide), to, all, parts, e.geometry.imagePart())
		}
		return to, e.context.Err()
	}
	finish := func(lo, hi, _ int) error {
		from := part(sums, lo, hi)
		e.elements("unload"+kind(wide), from.Len(), image, from, e.scale, part(e.points, lo, hi), power)
		return e.context.Err()
	}
	return pieces.Work{Cuts: e.geometry.boxCuts, Ahead: len(e.geometry.boxCuts) - 1, Sum: piece, Finish: finish}
}

// check panics if buffers have the wrong size. Buffers of another device are an error.
func (k *kernel) check(op string, data, image device.Buf) error {
	p := &k.engine.geometry.plan.Problem
	if k.engine.closed {
		panic(fmt.Sprintf("kirchhoff: %s of a closed engine", op))
	}
	if data.Len() != k.image.Data*k.engine.nt || image.Len() != p.ImageLen() {
		panic(fmt.Sprintf("kirchhoff: %s with %d samples and %d image points, want %d and %d",
			op, data.Len(), image.Len(), k.image.Data*k.engine.nt, p.ImageLen()))
	}
	return k.engine.mine(op, data, image)
}

func (e *Engine) mine(op string, bufs ...device.Buf) error {
	for _, b := range bufs {
		if c, ok := b.(*card.Buf); !ok || c.Device() != device.Device(e.buffers.dev) || b.Type() != device.F32 {
			return fmt.Errorf("kirchhoff: %s on %s of %v on %s, want %v", op, e.buffers.dev.Name(), b.Type(), b.Device().Name(), device.F32)
		}
	}
	return nil
}

// correlateRows sets the first rows to traces lo to hi, by their numbers in of, correlated
// with the wavelet.
func (e *Engine) correlateRows(data device.Buf, of numbered, lo, hi int) {
	x, list := of.of(data, e.nt, lo, hi)
	// The last sample of a block is only needed for the one before it.
	stride := int(e.rowLen())
	e.filterRows("correlate", segment-1, e.rows, stride, x, e.nt, hi-lo, e.correlate, list)
	for band, t := range e.triangles[1:] {
		at := 2 * e.pitch * (band + 1)
		e.filterRows("smooth", segment-1, e.rows.Slice(at, e.rows.Len()-at), stride, e.rows, stride/2, hi-lo, t, 0)
	}
}

// correlated reports whether the rows are those of all traces of the data.
func (k *kernel) correlated(data device.Buf) bool {
	return k.engine.owner == k && k.engine.ready != nil && memory(k.engine.ready) == memory(data)
}

// filterRows filters rows of x. Each block of threads computes step samples. list holds the
// rows of the data, that are read or written; 0: the first.
func (e *Engine) filterRows(name string, step int, y device.Buf, ystride int, x device.Buf, xstride, rows int, t taps, list accel.Memory) {
	e.launch(name, rows, (e.pitch+step-1)/step, narrow, 0, y, int64(ystride), x, int64(xstride), int32(e.nt),
		t.at, int32(t.count), int32(t.first), list, e.one())
}

// magic makes sums of numbers near it have no digits below 2 quanta.
func magic(quantum float64) float64 { return 1.5 * (1 << 53) * quantum }

// imagePart and tracePart are the numbers of sums in a part of the adjoint and the forward.
func (g *geometry) imagePart() int { return g.plan.Tiles * simd.TileSize }
func (e *Engine) tracePart() int   { return e.most.piece * e.stride * e.geometry.layout.Bands }

// rowLen is the number of elements of a trace in rows.
func (e *Engine) rowLen() int64 { return int64(2 * e.pitch * e.geometry.layout.Bands) }

// collect adds up the sums of several parts.
func (e *Engine) collect(kind string, dst, sums device.Buf, parts, part int) {
	e.elements("collect"+kind, dst.Len(), dst, sums, int32(parts), int64(part))
}
