package bench

import (
	"context"
	"syscall"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// The speeds of a core are measured in processor time, which other programs on the machine
// hardly change.

// TripleSpeed is how many triples a second a core goes through in the kernels of k, forward
// and adjoint together, while all k.Threads work. It counts triples as kirchhoff.Problem.Visits
// does. samples is the SampleSpeed of the same cores.
func TripleSpeed(ctx context.Context, k KernelSize, samples float64) (float64, error) {
	p, seconds, err := k.iteration(ctx)
	if err != nil {
		return 0, err
	}
	return float64(p.Visits()) / (seconds - float64(p.NumTraces()*p.NT)/samples), nil
}

// SampleSpeed is how many samples of traces a second a core takes through an iteration of CGLS
// while all k.Threads work. The image of k should be so small that the kernels take no time.
func SampleSpeed(ctx context.Context, k KernelSize) (float64, error) {
	p, seconds, err := k.iteration(ctx)
	if err != nil {
		return 0, err
	}
	return float64(p.NumTraces()*p.NT) / seconds, nil
}

// iteration measures the processor time, in s, that an iteration of CGLS takes for the traces: both
// directions, three inner products and one sum of vectors.
func (k KernelSize) iteration(ctx context.Context) (p *kirchhoff.Problem, seconds float64, err error) {
	if p, err = k.problem(); err != nil {
		return nil, 0, err
	}
	e, _, err := k.engine(ctx, p)
	if err != nil {
		return nil, 0, err
	}
	defer e.Close()
	ops, err := k.operators(e, p)
	if err != nil {
		return nil, 0, err
	}
	op, d, w := ops[len(ops)-1], device.NewHost(k.Threads), &dist.Work{Ctx: ctx}
	var image, q, r *dist.Vector
	w.New(d, op.Domain(), &image)
	w.New(d, op.Range(), &q, &r)
	once := func() error {
		w.Do(func() error { return fill(image) }) // or the powers of the operator overflow
		w.Apply(op, q, image)
		w.Dots(dist.Pair{q, q}, dist.Pair{q, r})
		w.Axpby(-1, q, 1, r)
		w.ApplyAdjoint(op, image, r)
		w.Dots(dist.Pair{r, r})
		return w.Err
	}
	if err := once(); err != nil { // touches every page
		return nil, 0, err
	}
	seconds, err = processorTime(k.Runs, once)
	return p, seconds, err
}

// processorTime is the median of the processor time, in s, that several runs of f take.
func processorTime(runs int, f func() error) (float64, error) {
	now := func() float64 {
		var u syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
			return 0
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	t := make([]float64, runs)
	for i := range t {
		begin := now()
		if err := f(); err != nil {
			return 0, err
		}
		t[i] = now() - begin
	}
	return median(t), nil
}

// PointSpeed is how many points of a model a second a core computes traveltimes at, from one
// place, while all threads work.
func PointSpeed(ctx context.Context, shape []int, threads, runs int) (float64, error) {
	const places = 16 // of each thread
	g, err := square(shape, spacing)
	if err != nil {
		return 0, err
	}
	m, err := eikonal(g)
	if err != nil {
		return 0, err
	}
	p, all := scattered(g, places*threads)
	opt := traveltime.Options{Threads: threads}
	seconds, err := processorTime(runs, func() error {
		return m.Solve(ctx, p, all, opt, func(int, traveltime.Field) error { return nil })
	})
	return float64(len(all)*g.Len()) / seconds, err
}
