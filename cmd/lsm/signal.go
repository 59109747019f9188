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

// stopSignals ask a command to stop; SIGUSR1 is what batch systems send some time
// before the end.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1}

// untilInterrupted is a context that the first of stopSignals ends, so that a
// command can leave things in order; the second ends the program.
func untilInterrupted(parent context.Context, errs io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals...)
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
