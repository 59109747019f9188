// Package cli is the frame of lsm's commands.
//
// Every command is a function of an *App that returns a *cobra.Command. It reports through
// App.Report alone and returns an error, marked by package status where its kind is known. Run
// does the rest, once for all commands: it turns the error into text, hint and exit status, and
// with --json closes the output with the event "done" or "error".
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/printable"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// App holds the state that all commands share.
type App struct {
	Files  // that it reads and writes
	Report *progress.Reporter
	Set    []string // of --set, for config.Load
	Force  bool     // existing outputs may be overwritten
	Output string   // of -o, for output.file; "" for none
	trace  string   // file for what every rank did when, "" for none
	Resume bool     // the run goes on from a checkpoint, if there is one

	Reflectivity string // image file to demigrate, "" for none

	Program   string // this program's file, to start children; "": it starts none
	out, errs io.Writer
	Launcher  machine.Launcher
	World     comm.Comm // the ranks of this run; one, until a command joins the others
	watch     *watch.Watch
	leave     func() // leaves them; nil if there was nothing to join
	lasting   sync.Mutex
	last      []func() // done when the program ends

	began     time.Time
	ending    atomic.Int32                  // 1 more than the status, once the process ends
	joined    atomic.Pointer[comm.Comm]     // World, of several ranks
	resumable atomic.Pointer[config.Config] // of a run that saves checkpoints

	quiet   bool
	Command string      // name of the command that runs, "" before it is known
	flags   []comm.Fact // of its own that were given
	started bool        // the command line was understood
	unknown error       // the user requested help on an unknown command
	result  []any       // keys and values for the event "done"
}

// Speak makes the reporter of this process.
func (a *App) Speak(json bool) {
	options := progress.ForFiles(a.out, a.errs)
	options.JSON = json
	options.Terminal = options.Terminal && a.Launcher.Ranks < 2 // a launcher's pipe may look like one
	a.Report = progress.New(options)
	h5.OnCrash(a.crashReport)
}

// crashReport returns the text to print if libhdf5 crashes on a file, and where to print it.
func (a *App) crashReport(message string) (fd int, text string) {
	if !a.Report.JSON() {
		return int(os.Stderr.Fd()), fmt.Sprintf("lsm: %s\n", printable.Text(message))
	}
	line, _ := json.Marshal(map[string]any{"event": "error", "command": a.Command, "status": status.BadInput, "message": message, "hint": ""}) // texts and a number
	return int(os.Stdout.Fd()), string(line) + "\n"
}

// Finish adds keys and values to the event "done", such as the output's name.
func (a *App) Finish(keyValues ...any) { a.result = append(a.result, keyValues...) }

// Run is the program with these commands: it returns the exit status. The caller may change things before
// the command line is read.
func Run(args []string, out, errs io.Writer, commands func(a *App) []Group, change func(a *App, root *cobra.Command)) (code int) {
	launcher := machine.ReadLauncher(os.Environ())
	errs = printable.Writer(errs)
	a := &App{out: out, errs: errs, Launcher: launcher, World: comm.Self()}
	a.Speak(wantsJSON(args))
	if launcher.Rank > 0 { // rank 0 speaks for all
		a.Report = progress.New(progress.Options{Out: io.Discard, Err: io.Discard, JSON: a.Report.JSON()})
	}
	a.began = time.Now()
	defer a.tidy()
	defer func() {
		if r := recover(); r != nil {
			fault, stack := workers.Explain(r)
			a.endAll(fault)
			err := status.Hint(fmt.Errorf("internal error: %v", fault),
				"please report it, with what follows and the command line, at https://github.com/kirchhoff-lsm/lsm/issues")
			code = a.fail(errs, err)
			fmt.Fprintf(errs, "\n%s", stack)
		}
	}()

	if err := enoughFiles(launcher.Ranks); err != nil { // before any is opened
		return a.fail(errs, err)
	}
	notice := errs
	if launcher.Rank > 0 {
		notice = io.Discard
	}
	if _, _, err := provenance.Epoch(); err != nil {
		return a.fail(errs, status.Usage(err))
	}
	if left := machine.ReadMemory("/proc", "/sys/fs/cgroup").Address; left > 0 {
		debug.SetMemoryLimit(machine.Usable(left)) // Go collects its garbage in time
	}
	// Without this the system ends a process that writes more than it may.
	signal.Ignore(syscall.SIGXFSZ)
	ctx, stop := untilInterrupted(context.Background(), notice, a.endNow)
	defer stop()
	root := NewRoot(a, commands(a))
	change(a, root)
	if a.Program != "" && launcher.Rank == 0 {
		h5.Guard(ctx, a.Program, "info", "--unguarded", "--")
	}
	root.SetArgs(args)
	root.SetOut(printable.Writer(out))
	root.SetErr(errs)
	cmd, err := root.ExecuteContextC(ctx)
	if a.Command == "" && cmd != nil {
		a.Command = fullName(cmd)
	}
	if a.unknown != nil {
		err = a.unknown
	}
	if err != nil && !a.started {
		err = usageError(cmd, err)
	}
	if a.failedAlone(err) {
		a.World.Abort(status.Code(err), err)
		time.Sleep(farewell)
	}
	a.mayEnd(status.Code(pipeline.FileError(err)))
	code = a.end(err, a.began)
	a.ending.Store(int32(code) + 1)
	a.tidy() // a launcher may end this rank once another has left
	a.part(err)
	return code
}

