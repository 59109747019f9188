package progress

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// traceFile is a trace as its viewers read it.
type traceFile struct {
	TraceEvents []struct {
		Name, Ph string
		PID, TID int
		TS       float64
		Dur      *float64
		Args     map[string]any
	}
	DisplayTimeUnit string
	OtherData       map[string]string
}

func readTrace(t *testing.T, path string) traceFile {
	t.Helper()
	text, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	in := json.NewDecoder(text)
	in.DisallowUnknownFields()
	var f traceFile
	if err := in.Decode(&f); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Token(); err != io.EOF {
		t.Fatalf("behind the trace: %v, want the end", err)
	}
	return f
}

// traced is the account of a small run that began some seconds after 1970.
func traced(began float64, run func(r *Reporter, h *hand)) Account {
	h := &hand{time.Unix(0, int64(began*1e9))}
	r := New(Options{Quiet: true, Now: h.now})
	r.KeepTrace(2)
	run(r, h)
	a := r.Account()
	a.Host = "node"
	return a
}

func TestTraceFile(t *testing.T) {
	first := traced(1000.25, func(r *Reporter, h *hand) {
		s := r.Solver("solver", 1)
		spend(r, h, "adjoint", 1)
		begin := h.now()
		h.move(seconds(1.5))
		r.Beside("reductions", "piece 0", begin, seconds(1), seconds(1))
		r.Beside("reductions", "piece 1", begin.Add(seconds(0.5)), seconds(1), seconds(1))
		s.End()
		r.Time("left open")
		h.move(seconds(2))
	})
	second := traced(1000, func(r *Reporter, h *hand) { h.move(seconds(1)); spend(r, h, "adjoint", 1e-6) })
	path := filepath.Join(t.TempDir(), "trace.json")
	if err := WriteTrace(path, []Account{first, second}, false); err != nil {
		t.Fatal(err)
	}
	f := readTrace(t, path)
	type shown struct {
		rank, lane int
		name       string
		ts, dur    float64
	}
	var spans []shown
	lanes := map[[2]int]string{}
	ranks := map[int]string{}
	for _, e := range f.TraceEvents {
		switch {
		case e.Ph == "X" && e.Dur != nil:
			spans = append(spans, shown{e.PID, e.TID, e.Name, e.TS, *e.Dur})
		case e.Ph == "M" && e.Name == "thread_name":
			lanes[[2]int{e.PID, e.TID}] = e.Args["name"].(string)
		case e.Ph == "M" && e.Name == "process_name":
			ranks[e.PID] = e.Args["name"].(string)
		case e.Ph != "M":
			t.Errorf("event %+v", e)
		}
	}
	want := []shown{
		{0, 3, "solver", 250e3, 2.5e6}, {0, 3, "adjoint", 250e3, 1e6}, {0, 3, "left open", 2750e3, 2e6},
		{0, 4, "piece 0", 1250e3, 1e6}, {0, 5, "piece 1", 1750e3, 1e6},
		{1, 6, "adjoint", 1e6, 1},
	}
	if !slices.Equal(spans, want) {
		t.Errorf("spans %v\nwant  %v", spans, want)
	}
	if lanes[[2]int{0, 3}] != "sections" || lanes[[2]int{0, 4}] != "reductions" || lanes[[2]int{0, 5}] != "reductions 2" ||
		lanes[[2]int{1, 6}] != "sections" || len(lanes) != 4 {
		t.Errorf("lanes %v", lanes)
	}
	if ranks[0] != "rank 0 on node" || ranks[1] != "rank 1 on node" {
		t.Errorf("ranks %v", ranks)
	}
	if f.OtherData["start"] != "1970-01-01T00:16:40Z" || f.OtherData["clock"] == "" {
		t.Errorf("other data %v", f.OtherData)
	}
}

func TestTraceFileIsWholeOrNotThere(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "trace.json")
	whole := traced(0, func(r *Reporter, h *hand) { spend(r, h, "a", 1) })
	if err := WriteTrace(path, []Account{whole, {}}, false); err == nil || err.Error() != "trace: rank 1 has kept none" {
		t.Errorf("error %v", err)
	}
	if files, _ := os.ReadDir(folder); len(files) != 0 {
		t.Errorf("left behind: %v", files)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteTrace(path, []Account{whole}, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v, want that it exists", err)
	}
	if err := WriteTrace(path, []Account{whole}, true); err != nil {
		t.Fatal(err)
	}
	readTrace(t, path)
	if err := WriteTrace(filepath.Join(folder, "none", "trace.json"), []Account{whole}, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want that the folder is missing", err)
	}
}

