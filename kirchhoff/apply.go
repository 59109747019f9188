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
	if k.image.Rows != nil {
		trace = int(k.image.Rows[trace])
	}
	nt := k.cpu.plan.Problem.NT
	return data[trace*nt : (trace+1)*nt]
}

// slices returns the elements of a data and an image buffer. It panics if a size is wrong.
func (k *kernel) slices(op string, data, image device.Buf) (d, m []float32) {
	d, m = device.Slice[float32](data), device.Slice[float32](image)
	checkSizes(op, &k.cpu.plan.Problem, k.image.Data, len(d), len(m))
	if k.cpu.image32 == nil {
		panic(fmt.Sprintf("kirchhoff: %s of a closed engine", op))
	}
	return d, m
}

// addTrace convolves the trace that a worker has made and adds it to a trace of the data.
func (k *kernel) addTrace(worker int, data []float32, trace int) {
	for phase, made := range k.cpu.crossings[worker].made {
		k.cpu.plan.convolutions()[phase].apply(k.cpu.isa, k.row(data, trace), made, true)
	}
}

// Forward adds the demigrated traces of the image src to dst.
func (k *kernel) Forward(ctx context.Context, dst, src device.Buf) error {
	data, image := k.slices("forward", dst, src)
	k.cpu.room.Lock()
	defer k.cpu.room.Unlock()
	defer runtime.KeepAlive(k)
	if err := k.cpu.loadImage(ctx, image); err != nil {
		return err
	}
	return k.eachUnit(ctx, func(o *lists) error {
		return o.demigrate(ctx, 0, len(k.image.TraceCuts)-1, func(worker, _, phase int) []float32 { return k.cpu.crossings[worker].made[phase].trace },
			func(worker, trace int) { k.addTrace(worker, data, trace) })
	})
}

// Adjoint adds the migrated image of the traces src to dst.
func (k *kernel) Adjoint(ctx context.Context, dst, src device.Buf) error {
	data, image := k.slices("adjoint", src, dst)
	k.cpu.room.Lock()
	defer k.cpu.room.Unlock()
	defer runtime.KeepAlive(k)
	if k.kept != nil {
		k.kept.ready = nil // the data may have changed
	}
	if err := k.sumTiles(ctx, 0, k.cpu.plan.Tiles, k.kept == nil, k.migration(ctx, data, 0)); err != nil {
		return err
	}
	return k.cpu.unloadSums(ctx, image, k.cpu.plan.Scale, 0, k.cpu.plan.Tiles)
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
		hi = k.cpu.plan.Tiles
		if err := k.cpu.clearSums(ctx, lo, hi); err != nil {
			return err
		}
	}
	return k.eachUnit(ctx, func(o *lists) error { return add(o, lo, hi) })
}

// Peak implements dist.Pieced. It leaves out the image's share of the weights, 2/v.
func (k *kernel) Peak() float64 { return k.cpu.plan.Peak }

// Bound implements dist.Pieced. In the adjoint it returns, for each shot (neighbouring
// traces of one source place), the sum of the largest samples of its correlated traces;
// in the forward, for each slab of SlabPoints, the sum of the image's absolute values
// times 2/v. The adjoint keeps the correlated traces for Begin: if Begin comes next, the
// source must not have changed.
func (k *kernel) Bound(d dist.Direction, src device.Buf) ([]float64, error) {
	k.cpu.room.Lock()
	defer k.cpu.room.Unlock()
	x := device.Slice[float32](src)
	if d == dist.Forward {
		slab := SlabPoints(k.cpu.plan.Problem.Grid.Dim()) * k.cpu.plan.Problem.plane()
		out := make([]float64, (len(x)+slab-1)/slab)
		for i := range x {
			out[i/slab] += math.Abs(float64(scalePoint(x, k.cpu.plan.Scale, i)))
		}
		return out, nil
	}
	phases := k.cpu.plan.phases()
	largest := make([]float64, k.image.Own.NumTraces()*phases)
	if k.kept != nil {
		if err := k.kept.correlateAll(context.Background(), x, largest); err != nil {
			return nil, err
		}
		k.kept.ready = x
		return k.image.Shots(mostOf(largest, phases)), nil
	}
	err := workers.Each(context.Background(), k.cpu.threads, len(largest), func(worker, i int) error {
		to := make([]float32, k.cpu.plan.Problem.NT)
		k.cpu.correlateTrace(worker, i%phases, to, k.row(x, i/phases))
		largest[i] = k.cpu.isa.Largest(to)
		return nil
	})
	return k.image.Shots(mostOf(largest, phases)), err
}

// mostOf returns the largest of each n neighbours of v, or NaN if one is.
func mostOf(v []float64, n int) []float64 {
	out := make([]float64, len(v)/n)
	for i := range out {
		for _, x := range v[i*n : (i+1)*n] {
			out[i] = max(out[i], x)
		}
	}
	return out
}
