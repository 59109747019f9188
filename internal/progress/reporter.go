package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/kirchhoff-lsm/lsm/internal/printable"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// Options say who reads.
type Options struct {
	Out, Err io.Writer
	JSON     bool             // one JSON object a line on Out, nothing on Err
	Terminal bool             // Out is a terminal: one live line
	Width    int              // columns of the terminal; 0: 80
	Quiet    bool             // results and warnings alone
	Now      func() time.Time // nil: time.Now
}

// Reporter prints the progress, results and warnings of a command. It is safe for
// concurrent use.
type Reporter struct {
	mu     sync.Mutex
	opt    Options
	warned map[string]*warnings // by kind
	kinds  []string             // of warnings, in the order of the first of each
	live   bool                 // an unfinished live line is on the terminal
	fault  error                // first failure to write to Out
	clock  clock
}

// New makes a Reporter.
func New(o Options) *Reporter {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Width == 0 {
		o.Width = 80
	}
	return &Reporter{opt: o, warned: map[string]*warnings{}, clock: clock{begin: o.Now()}}
}

// Discard is a Reporter that prints nothing and still keeps the times of the
// stages: for ranks other than 0, and for tests.
func Discard() *Reporter { return New(Options{Out: io.Discard, Err: io.Discard, Quiet: true}) }

// ForFiles makes the options for a process's standard streams.
func ForFiles(out, errs io.Writer) Options {
	o := Options{Out: out, Err: errs}
	if f, ok := out.(*os.File); ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd())) {
		o.Terminal = true
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			o.Width = w
		}
	}
	return o
}

// JSON reports whether the output is events instead of text.
func (r *Reporter) JSON() bool { return r.opt.JSON }

// SetQuiet leaves results and warnings alone.
func (r *Reporter) SetQuiet(quiet bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opt.Quiet = quiet
}

// Printf prints a result as text; with JSON it prints nothing.
func (r *Reporter) Printf(format string, args ...any) {
	if r.opt.JSON {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clear()
	r.write(fmt.Sprintf(format, args...))
}

// Infof prints a line that a reader may do without: nothing when quiet, an
// event "info" with JSON.
func (r *Reporter) Infof(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.say(text, "info", "message", text)
}

// say prints a line of progress, or with JSON the event.
func (r *Reporter) say(text, event string, keyValues ...any) {
	r.Event(event, keyValues...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line(text)
}

// warnings holds the warnings of one kind, which differ only in their numbers.
type warnings struct {
	texts map[string]bool // each that came
	last  string
}

// Warn prints the first warning of each kind, and each text once. Warnings that differ only in
// their numbers are of one kind: Tally sums up those that followed the first.
func (r *Reporter) Warn(text string) {
	r.mu.Lock()
	kind := readable.Kind(text)
	of := r.warned[kind]
	first := of == nil
	if first {
		of = &warnings{texts: map[string]bool{}}
		r.warned[kind] = of
		r.kinds = append(r.kinds, kind)
	}
	if !of.texts[text] {
		of.texts[text], of.last = true, text
	}
	r.mu.Unlock()
	if first {
		r.warn(text, 0)
	}
}

// Tally prints, for each kind of warning that came more than once, the last with the count of those
// between it and the first. Then it starts again.
func (r *Reporter) Tally() {
	r.mu.Lock()
	var all []*warnings
	for _, kind := range r.kinds {
		if of := r.warned[kind]; len(of.texts) > 1 {
			all = append(all, of)
		}
	}
	r.warned, r.kinds = map[string]*warnings{}, nil
	r.mu.Unlock()
	for _, of := range all {
		r.warn(of.last, len(of.texts)-2)
	}
}

// warn prints a warning and how many more there are like it.
func (r *Reporter) warn(text string, more int) {
	r.mu.Lock()
	if !r.opt.JSON {
		r.clear()
		fmt.Fprint(r.opt.Err, printable.Text("lsm: warning: "+readable.MoreAlike(text, more)+"\n"))
	}
	r.mu.Unlock()
	fields := []any{"message", text}
	if more > 0 {
		fields = append(fields, "more", more)
	}
	r.Event("warning", fields...)
}

// Close ends the live line and returns the first failure to write, if any: a
// command whose output got lost has failed.
func (r *Reporter) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep()
	return r.fault
}

// line prints one line of progress; mu is held.
func (r *Reporter) line(text string) {
	if r.opt.Quiet || r.opt.JSON {
		return
	}
	r.clear()
	r.write(text + "\n")
}

// liveLine replaces the live line, or prints a line if there is none.
func (r *Reporter) liveLine(text string) {
	if !r.opt.Terminal {
		r.line(text)
		return
	}
	if r.opt.Quiet || r.opt.JSON {
		return
	}
	text = printable.Text(text)
	if n := []rune(text); len(n) > r.opt.Width-1 {
		text = string(n[:r.opt.Width-1])
	}
	r.clear()
	r.write(text)
	r.live = true
}

// clear wipes the live line, so that a line can take its place.
func (r *Reporter) clear() {
	if r.live {
		r.raw("\r\x1b[K")
		r.live = false
	}
}

// keep lets the live line stand.
func (r *Reporter) keep() {
	if r.live {
		r.write("\n")
		r.live = false
	}
}

// write prints text of any origin.
func (r *Reporter) write(s string) { r.raw(printable.Text(s)) }

// raw prints what may command the terminal.
func (r *Reporter) raw(s string) {
	if _, err := io.Copy(r.opt.Out, strings.NewReader(s)); err != nil && r.fault == nil {
		r.fault = fmt.Errorf("output: %w", err)
	}
}
