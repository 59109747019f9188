package workers

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

// panicked is what f panics with.
func panicked(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

// seeded panics by itself, so that its name is in the stack.
func seeded() error {
	var empty []int
	return errors.New(string(rune(empty[len(empty)])))
}

// A panic comes from Wait, with its value and the worker's stack, through groups in groups. It
// counts more than an error that came before, and the other workers have ended by then.
func TestPanic(t *testing.T) {
	outer, ctx := WithContext(context.Background())
	var ended atomic.Int32
	outer.Go(func() error {
		<-ctx.Done()
		ended.Add(1)
		return ctx.Err()
	})
	outer.Go(func() error {
		var inner Group
		failed := make(chan struct{})
		inner.Go(func() error { defer close(failed); return errors.New("before") })
		inner.Go(func() error { <-failed; return seeded() })
		return inner.Wait()
	})
	p, ok := panicked(func() { outer.Wait() }).(*Panic)
	if !ok || ended.Load() != 1 {
		t.Fatalf("%v, %d workers have ended", p, ended.Load())
	}
	for _, want := range []string{"index out of range [0] with length 0", "worker's goroutine", "workers.seeded"} {
		if !strings.Contains(p.Error(), want) {
			t.Errorf("no %q in %s", want, p)
		}
	}
	if strings.Count(p.Error(), "worker's goroutine") != 1 {
		t.Errorf("more than the stack of the worker: %s", p)
	}
}

func TestErrors(t *testing.T) {
	wrong := errors.New("wrong")
	g, ctx := WithContext(context.Background())
	g.Go(func() error { return nil })
	g.Go(func() error { return wrong })
	g.Go(func() error { <-ctx.Done(); return context.Cause(ctx) })
	if err := g.Wait(); err != wrong {
		t.Error(err)
	}
	g, ctx = WithContext(context.Background())
	g.Go(func() error { return nil })
	if err := g.Wait(); err != nil || ctx.Err() == nil {
		t.Errorf("%v, and then %v", err, ctx.Err())
	}
	if err := new(Group).Wait(); err != nil {
		t.Error(err)
	}
}
