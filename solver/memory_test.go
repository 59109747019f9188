package solver_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// ledger is a host that counts the bytes of its buffers.
type ledger struct {
	*device.Host
	now, peak int64
}

type entry struct {
	device.Buf
	on *ledger
}

func (e entry) Device() device.Device       { return e.on }
func (e entry) Slice(off, n int) device.Buf { return entry{e.Buf.Slice(off, n), e.on} }

func plain(b device.Buf) device.Buf {
	if e, ok := b.(entry); ok {
		return e.Buf
	}
	return b
}

func (l *ledger) Alloc(n int, t device.Type) (device.Buf, error) {
	l.now += int64(n * t.Size())
	l.peak = max(l.peak, l.now)
	b, err := l.Host.Alloc(n, t)
	return entry{b, l}, err
}

func (l *ledger) Free(b device.Buf)              { l.now -= int64(b.Len() * b.Type().Size()) }
func (l *ledger) Zero(x device.Buf) error        { return l.Host.Zero(plain(x)) }
func (l *ledger) Copy(d, s device.Buf) error     { return l.Host.Copy(plain(d), plain(s)) }
func (l *ledger) Multiply(d, x device.Buf) error { return l.Host.Multiply(plain(d), plain(x)) }
func (l *ledger) Stencil(s device.Stencil, dst, src, before, after device.Buf) error {
	return l.Host.Stencil(s, plain(dst), plain(src), before, after)
}
func (l *ledger) Axpby(a float64, x device.Buf, b float64, y device.Buf) error {
	return l.Host.Axpby(a, plain(x), b, plain(y))
}
func (l *ledger) Dots(pairs ...[2]device.Buf) ([]float64, error) {
	inner := make([][2]device.Buf, len(pairs))
	for i, p := range pairs {
		inner[i] = [2]device.Buf{plain(p[0]), plain(p[1])}
	}
	return l.Host.Dots(inner...)
}

// onLedger is a matrix as a kernel on a ledger.
type onLedger struct{ dense[float32] }

func (k onLedger) Forward(ctx context.Context, dst, src device.Buf) error {
	return k.dense.Forward(ctx, plain(dst), plain(src))
}

func (k onLedger) Adjoint(ctx context.Context, dst, src device.Buf) error {
	return k.dense.Adjoint(ctx, plain(dst), plain(src))
}

// What a method takes on a counter, with an operator that is not applied, is what it
// takes in a run: with rows, in other variables, streamed.
func TestMemoryIsCounted(t *testing.T) {
	const rows, cols = 90, 24
	r := rand.New(rand.NewPCG(15, 2))
	m := matrix[float32](r, rows, cols)
	image, data := dist.Local(device.F32, 6, 4), dist.Local(device.F32, rows)
	for _, c := range []struct {
		name     string
		o        solver.Options
		streamed bool
	}{
		{"cg", solver.Options{}, false},
		{"cgls", solver.Options{}, false},
		{"cgls", solver.Options{Orthogonalize: 4}, false},
		{"cg", solver.Options{}, true},
		{"cgls", solver.Options{Orthogonalize: 3}, true},
	} {
		run := func(on device.Device, a dist.Operator) {
			var p solver.Problem
			d, err := dist.NewVector(on, data)
			must(t, err)
			must(t, device.Upload(d.Buf, normal[float32](r, rows)))
			p = solver.Hold(a, d)
			if c.streamed {
				p = solver.Stream(&held{Operator: a, d: d})
			}
			w, err := dist.NewVector(on, image)
			must(t, err)
			must(t, device.Upload(w.Buf, normal[float32](r, cols)))
			p, err = p.Change(dist.Diagonal(w))
			must(t, err)
			difference, err := dist.Difference(image, 0)
			must(t, err)
			p, err = p.AddRows(dist.Scale(0.3, dist.Identity(image)), difference)
			must(t, err)
			c.o.AdjointFail, c.o.TrueResidual = -1, 1
			s, err := solver.For(p, c.name, c.o)
			must(t, err)
			must(t, s.Init(context.Background(), p, w))
			for range 2 {
				must(t, s.Step(context.Background()))
			}
		}
		l := &ledger{Host: device.NewHost(1)}
		run(l, dist.Lift(onLedger{dense[float32]{m: m}}, image, data))
		counter := device.NewCounter(l.Host)
		run(counter, dist.Unapplied(image, data))
		if counter.Peak() != l.peak || counter.Now() != l.now {
			t.Errorf("%s, %+v, streamed %v: %d bytes counted and %d in the end, a run takes %d and %d",
				c.name, c.o, c.streamed, counter.Peak(), counter.Now(), l.peak, l.now)
		}
	}
}