func TestTraceIsBounded(t *testing.T) {
	h := &hand{time.Unix(0, 0)}
	r := New(Options{Quiet: true, Now: h.now})
	r.KeepTrace(traceSpans)
	end := r.Time("around")
	for range leastSpans + 9 {
		spend(r, h, "a", 1)
	}
	end()
	a := r.Account()
	if len(a.Trace.Spans) != leastSpans || a.Trace.Dropped != 10 {
		t.Fatalf("%d spans kept, %d dropped; want %d, 10", len(a.Trace.Spans), a.Trace.Dropped, leastSpans)
	}
	if took := a.Trace.Spans[0][3]; took != int64(h.t.Sub(time.Unix(0, 0))) {
		t.Errorf("the span around all took %d ns", took)
	}
	said, _, errs, _ := reporter(Options{})
	said.Closing(slices.Repeat([]Account{a}, 2))
	if want := "lsm: warning: the trace lacks 20 spans: each rank keeps its first 1024\n"; errs.String() != want {
		t.Errorf("warning %q, want %q", errs, want)
	}
	path := filepath.Join(t.TempDir(), "trace.json")
	if err := WriteTrace(path, []Account{a}, false); err != nil {
		t.Fatal(err)
	}
	for _, e := range readTrace(t, path).TraceEvents {
		if e.Name == "process_labels" && e.Args["labels"] == "the last 10 spans were dropped" {
			return
		}
	}
	t.Error("the file does not say how many spans were dropped")
}

func TestNoTraceUnlessAsked(t *testing.T) {
	r, _, _, h := reporter(Options{})
	spend(r, h, "a", 1)
	r.Beside("b", "c", h.now(), seconds(1), seconds(1))
	if a := r.Account(); a.Trace != nil {
		t.Errorf("trace %+v", a.Trace)
	}
	if n := testing.AllocsPerRun(100, func() { r.Beside("b", "c", h.now(), seconds(1), seconds(1)) }); n != 0 {
		t.Errorf("%g allocations for nothing", n)
	}
}

// Times are booked where a table, events or a trace reads them.
func TestBooks(t *testing.T) {
	if New(Options{Quiet: true}).Books() || !New(Options{}).Books() || !New(Options{Quiet: true, JSON: true}).Books() {
		t.Error("times are booked where nobody reads them, or not where somebody does")
	}
	traced(0, func(r *Reporter, h *hand) {
		if !r.Books() {
			t.Error("a trace reads no times")
		}
	})
}

// Spans that meet in a run meet in the file, as Perfetto reads it: whole ns, cut off.
func TestSpansMeetInTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Int64Range(0, 1e13).Draw(t, "start")
		ns := start
		tr := &Trace{Start: start, Names: []string{"x"}}
		for range 9 {
			took := rapid.Int64Range(1, 3000).Draw(t, "took")
			tr.Spans = append(tr.Spans, [4]int64{0, 0, ns - start, took})
			ns += took
		}
		thread, end := 0, int64(0)
		for _, e := range traceEvents(0, &thread, Account{Trace: tr}, 0) {
			if e.Phase != "X" {
				continue
			}
			if begin := int64(e.TS * 1000); begin < end {
				t.Fatalf("a span begins at %d ns, the one before ends at %d", begin, end)
			} else {
				end = begin + int64(*e.Dur*1000)
			}
		}
	})
}

// Any two spans of a lane of the file lie apart or one inside the other.
func TestLanesNest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := &Trace{Names: []string{"x", "y"}}
		for range rapid.IntRange(0, 12).Draw(t, "spans") {
			tr.Spans = append(tr.Spans, [4]int64{
				rapid.Int64Range(0, 1).Draw(t, "lane"), 0, rapid.Int64Range(0, 9).Draw(t, "begin"), rapid.Int64Range(0, 5).Draw(t, "took")})
		}
		count := 0
		for _, l := range lanes(tr) {
			count += len(l.spans)
			for i, a := range l.spans {
				for _, b := range l.spans[i+1:] {
					apart := a[2]+a[3] <= b[2] || b[2]+b[3] <= a[2]
					inside := a[2] <= b[2] && b[2]+b[3] <= a[2]+a[3]
					if a[0] != b[0] || !apart && !inside {
						t.Fatalf("lane %s holds %v and %v", l.name, a, b)
					}
				}
			}
		}
		if count != len(tr.Spans) {
			t.Fatalf("%d spans in lanes, want %d", count, len(tr.Spans))
		}
	})
}
