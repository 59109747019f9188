package solver_test

import (
	"context"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// ledger is a host that counts the buffers it has handed out by their length.
type ledger struct {
	*device.Host
	by map[int]int
}

func (l *ledger) Alloc(n int, t device.Type) (device.Buf, error) {
	l.by[n]++
	b, err := l.Host.Alloc(n, t)
	return entry{b, l}, err
}

type entry struct {
	device.Buf
	on *ledger
}

func (e entry) Device() device.Device       { return e.on }
func (e entry) Slice(off, n int) device.Buf { return e.Buf.Slice(off, n) }

func (l *ledger) plain(b device.Buf) device.Buf {
	if e, ok := b.(entry); ok {
		return e.Buf
	}
	return b
}

func (l *ledger) Zero(x device.Buf) error        { return l.Host.Zero(l.plain(x)) }
func (l *ledger) Copy(d, s device.Buf) error     { return l.Host.Copy(l.plain(d), l.plain(s)) }
func (l *ledger) Multiply(d, x device.Buf) error { return l.Host.Multiply(l.plain(d), l.plain(x)) }
func (l *ledger) SoftThreshold(x device.Buf, t float64) error {
	return l.Host.SoftThreshold(l.plain(x), t)
}
func (l *ledger) Axpby(a complex128, x device.Buf, b complex128, y device.Buf) error {
	return l.Host.Axpby(a, l.plain(x), b, l.plain(y))
}
func (l *ledger) Dots(pairs ...[2]device.Buf) ([]complex128, error) {
	inner := make([][2]device.Buf, len(pairs))
	for i, p := range pairs {
		inner[i] = [2]device.Buf{l.plain(p[0]), l.plain(p[1])}
	}
	return l.Host.Dots(inner...)
}

// repeat is the operator x → (x; x; x).
type repeat struct{ on *ledger }

func (r repeat) Forward(_ context.Context, dst, src device.Buf) error {
	n := src.Len()
	for i := range 3 {
		if err := r.on.Host.Axpby(1, r.on.plain(src), 1, r.on.plain(dst).Slice(i*n, n)); err != nil {
			return err
		}
	}
	return nil
}

func (r repeat) Adjoint(_ context.Context, dst, src device.Buf) error {
	n := dst.Len()
	for i := range 3 {
		if err := r.on.Host.Axpby(1, r.on.plain(src).Slice(i*n, n), 1, r.on.plain(dst)); err != nil {
			return err
		}
	}
	return nil
}

// The footprint is what a method allocates.
func TestFootprint(t *testing.T) {
	const n = 50
	for _, o := range []solver.Options{{}, {Backtracking: true}, {Orthogonalize: 4}} {
		testFootprint(t, n, o)
	}
}

func testFootprint(t *testing.T, n int, o solver.Options) {
	o.Sparsity = 1e-3
	for _, name := range solver.Names() {
		l := &ledger{device.NewHost(1), map[int]int{}}
		op := dist.Lift(repeat{l}, dist.Local(device.F32, n), dist.Local(device.F32, 3*n))
		d, err := dist.NewVector(l, op.Range())
		must(t, err)
		for i := range 3 * n {
			device.Slice[float32](l.plain(d.Buf))[i] = float32(i % 7)
		}
		l.by = map[int]int{}
		m, err := solver.New(name, o)
		must(t, err)
		must(t, m.Init(context.Background(), op, d, nil))
		must(t, m.Step(context.Background()))
		images, data := solver.Footprint(name, o)
		if l.by[n] != images || l.by[3*n] != data {
			t.Errorf("%s: %d image and %d data vectors allocated, footprint says %d and %d", name, l.by[n], l.by[3*n], images, data)
		}
	}
}
