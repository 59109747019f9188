package solver_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// vault is a device whose memory is not the host's: only copies reach it, and
// they are counted.
type vault struct {
	*device.Host
	crossings, allocations int
}

type vaultBuf struct {
	device.Buf
	v *vault
}

func (b vaultBuf) Device() device.Device          { return b.v }
func (b vaultBuf) Slice(off, n int) device.Buf    { return vaultBuf{b.Buf.Slice(off, n), b.v} }
func (v *vault) open(b device.Buf) device.Buf     { return b.(vaultBuf).Buf }
func (v *vault) Zero(x device.Buf) error          { return v.Host.Zero(v.open(x)) }
func (v *vault) Multiply(dst, x device.Buf) error { return v.Host.Multiply(v.open(dst), v.open(x)) }

func (v *vault) Alloc(n int, t device.Type) (device.Buf, error) {
	v.allocations++
	b, err := v.Host.Alloc(n, t)
	return vaultBuf{b, v}, err
}

func (v *vault) Copy(dst, src device.Buf) error {
	d, inside := dst.(vaultBuf)
	s, outside := src.(vaultBuf)
	if inside {
		dst = d.Buf
	}
	if outside {
		src = s.Buf
	}
	if inside != outside {
		v.crossings++
	}
	return v.Host.Copy(dst, src)
}

func (v *vault) Axpby(a float64, x device.Buf, b float64, y device.Buf) error {
	return v.Host.Axpby(a, v.open(x), b, v.open(y))
}

func (v *vault) Dots(pairs ...[2]device.Buf) ([]float64, error) {
	inner := make([][2]device.Buf, len(pairs))
	for i, p := range pairs {
		inner[i] = [2]device.Buf{v.open(p[0]), v.open(p[1])}
	}
	return v.Host.Dots(inner...)
}

// Vectors stay on the device: no method copies to the host or allocates once it
// has started.
func TestVectorsStayOnTheDevice(t *testing.T) {
	ctx := context.Background()
	const n = 500
	for _, name := range solver.Names() {
		v := &vault{Host: device.NewHost(1)}
		l := dist.Local(device.F32, n)
		w, err := dist.NewVector(v, l)
		must(t, err)
		d, err := dist.NewVector(v, l)
		must(t, err)
		r := rand.New(rand.NewPCG(40, 1))
		weights, data := make([]float32, n), make([]float32, n)
		for i := range weights {
			weights[i], data[i] = 1+r.Float32(), r.Float32()
		}
		must(t, device.Upload(w.Buf, weights))
		must(t, device.Upload(d.Buf, data))
		op, d2, err := damp(dist.Diagonal(w), d, 0.5)
		must(t, err)
		m, err := solver.New(name, solver.Options{TrueResidual: 2})
		must(t, err)
		must(t, m.Init(ctx, solver.Hold(op, d2), nil))
		crossings, allocations := v.crossings, v.allocations
		reason, err := solver.Run(ctx, m, solver.Stop{Iterations: 8})
		must(t, err)
		if m.State().Iteration < 4 {
			t.Errorf("%s: %s after %d iterations", name, reason, m.State().Iteration)
		}
		if v.crossings != crossings || v.allocations != allocations {
			t.Errorf("%s: %d copies across and %d allocations in %d iterations", name,
				v.crossings-crossings, v.allocations-allocations, m.State().Iteration)
		}
	}
}

// What an iteration leaves to the garbage collector does not grow with the
// vectors.
func TestIterationsAllocateNoVectors(t *testing.T) {
	ctx := context.Background()
	const n = 1 << 20 // 4 MiB a vector
	one := device.NewHost(1)
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1 + float32(i%7)
	}
	l := dist.Local(device.F32, n)
	a := dist.Diagonal(&dist.Vector{Layout: l, Buf: device.Wrap(one, ones)})
	d := &dist.Vector{Layout: l, Buf: device.Wrap(one, append([]float32(nil), ones...))}
	for _, name := range solver.Names() {
		m, err := solver.New(name, solver.Options{TrueResidual: 2})
		must(t, err)
		must(t, m.Init(ctx, solver.Hold(a, d), nil))
		must(t, m.Step(ctx))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 4 {
			must(t, m.Step(ctx))
		}
		runtime.ReadMemStats(&after)
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 4<<17 {
			t.Errorf("%s: %d bytes allocated in 4 iterations, vectors have %d", name, bytes, 4*n)
		}
	}
}
