package report

import (
	"strings"
	"testing"
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

// Whatever a log says, the page stays a page.
func FuzzTold(f *testing.F) {
	f.Add(runLog)
	r := whole(f, 4, 4)
	f.Fuzz(func(t *testing.T, text string) {
		r.Log, r.Times = nil, nil
		if l, err := ReadLog(strings.NewReader(text)); err == nil {
			r.Log, r.Times = l, l.Times
		}
		withoutPictures(t, r)
	})
}
