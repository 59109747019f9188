package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// untilInterrupted is a context that the first SIGINT, SIGTERM or SIGUSR1 (what
// batch systems send some time before the end) ends, so that a command can leave
// things in order; the second ends the program.
func untilInterrupted(parent context.Context, errs io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1)
	over := make(chan struct{})
	go func() {
		for count := 0; ; count++ {
			select {
			case <-over:
				return
			case <-signals:
			}
			if count > 0 {
				os.Exit(status.Stopped)
			}
			fmt.Fprintln(errs, "\nlsm: stopping; once more to stop at once")
			cancel()
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		cancel()
	}
}
