package progress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
)

// hand is a clock that stands still until it is moved.
type hand struct{ t time.Time }

func (h *hand) now() time.Time        { return h.t }
func (h *hand) move(d time.Duration)  { h.t = h.t.Add(d) }
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func reporter(o Options) (*Reporter, *bytes.Buffer, *bytes.Buffer, *hand) {
	var out, errs bytes.Buffer
	h := &hand{time.Unix(0, 0)}
	o.Out, o.Err, o.Now = &out, &errs, h.now
	return New(o), &out, &errs, h
}

func events(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

func TestIterationLine(t *testing.T) {
	r, out, _, _ := reporter(Options{})
	s := r.Solver("solver", 1)
	s.Iteration(Iteration{N: 1, Limit: 40, Residual: 0.5, Gradient: 0.25, Adjoint: math.NaN(), Took: seconds(2)})
	s.Iteration(Iteration{N: 2, Limit: 40, Residual: 0.491, Gradient: 4.1e-3, Adjoint: 2e-6, Took: seconds(1)})
	s.Iteration(Iteration{N: 40, Limit: 40, Residual: 0.491, Gradient: math.NaN(), Adjoint: math.NaN(), Took: seconds(3)})
	s.End()
	want := "" +
		"iter  1/40  residual 5.000e-01 (-50.0%)  gradient 2.5e-01  2.00 s  eta 78 s\n" +
		"iter  2/40  residual 4.910e-01 (-1.8%)  gradient 4.1e-03  adjoint 2e-06  1.00 s  eta 57 s\n" +
		"iter 40/40  residual 4.910e-01 (+0.0%)  3.00 s\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}

func TestIterationEvent(t *testing.T) {
	r, out, errs, _ := reporter(Options{JSON: true})
	s := r.Solver("solver", math.NaN())
	s.Iteration(Iteration{N: 1, Limit: 2, Residual: 0.5, Gradient: math.Inf(1), Adjoint: 2e-6, Took: seconds(2)})
	s.End()
	r.Warn("odd")
	all := events(t, out.String())
	if len(all) != 4 {
		t.Fatalf("%d events, want 4:\n%s", len(all), out)
	}
	it := all[1]
	for key, want := range map[string]any{"event": "iteration", "stage": "solver", "iteration": 1.0, "iterations": 2.0,
		"residual": 0.5, "change": nil, "gradient": nil, "adjoint": 2e-6, "seconds": 2.0, "eta_seconds": 2.0} {
		if got, ok := it[key]; !ok || got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	if all[3]["event"] != "warning" || all[3]["message"] != "odd" || errs.Len() != 0 {
		t.Errorf("warning: %v; on the error stream: %q", all[3], errs)
	}
}

func TestTerminalHasOneLiveLine(t *testing.T) {
	r, out, errs, _ := reporter(Options{Terminal: true, Width: 60})
	s := r.Solver("solver", 1)
	s.Iteration(Iteration{N: 1, Limit: 2, Residual: 0.5, Gradient: 0.5, Adjoint: 1e-6, Took: seconds(1)})
	r.Warn("w")
	s.Iteration(Iteration{N: 2, Limit: 2, Residual: 0.25, Gradient: 0.5, Adjoint: 1e-6, Took: seconds(1)})
	s.End()
	text := out.String()
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		t.Errorf("want one line that stays: %q", text)
	}
	first, rest, _ := strings.Cut(text, "\r\x1b[K")
	if len([]rune(first)) > 59 {
		t.Errorf("line of %d columns on a terminal of 60: %q", len(first), first)
	}
	if !strings.HasPrefix(rest, "iter 2/2") {
		t.Errorf("second iteration does not take the line's place: %q", text)
	}
	if errs.String() != "lsm: warning: w\n" {
		t.Errorf("error stream: %q", errs)
	}
}

func TestTerminalBar(t *testing.T) {
	r, out, _, h := reporter(Options{Terminal: true, Width: 80})
	s := r.Stage("traveltimes")
	s.Total(3, "positions")
	for range 3 {
		h.move(seconds(1))
		s.Add(1)
	}
	s.End()
	text := out.String()
	if !strings.Contains(text, "100%") || !strings.HasSuffix(text, "\r\x1b[Ktraveltimes  3 positions  3.00 s\n") {
		t.Errorf("bar: %q", text)
	}
}

func TestStageInALog(t *testing.T) {
	r, out, _, h := reporter(Options{})
	s := r.Stage("traveltimes")
	s.Total(133, "positions")
	for range 133 {
		h.move(seconds(0.5))
		s.Add(1)
	}
	s.End()
	s.End()
	want := "" +
		"traveltimes  60/133 positions  30 s\n" +
		"traveltimes  120/133 positions  60 s\n" +
		"traveltimes  133 positions  66 s\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}

func TestStageEvents(t *testing.T) {
	r, out, _, h := reporter(Options{JSON: true})
	s := r.Stage("traveltimes")
	s.Total(4, "positions")
	for range 4 {
		h.move(seconds(0.5))
		s.Add(1)
	}
	s.End()
	all := events(t, out.String())
	if len(all) != 4 || all[0]["state"] != "begin" || all[1]["done"] != 2.0 || all[2]["done"] != 4.0 ||
		all[3]["state"] != "end" || all[3]["seconds"] != 2.0 {
		t.Errorf("events:\n%s", out)
	}
}

func TestQuietAndDiscard(t *testing.T) {
	r, out, errs, _ := reporter(Options{Quiet: true})
	use := func(r *Reporter) {
		s := r.Stage("a")
		s.Total(1, "b")
		s.Add(1)
		s.End()
		it := r.Solver("c", 1)
		it.Iteration(Iteration{N: 1, Limit: 1, Residual: 1})
		it.End()
		r.Infof("d")
		r.Time("e")()
		r.Closing([]Account{r.Account()})
		r.Event("f")
		r.Warn("g")
		r.Warn("g")
		r.Printf("h\n")
	}
	use(r)
	if out.String() != "h\n" || errs.String() != "lsm: warning: g\n" {
		t.Errorf("quiet: %q, %q", out, errs)
	}
	use(Discard())
}

// Warnings that differ in their numbers alone: the first at once, then one line for the rest.
func TestTally(t *testing.T) {
	use := func(r *Reporter) {
		for i := range 5 {
			r.Warn(fmt.Sprintf("iteration %d: adjoint off by %.1e", i+1, 1e-3*float64(i+1)))
			r.Warn("same")
		}
		r.Warn("rank 1 is slow")
		r.Warn("rank 2 is slow")
		r.Tally()
		r.Tally()
	}
	r, _, errs, _ := reporter(Options{})
	use(r)
	want := `lsm: warning: iteration 1: adjoint off by 1.0e-03
lsm: warning: same
lsm: warning: rank 1 is slow
lsm: warning: iteration 5: adjoint off by 5.0e-03 (and 3 more like it)
lsm: warning: rank 2 is slow
`
	if errs.String() != want {
		t.Errorf("%s\nwant\n%s", errs, want)
	}
	r, out, _, _ := reporter(Options{JSON: true})
	use(r)
	if last := `{"event":"warning","message":"iteration 5: adjoint off by 5.0e-03","more":3}`; strings.Count(out.String(), "\n") != 5 || !strings.Contains(out.String(), last) {
		t.Errorf("%s\nwant five lines with\n%s", out, last)
	}
}

func TestEventValues(t *testing.T) {
	got := encodeEvent("x", []any{"a", math.NaN(), "b", []float64{1, math.Inf(-1)}, "c", "<&>", "d",
		map[string]float64{"n": math.NaN()}, "e", float32(0.5), "f", nil})
	want := `{"event":"x","a":null,"b":[1,null],"c":"<&>","d":"map[n:NaN]","e":0.5,"f":null}` + "\n"
	if got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

func TestManyGoroutines(t *testing.T) {
	r, out, _, _ := reporter(Options{JSON: true})
	s := r.Stage("a")
	s.Total(800, "things")
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 100 {
				s.Add(1)
				r.Event("x", "y", 1)
			}
		}()
	}
	wg.Wait()
	s.End()
	if s.done != 800 {
		t.Errorf("%d done, want 800", s.done)
	}
	if n := len(events(t, out.String())); n != 802 {
		t.Errorf("%d events, want 802", n)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestLostOutputIsAFailure(t *testing.T) {
	r := New(Options{Out: full{}, Err: full{}})
	r.Printf("x")
	if err := r.Close(); err == nil || err.Error() != "output: no space left on device" {
		t.Errorf("Close: %v", err)
	}
}

// What names and texts of files bring along does not command the terminal; the live line
// still does.
func TestControlCharactersAreWrittenOut(t *testing.T) {
	const evil, shown = "a\x1b[2Jb\r", `a\u001b[2Jb\u000d`
	r, out, errs, _ := reporter(Options{Terminal: true})
	r.Printf("file %s\n", evil)
	r.Infof("info %s", evil)
	r.Warn(evil)
	r.Stage(evil).End()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String()+errs.String(), "\x1b\r") {
		t.Errorf("printed %q and %q", out, errs)
	}
	if n := strings.Count(out.String()+errs.String(), shown); n != 4 {
		t.Errorf("%d of 4 texts are shown as %s: %q and %q", n, shown, out, errs)
	}
	s := r.Solver("solver", 1)
	s.Iteration(Iteration{N: 1, Limit: 2, Residual: 0.5, Took: seconds(1)})
	s.Iteration(Iteration{N: 2, Limit: 2, Residual: 0.4, Took: seconds(1)})
	s.End()
	if !strings.Contains(out.String(), "\r\x1b[K") {
		t.Errorf("the live line is not wiped: %q", out)
	}
}
