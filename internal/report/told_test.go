package report

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
)

func TestReadLog(t *testing.T) {
	l, err := ReadLog(strings.NewReader(runLog))
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Iterations) != 3 || l.Iterations[1].Seconds != 2.5 || *l.Iterations[1].Adjoint != 8e-9 || l.Iterations[2].Adjoint != nil {
		t.Errorf("iterations %+v", l.Iterations)
	}
	if l.Times == nil || l.Times.Ranks != 4 || l.Times.Total != 10 || len(l.Times.Rows) != 3 || l.Times.Rows[1].Depth() != 1 || !l.Times.Rows[2].IsTotal() {
		t.Errorf("times %+v", l.Times)
	}
	if *l.Memory != (Memory{200 << 20, 2, 100 << 20}) {
		t.Errorf("memory %+v", l.Memory)
	}
	for _, c := range []struct {
		residual []float64
		want     bool
	}{{[]float64{8000, 800}, true}, {[]float64{8000, 801}, false}, {nil, true}} {
		if got := l.Belongs(c.residual); got != c.want {
			t.Errorf("the log belongs to %v: %v", c.residual, got)
		}
	}
}

// A log that was cut short is good for what it has; one that is none is an error.
func TestReadLogOfAnotherKind(t *testing.T) {
	cut := runLog[:len(runLog)-30]
	l, err := ReadLog(strings.NewReader(cut))
	if err != nil || len(l.Iterations) != 3 || l.Residual != nil {
		t.Errorf("a log cut short: %+v, %v", l, err)
	}
	for _, c := range []struct{ text, want string }{
		{"", "has no events"},
		{"iter 1/20  residual 8.9e-01\n", "has no events"},
		{"{}\n", "has no events"},
		{"{\"event\":\"iteration\",\n" + runLog, "line 1 is no event"},
		{runLog + "{\"event\":\"iteration\",\"iteration\":\"x\"}\n{\"event\":\"x\"}\n", "line 11 is no event"},
		{"{" + strings.Repeat(" ", logLine), "too long"},
	} {
		if _, err := ReadLog(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: error is %v, want one with %q", c.text, err, c.want)
		}
	}
}

// The times of a trace are those that the run itself has added up, on every
// rank, whatever was inside what.
func TestReadTraceAgreesWithClock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.json")
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 3).Draw(t, "ranks")
		var all []progress.Account
		want := map[string][]float64{} // by path
		for rank := range ranks {
			now := time.Unix(1e6, 0)
			r := progress.New(progress.Options{Out: io.Discard, Err: io.Discard, Now: func() time.Time { return now }})
			r.KeepTrace(ranks)
			var open []func()
			for range rapid.IntRange(1, 12).Draw(t, "steps") {
				if len(open) > 0 && rapid.Bool().Draw(t, "end") {
					open[len(open)-1]()
					open = open[:len(open)-1]
				} else {
					open = append(open, r.Time(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")))
				}
				now = now.Add(time.Duration(rapid.IntRange(1, 1000).Draw(t, "ms")) * time.Millisecond)
			}
			for len(open) > 0 {
				open[len(open)-1]()
				open = open[:len(open)-1]
			}
			all = append(all, r.Account())
			var walk func(path string, around *progress.Node)
			walk = func(path string, around *progress.Node) {
				for _, n := range around.Inner {
					inner := strings.TrimPrefix(path+"/"+n.Name, "/")
					if want[inner] == nil {
						want[inner] = make([]float64, ranks)
					}
					want[inner][rank] = n.Own.Seconds()
					walk(inner, n)
				}
			}
			walk("", &all[rank].Sections)
		}
		if err := progress.WriteTrace(file, all, true); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got, err := ReadTrace(f)
		if err != nil {
			t.Fatal(err)
		}
		if got.Ranks != ranks || len(got.Rows) != len(want) {
			t.Fatalf("%d ranks, %d rows, want %d and %d", got.Ranks, len(got.Rows), ranks, len(want))
		}
		for _, row := range got.Rows {
			w := want[strings.Join(row.Path, "/")]
			if w == nil {
				t.Fatalf("no section %v", row.Path)
			}
			mean, least := 0.0, math.Inf(1)
			for _, s := range w {
				mean += s / float64(ranks)
				least = min(least, s)
			}
			if math.Abs(row.Avg-mean) > 1e-6 || math.Abs(row.Min-least) > 1e-6 {
				t.Fatalf("%v: mean %g, least %g, want %g and %g", row.Path, row.Avg, row.Min, mean, least)
			}
		}
	})
}

func TestReadTraceOfAnotherKind(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "EOF"},
		{"[]", "cannot unmarshal array"},
		{"{}", "no events"},
		{`{"traceEvents":7}`, "cannot unmarshal number"},
		{`{"traceEvents":[{"name":1}]}`, "cannot unmarshal"},
		{`{"traceEvents":[{"name":"a"}`, "EOF"},
		{`{"traceEvents":[{"ph":"M","name":"thread_name","args":3}]}`, "cannot unmarshal"},
		{runLog, "invalid character"},
	} {
		if _, err := ReadTrace(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error is %v, want one with %q", c.text, err, c.want)
		}
	}
}

// Whatever a log or a trace says, the page stays a page.
func FuzzTold(f *testing.F) {
	f.Add(runLog)
	f.Add(`{"traceEvents":[{"ph":"M","name":"thread_name","tid":1,"args":{"name":"sections"}},{"ph":"X","name":"a","tid":1,"ts":-1,"dur":1e300},{"ph":"X","name":"b","tid":1,"ts":0,"dur":-5}]}`)
	r := whole(f, 4, 4)
	f.Fuzz(func(t *testing.T, text string) {
		r.Log, r.Times = nil, nil
		if l, err := ReadLog(strings.NewReader(text)); err == nil {
			r.Log, r.Times = l, l.Times
		}
		if times, err := ReadTrace(strings.NewReader(text)); err == nil {
			r.Times = times
		}
		withoutPictures(t, r)
	})
}
