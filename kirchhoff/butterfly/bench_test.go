package butterfly

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

func TestBench(t *testing.T) {
	p := carpet(t, 16, 25, 1000, []int{64, 64, 64})
	p.Threads = 1
	l, err := kirchhoff.NewPlan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	e := make([]float32, p.NumTraces()*p.NT)
	for i := range e {
		e[i] = float32(r.NormFloat64())
	}
	m, sums := make([]float32, p.ImageLen()), make([]float64, len(l.Points))
	d, err := kirchhoff.New(t.Context(), p, kirchhoff.Work{})
	if err != nil {
		t.Fatal(err)
	}
	host := device.NewHost(1)
	direct := func() time.Duration {
		begin := clock()
		if err := d.Kernels()[0].Adjoint(t.Context(), device.Wrap(host, m), device.Wrap(host, e)); err != nil {
			t.Fatal(err)
		}
		return clock() - begin
	}
	for _, tolerance := range []float64{1e-2, 1e-3} {
		begin := time.Now()
		o, err := New(t.Context(), p, tolerance)
		if err != nil {
			t.Fatal(err)
		}
		made := time.Since(begin)
		total := int64(p.NumTraces()) * int64(p.ImageLen())
		for range 3 {
			start := clock()
			err = o.Adjoint(t.Context(), sums, func(_, trace int, to []float32) { copy(to, e[trace*p.NT:]) })
			if err != nil {
				t.Fatal(err)
			}
			fast := clock() - start
			slow := direct()
			t.Logf("tolerance %g: made in %v, %d of %d triples, %v beside %v: %.1f", tolerance, made, o.Triples(), total, fast, slow, slow.Seconds()/fast.Seconds())
		}
	}
}

// clock is the processor time of this process.
func clock() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