// tidy does what is left to do at the end, such as giving locks back.
func (a *App) tidy() {
	a.lasting.Lock()
	defer a.lasting.Unlock()
	for _, do := range slices.Backward(a.last) {
		do()
	}
	a.last = nil
}

// end tells the user how it went and returns the exit status.
func (a *App) end(err error, begin time.Time) int {
	a.Report.Tally()
	if err == nil {
		if strings.HasPrefix(a.Command, "__complete") {
			return status.Done // the shell reads the output
		}
		a.Report.Event("done", append([]any{"command", a.Command, "status", status.Done,
			"seconds", time.Since(begin).Seconds()}, a.result...)...)
		if err = a.Report.Close(); err == nil {
			return status.Done
		}
	}
	return a.fail(a.errs, err)
}

// fail tells the user about err and returns its exit status.
func (a *App) fail(errs io.Writer, err error) int {
	err = nameLimit(pipeline.FileError(err))
	who := "lsm"
	if a.Launcher.Rank > 0 {
		var agreed *comm.Agreed
		if errors.As(err, &agreed) {
			return status.Code(err) // rank 0 tells
		}
		who = fmt.Sprintf("lsm: rank %d", a.Launcher.Rank)
	}
	code, hint := status.Code(err), status.HintOf(err)
	var list *config.Problems
	if errors.As(err, &list) && code == status.Other {
		code = status.BadUsage
	}
	if errors.Is(err, fs.ErrExist) {
		code = status.BadUsage
		if hint == "" && !strings.Contains(err.Error(), "--force") {
			hint = "--force overwrites it"
		}
	}
	message := strings.ToValidUTF8(err.Error(), "\uFFFD") // names in damaged files are any bytes
	if code == status.Stopped && errors.Is(err, context.Canceled) {
		message = "interrupted"
	}
	_ = a.Report.Close() // its failure is err, or comes second to it
	if !a.Report.JSON() {
		if list != nil && len(list.List) > 1 {
			message = fmt.Sprintf("%d problems in the configuration\n  %s",
				len(list.List), strings.ReplaceAll(list.Error(), "\n", "\n  "))
		}
		fmt.Fprintf(errs, "%s: %s\n", who, message)
		if hint != "" {
			fmt.Fprintf(errs, "hint: %s\n", hint)
		}
		return code
	}
	fields := []any{"command", a.Command, "status", code, "message", message, "hint", hint}
	if list != nil {
		fields = append(fields, "problems", list.List)
	}
	a.Report.Event("error", fields...)
	return code
}

// wantsJSON looks for --json before the command line is parsed, since a command
// line that cannot be parsed is reported as JSON as well.
func wantsJSON(args []string) bool {
	if len(args) > 0 && strings.HasPrefix(args[0], "__complete") {
		return false
	}
	for _, arg := range args {
		switch arg {
		case "--json", "--json=true", "--json=1":
			return true
		case "--":
			return false
		}
	}
	return false
}
