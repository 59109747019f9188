package kirchhoff

import (
	"context"
	"sync"
	"sync/atomic"
)

// parallel calls f(worker, i) for every i in [0, n), each once, on up to the
// given number of goroutines, and returns the first error of f or of ctx. Which
// worker gets an i is not fixed, so f must not let its result depend on it.
func parallel(ctx context.Context, threads, n int, f func(worker, i int) error) error {
	threads = max(1, min(threads, n))
	errs := make([]error, threads)
	var next atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for worker := range threads {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for !stop.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				err := ctx.Err()
				if err == nil {
					err = f(worker, i)
				}
				if err != nil {
					errs[worker] = err
					stop.Store(true)
				}
			}
		}()
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
