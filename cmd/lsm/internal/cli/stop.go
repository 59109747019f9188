package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// stopSignals ask a command to stop; batch systems send SIGUSR1 some time before the end.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1}

// A command ends within two seconds of a signal other than SIGUSR1, whatever it is at: reading a chunk of
// a file, a kernel and a library's call know nothing of contexts.
const (
	grace     = time.Second            // for the command to end by itself
	lastWords = 400 * time.Millisecond // for saying that it has not
)

// untilInterrupted returns a context that ends with the first of stopSignals, so that a
// command can leave things in order. It calls atOnce with the second signal, or when the command has
// not ended soon after the first, unless that was SIGUSR1.
func untilInterrupted(parent context.Context, errs io.Writer, atOnce func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, slices.DeleteFunc(slices.Clone(stopSignals), func(s os.Signal) bool {
		return s == syscall.SIGHUP && signal.Ignored(s) // of nohup
	})...)
	go func() {
		first, asked := <-signals
		if !asked {
			return
		}
		cancel()
		var late <-chan time.Time
		if first != syscall.SIGUSR1 {
			late = time.After(grace)
		}
		go fmt.Fprintln(errs, "\nlsm: stopping; once more to stop at once") // a pipe without a reader may block
		select {
		case _, again := <-signals:
			if !again {
				return
			}
		case <-late:
		}
		atOnce()
	}()
	return ctx, func() {
		signal.Stop(signals) // nothing comes from now on
		close(signals)
		cancel()
	}
}

// endNow ends the process while its command still works. It removes unfinished files, releases locks
// and tells other ranks.
func (a *App) endNow() {
	err := fmt.Errorf("interrupted: %w", context.Canceled)
	if path := a.newestCheckpoint(); path != "" {
		err = status.Hint(status.Checkpoint(fmt.Errorf("stopped in an iteration; checkpoint %s", path)), "the same command with --resume continues")
	}
	code := status.Code(err)
	if known := a.ending.Swap(int32(code) + 1); known != 0 {
		os.Exit(int(known) - 1) // it is saying so, or leaving the other ranks
	}
	plainfile.Drop()
	go func() {
		time.Sleep(lastWords)
		os.Exit(code)
	}()
	a.tidy()
	if world := a.joined.Load(); world != nil {
		(*world).Abort(code, errors.New("it was interrupted"))
	}
	a.fail(a.errs, err)
	os.Exit(code)
}

// mayEnd says with which status the process ends, once. It does not return if endNow was first.
func (a *App) mayEnd(code int) {
	if a.ending.Swap(int32(code)+1) != 0 {
		select {} // which it soon does
	}
}

// newestCheckpoint is the checkpoint that an interrupted run can continue from; "" for none.
func (a *App) newestCheckpoint() string {
	cfg := a.resumable.Load()
	if cfg == nil {
		return ""
	}
	since := a.began
	if a.Resume {
		since = time.Time{}
	}
	return pipeline.NewestCheckpointSince(cfg, since)
}
