package kirchhoff

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// parallel calls f(worker, i) for every i in [0, n), each once, on up to the given number
// of goroutines, and returns the first error of f or of ctx. It is not fixed which worker
// gets an i, so the result of f must not depend on it.
func parallel(ctx context.Context, threads, n int, f func(worker, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for worker := range min(threads, n) {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := f(worker, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}
