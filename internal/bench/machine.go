package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// The speeds of a core are measured in processor time, which other programs on the machine
// hardly change.

// TripleSpeed is how many triples a second a core goes through in the kernels of k, forward
// and adjoint together, while all k.Threads work. Its triples are those of
// kirchhoff.Problem.Visits. samples is what SampleSpeed says of the same cores.
func TripleSpeed(ctx context.Context, k KernelSize, samples float64) (float64, error) {
	p, seconds, err := k.iteration(ctx)
	if err != nil {
		return 0, err
	}
	return float64(p.Visits()) / (seconds - float64(p.NumTraces()*p.NT)/samples), nil
}

// ForwardShare is the share of the forward in the time of the kernels of k in both directions,
// of exact sums if k has them, on the clock. The wavelet of k should be one sample long.
func ForwardShare(ctx context.Context, k KernelSize) (float64, error) {
	r, err := Kernel(ctx, k)
	if err != nil {
		return 0, err
	}
	forward, adjoint := r.Forward, r.Adjoint
	if k.Exact {
		forward, adjoint = r.Exact[dist.Forward], r.Exact[dist.Backward]
	}
	return forward / (forward + adjoint), nil
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

// iteration measures the processor time, in s, of what CGLS does with the traces in an
// iteration: both directions, three inner products and one sum of vectors.
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

// LinkSpeed measures what sums over two ranks or more take: the bytes a second that each rank
// sends in an all-reduce of a large array, and the seconds of that of one number. memory is as in
// CommSpec. It is collective.
func LinkSpeed(ctx context.Context, c comm.Comm, memory int64) (bytes, seconds float64, err error) {
	const least, largest = 8, 32 << 20
	b, err := NewComm(CommSpec{First: least, Last: largest, Factor: largest / least, Iterations: 10, Warmup: 2,
		Operations: []string{"all-reduce"}, Type: device.F64, Memory: memory}, c)
	if err := comm.Together(c, err); err != nil {
		return 0, 0, err
	}
	var rows []CommRow
	if err := b.Run(ctx, "all-reduce", func(r CommRow) { rows = append(rows, r) }); err != nil {
		return 0, 0, err
	}
	if wrong := rows[0].Wrong + rows[1].Wrong; wrong > 0 {
		return 0, 0, status.Numerical(fmt.Errorf("bench: all-reduce: %d elements are wrong", wrong))
	}
	return rows[1].Bus, rows[0].Seconds, nil
}

// CopySpeed is the bytes a second at which the slowest rank copies memory while all do. It
// is collective.
func CopySpeed(c comm.Comm) (float64, error) {
	b, err := NewComm(CommSpec{First: 8, Last: 8, Factor: 2, Iterations: 5, Type: device.F64}, c)
	if err := comm.Together(c, err); err != nil {
		return 0, err
	}
	return b.CopyBandwidth()
}

// FileSpeed is the bytes a second at which a rank writes a file into a folder, until the
// disk holds it. The file is removed.
func FileSpeed(folder string) (float64, error) {
	block := make([]byte, 64<<20)
	f, err := os.CreateTemp(folder, ".lsm-bench-*")
	if err != nil {
		return 0, status.Resource(err)
	}
	defer os.Remove(f.Name())
	begin := time.Now()
	_, err = f.Write(block)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, status.Resource(err)
	}
	return float64(len(block)) / time.Since(begin).Seconds(), nil
}
