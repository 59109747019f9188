package kirchhoff

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/workers"
)

var _ dist.Pieced = (*kernel)(nil)

// row is a trace of the data.
func (k *kernel) row(data []float32, trace int) []float32 {
	if k.Rows != nil {
		trace = int(k.Rows[trace])
	}
	nt := k.Problem.NT
	return data[trace*nt : (trace+1)*nt]
}

// slices returns the elements of a data and an image buffer. It panics if a size is wrong.
func (k *kernel) slices(op string, data, image device.Buf) (d, m []float32) {
	d, m = device.Slice[float32](data), device.Slice[float32](image)
	checkSizes(op, &k.Problem, k.Data, len(d), len(m))
	if k.image32 == nil {
		panic(fmt.Sprintf("kirchhoff: %s of a closed engine", op))
	}
	return d, m
}

// addTrace convolves the trace that a worker has made and adds it to a trace of the data.
func (k *kernel) addTrace(worker int, data []float32, trace int) {
	k.Convolve.apply(k.isa, k.row(data, trace), k.crossings[worker].made, true)
}

// Forward adds the demigrated traces of the image src to dst.
func (k *kernel) Forward(ctx context.Context, dst, src device.Buf) error {
	data, image := k.slices("forward", dst, src)
	k.room.Lock()
	defer k.room.Unlock()
	defer runtime.KeepAlive(k)
	if err := k.loadImage(ctx, image); err != nil {
		return err
	}
	return k.eachUnit(ctx, func(o *lists) error {
		return o.demigrate(ctx, 0, len(k.TraceCuts)-1, func(worker, _ int) []float32 { return k.crossings[worker].made.trace },
			func(worker, trace int) { k.addTrace(worker, data, trace) })
	})
}

// Adjoint adds the migrated image of the traces src to dst.
func (k *kernel) Adjoint(ctx context.Context, dst, src device.Buf) error {
	data, image := k.slices("adjoint", src, dst)
	k.room.Lock()
	defer k.room.Unlock()
	defer runtime.KeepAlive(k)
	if k.kept != nil {
		k.kept.ready = nil // the data may have changed
	}
	if err := k.sumTiles(ctx, 0, k.Tiles, k.kept == nil, k.migration(ctx, data, 0)); err != nil {
		return err
	}
	return k.unloadSums(ctx, image, k.Scale, 0, k.Tiles)
}

// migration adds the adjoint of the data to the sums. If there is only one unit it sets
// the sums instead.
func (k *kernel) migration(ctx context.Context, data []float32, quantum float64) func(o *lists, lo, hi int) error {
	return func(o *lists, lo, hi int) error { return o.migrate(ctx, data, lo, hi, quantum, k.kept != nil) }
}

// sumTiles calls add for each unit with tiles lo to hi. With whole it clears the sums of
// all tiles at the first call and adds all tiles then.
func (k *kernel) sumTiles(ctx context.Context, lo, hi int, whole bool, add func(o *lists, lo, hi int) error) error {
	if whole {
		if lo > 0 {
			return nil
		}
		hi = k.Tiles
		if err := k.clearSums(ctx, lo, hi); err != nil {
			return err
		}
	}
	return k.eachUnit(ctx, func(o *lists) error { return add(o, lo, hi) })
}

// Peak implements dist.Pieced. It leaves out the image's share of the weights, 2/v.
func (e *cpu) Peak() float64 { return e.Plan.Peak }

// Bound implements dist.Pieced. In the adjoint it returns, for each shot (neighbouring
// traces of one source place), the sum of the largest samples of its correlated traces;
// in the forward, for each slab of SlabPoints, the sum of the image's absolute values
// times 2/v. The adjoint keeps the correlated traces for Begin: if Begin comes next, the
// source must not have changed.
func (k *kernel) Bound(d dist.Direction, src device.Buf) ([]float64, error) {
	k.room.Lock()
	defer k.room.Unlock()
	x := device.Slice[float32](src)
	if d == dist.Forward {
		slab := SlabPoints(k.Problem.Grid.Dim()) * k.Problem.plane()
		out := make([]float64, (len(x)+slab-1)/slab)
		for i := range x {
			out[i/slab] += math.Abs(float64(scaled(x, k.Scale, i)))
		}
		return out, nil
	}
	largest := make([]float64, k.Own.NumTraces())
	if k.kept != nil {
		if err := k.kept.correlateAll(context.Background(), x, largest); err != nil {
			return nil, err
		}
		k.kept.ready = x
		return k.Shots(largest), nil
	}
	err := workers.Each(context.Background(), k.threads, len(largest), func(worker, trace int) error {
		to := make([]float32, k.Problem.NT)
		k.correlateTrace(worker, to, k.row(x, trace))
		largest[trace] = k.isa.Largest(to)
		return nil
	})
	return k.Shots(largest), err
}
