package progress

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/kirchhoff-lsm/lsm/internal/printable"
)

// quietSpell is how long a stage in a log says nothing of how far it is.
const quietSpell = 30 * time.Second

// Stage is a part of a run that has a name, takes time, and perhaps knows how
// far it is. Its time, less that of sections inside it, counts towards the
// section of its name.
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
	if r == nil {
		return &Stage{name: name}
	}
	r.Event("stage", "stage", name, "state", "begin")
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opt.Now()
	return &Stage{r: r, name: name, begin: now, visit: r.clock.enter(name, now), said: now}
}

// Total says how many units of work the stage has, such as 133 "positions"; it
// shows a bar on a terminal.
func (s *Stage) Total(n int, unit string) {
	if s.r == nil {
		return
	}
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

var _ io.Writer = barWriter{}

// Add reports n further units done; it may be called from many goroutines.
func (s *Stage) Add(n int) {
	if s.r == nil {
		return
	}
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
			r.line(fmt.Sprintf("%s  %d/%d %s  %s", s.name, done, s.total, s.unit, span(now.Sub(s.begin))))
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
	if s.r == nil || s.ended {
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
	r.line(text + "  " + span(took))
}
