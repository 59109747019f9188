package progress

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/kirchhoff-lsm/lsm/internal/printable"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// quietSpell is the interval between the reports of a stage in a log.
const quietSpell = 30 * time.Second

// Stage is a part of a run with a name, and perhaps with a count of its work. Its time,
// without that of sections inside it, counts towards the section of its name.
type Stage struct {
	r     *Reporter
	name  string
	unit  string
	total int
	done  int
	begin time.Time
	visit *visit
	said  time.Time
	bar   *progressbar.ProgressBar // on a terminal, once the total is known
	ended bool
}

// Stage begins a stage.
func (r *Reporter) Stage(name string) *Stage {
	r.Event("stage", "stage", name, "state", "begin")
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opt.Now()
	return &Stage{r: r, name: name, begin: now, visit: r.clock.enter(name, now), said: now}
}

// Total says how many units of work the stage has, such as 133 "positions"; it
// shows a bar on a terminal.
func (s *Stage) Total(n int, unit string) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.total, s.unit = n, unit
	if !s.r.opt.Terminal || s.r.opt.Quiet || s.r.opt.JSON || n <= 0 {
		return
	}
	s.bar = progressbar.NewOptions(n,
		progressbar.OptionSetWriter(barWriter{s.r}),
		progressbar.OptionSetDescription(printable.Text(s.name)),
		progressbar.OptionSetWidth(min(40, max(10, s.r.opt.Width-50))),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "=", SaucerHead: ">", SaucerPadding: " ", BarStart: "[", BarEnd: "]"}),
	)
}

// barWriter lets the bar write past the live line; the Reporter's lock is held
// whenever the bar is touched.
type barWriter struct{ r *Reporter }

func (w barWriter) Write(p []byte) (int, error) {
	w.r.live = true
	return w.r.opt.Out.Write(p)
}

// Add reports n further units done; it may be called from many goroutines.
func (s *Stage) Add(n int) {
	r := s.r
	r.mu.Lock()
	s.done += n
	done := s.done
	if s.bar != nil {
		// The only error is a count above the total, which the bar shows as full.
		_ = s.bar.Add(n)
	}
	now := r.opt.Now()
	wait := quietSpell
	if r.opt.JSON {
		wait = time.Second
	}
	say := now.Sub(s.said) >= wait
	if say {
		s.said = now
		if s.bar == nil {
			r.line(fmt.Sprintf("%s  %d/%d %s  %s", s.name, done, s.total, s.unit, readable.Duration(now.Sub(s.begin).Seconds())))
		}
	}
	r.mu.Unlock()
	if say {
		r.Event("progress", "stage", s.name, "done", done, "total", s.total, "unit", s.unit)
	}
}

// End ends the stage and says what it took. A second End does nothing, so that
// it may be deferred as well.
func (s *Stage) End() { s.end(true) }

func (s *Stage) end(say bool) {
	if s.ended {
		return
	}
	s.ended = true
	r := s.r
	now := r.opt.Now()
	took := now.Sub(s.begin)
	r.Event("stage", "stage", s.name, "state", "end", "seconds", took.Seconds())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock.leave(s.visit, now)
	if !say {
		return
	}
	text := s.name
	if s.total > 0 {
		text += fmt.Sprintf("  %d %s", s.done, s.unit)
	}
	r.line(text + "  " + readable.Duration(took.Seconds()))
}

// Iteration is a solver's report after each iteration. Numbers that a method does not
// have are NaN and are left out.
type Iteration struct {
	N, Limit int           // iterations done, and the limit
	Residual float64       // ‖d − A m‖ / ‖d‖
	Gradient float64       // ‖Aᵀ r‖ relative to its first value
	Adjoint  float64       // relative mismatch of the iteration's adjoint test
	Agrees   *float64      // how well images of both halves of the survey agree; nil: there are none
	Took     time.Duration // wall time of this iteration
}

// Solver reports the iterations of one solve.
type Solver struct {
	stage *Stage
	last  float64 // residual before
	spent time.Duration
	count int
}

// Solver begins a solve as a stage of the given name; residual is the relative
// residual before the first iteration, NaN where it is not known.
func (r *Reporter) Solver(name string, residual float64) *Solver {
	return &Solver{stage: r.Stage(name), last: residual}
}

// Iteration reports one iteration, such as
//
//	iter 12/40  residual 3.214e-02 (-1.8%)  gradient 4.1e-03  adjoint 2e-06  1.84 s  eta 52 s
func (s *Solver) Iteration(it Iteration) {
	r, change := s.stage.r, it.Residual/s.last-1
	s.last = it.Residual
	s.spent += it.Took
	s.count++
	left := s.spent / time.Duration(s.count) * time.Duration(max(it.Limit-it.N, 0))

	event := []any{"stage", s.stage.name, "iteration", it.N, "iterations", it.Limit,
		"residual", it.Residual, "change", change, "gradient", it.Gradient, "adjoint", it.Adjoint,
		"seconds", it.Took.Seconds(), "eta_seconds", left.Seconds()}
	if it.Agrees != nil {
		event = append(event, "agreement", *it.Agrees)
	}
	r.Event("iteration", event...)

	var b strings.Builder
	fmt.Fprintf(&b, "iter %*d/%d  residual %.3e", len(fmt.Sprint(it.Limit)), it.N, it.Limit, it.Residual)
	if finite(change) {
		fmt.Fprintf(&b, " (%+.1f%%)", 100*change)
	}
	if finite(it.Gradient) {
		fmt.Fprintf(&b, "  gradient %.1e", it.Gradient)
	}
	if it.Agrees != nil {
		fmt.Fprintf(&b, "  agreement %.3f", *it.Agrees)
	}
	if finite(it.Adjoint) {
		fmt.Fprintf(&b, "  adjoint %.0e", it.Adjoint)
	}
	fmt.Fprintf(&b, "  %s", readable.Duration(it.Took.Seconds()))
	if left > 0 {
		fmt.Fprintf(&b, "  eta %s", readable.Duration(left.Seconds()))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.liveLine(b.String())
}

// End ends the solve; the last iteration's line stays on the terminal.
func (s *Solver) End() {
	r := s.stage.r
	r.mu.Lock()
	r.keep()
	r.mu.Unlock()
	s.stage.end(false)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
