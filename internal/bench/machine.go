package bench

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Speeds measures a kernel of the given size and, with eikonal, the traveltimes on its grid.
// It returns triples a second, forward and adjoint together, and points of the model a
// second, of one core while all k.Threads work. Sums are exact if k.Exact says so.
func Speeds(ctx context.Context, k KernelSize, eikonal bool) (triples, points float64, err error) {
	r, err := Kernel(ctx, k)
	if err != nil {
		return 0, 0, err
	}
	if r.Verdict != "OK" {
		return 0, 0, status.Numerical(fmt.Errorf("bench: kernels: forward and adjoint differ by %.1e", r.DotError))
	}
	ns := r.Forward + r.Adjoint
	if k.Exact {
		ns = r.Exact[0] + r.Exact[1]
	}
	triples = 1e9 / ns / float64(k.Threads)
	if !eikonal {
		return triples, 0, nil
	}
	e, err := Traveltimes(ctx, k.Shape, 16*k.Threads, k.Threads, k.Runs)
	if err != nil {
		return 0, 0, err
	}
	return triples, 1e3 * float64(e.Points) / e.PerSource, nil
}

// LinkSpeed measures, over two ranks or more, the bytes a second that each rank sends in an
// all-reduce of a large array, and the latency of a message, in s, in that of one number. It
// takes the all-reduce for one of 2 ⌈log₂ ranks⌉ messages. memory is as in CommSpec.
// It is collective.
func LinkSpeed(ctx context.Context, c comm.Comm, memory int64) (bytes, latency float64, err error) {
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
	few, many := rows[0], rows[len(rows)-1]
	if few.Wrong+many.Wrong > 0 {
		return 0, 0, status.Numerical(fmt.Errorf("bench: all-reduce: %d elements are wrong", few.Wrong+many.Wrong))
	}
	return many.Bus, few.Seconds / float64(2*bits.Len(uint(c.Size()-1))), nil
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
