// Package workers runs functions on goroutines of their own. A panic there, which would end the
// process, becomes one of the goroutine that waits for them. The process may be another's than
// lsm: the C library lies in its caller's.
package workers

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Panic is the panic of a worker, for whoever recovers it from Wait.
type Panic struct {
	Value any
	Stack []byte // of the worker
}

// Error is the value and the stack.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\nworker's %s", p.Value, p.Stack) }

// Explain returns the value that a deferred function has recovered, and the stack where the
// panic began: in a worker or in this goroutine.
func Explain(recovered any) (value any, stack []byte) {
	if p, ok := recovered.(*Panic); ok {
		return p.Value, p.Stack
	}
	return recovered, debug.Stack()
}

// Group is some workers. The zero value is ready for use.
type Group struct {
	running sync.WaitGroup
	cancel  context.CancelCauseFunc

	lock  sync.Mutex
	err   error
	panic *Panic
}

// WithContext returns a group, and a context that ends with ctx, with the first worker that fails
// and with Wait.
func WithContext(ctx context.Context) (*Group, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Group{cancel: cancel}, ctx
}

// Go starts a worker.
func (g *Group) Go(f func() error) {
	g.running.Add(1)
	go func() {
		defer g.running.Done()
		if err := caught(f); err != nil {
			g.fail(err)
		}
	}()
}

// caught calls f. A panic of f is an error of type *Panic.
func caught(f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Panic: // of workers of f
			err = r
		default:
			err = &Panic{r, debug.Stack()}
		}
	}()
	return f()
}

func (g *Group) fail(err error) {
	g.lock.Lock()
	defer g.lock.Unlock()
	if p, ok := err.(*Panic); ok && g.panic == nil {
		g.panic = p
	}
	if g.err == nil {
		g.err = err
		if g.cancel != nil {
			g.cancel(err)
		}
	}
}

// Wait waits for all workers. It panics with a *Panic if one of them did, and else returns the
// first error.
func (g *Group) Wait() error {
	g.running.Wait()
	if g.cancel != nil {
		g.cancel(g.err)
	}
	if g.panic != nil {
		panic(g.panic)
	}
	return g.err
}

// Each calls f(worker, i) for every i in [0, n), each once, on up to the given number
// of goroutines, and returns the first error of f or of ctx. It is not fixed which worker
// gets an i, so the result of f must not depend on it.
func Each(ctx context.Context, threads, n int, f func(worker, i int) error) error {
	g, ctx := WithContext(ctx)
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
