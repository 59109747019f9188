package forecast

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// withMonitor counts what a rank holds of baseline and monitor. Errors of the monitor's share
// are reported where it is made.
func (c *count) withMonitor() Memory {
	s, err := c.Plan.Monitor.Share(c.share.Grid, c.share.Rank)
	if err != nil {
		return c.of(c.vectors())
	}
	c.monitor = newCount(c.Plan.Monitor, s)
	vectors := c.vectors() // of the joint problem, made after the tables of both
	a, b := c.of(vectors), c.monitor.of(vectors)
	a.Tables, a.AllTables = a.Tables+b.Tables, a.AllTables+b.AllTables
	a.Data, a.AllData = a.Data+b.Data, a.AllData+b.AllData
	a.Scratch += b.Scratch
	a.Model += b.Model
	a.Lists += b.Lists
	a.Outside += b.Outside
	return a
}

// addMonitor adds what ranks hold and do of the repeat survey.
func (f *Forecast) addMonitor() error {
	p := f.plan.Monitor
	all, err := p.Shares(f.Grid)
	if err != nil {
		return err
	}
	f.Monitor = &Forecast{Grid: f.Grid, Memory: f.Memory, plan: p}
	f.Monitor.spreadWork(all)
	f.Reduced += f.Monitor.Reduced
	if n := len(f.Monitor.sums); n > 0 { // the last are numbers, which both surveys send at once
		f.sums = append(f.sums, f.Monitor.sums[:n-1]...)
	}
	return nil
}

// plus is the duration of two operators in one solve.
func (d Duration) plus(e Duration) Duration {
	d.Traveltimes += e.Traveltimes
	d.Iteration += e.Iteration
	d.Diagonal += e.Diagonal
	d.Total += e.Total
	return d
}

// Where baseline and monitor disagree beyond these limits, their difference may show it.
const (
	leastCommon   = 0.5  // of the midpoints, that lie among the other survey's
	leastAlike    = 0.95 // correlation of the wavelets' amplitude spectra
	mostLouder    = 3    // ratio of the levels of traces over wavelet
	turnedWavelet = 15   // degrees between the wavelets
)

// Repeat compares the surveys of a plan, nil where there is one. What differs without cause is
// a warning: the difference of the images would show it.
func Repeat(p *plan.Plan) []Finding {
	m := p.Monitor
	if m == nil {
		return nil
	}
	const topic = "repeat"
	r := &report{Plan: p}
	level := "ok"
	share := plan.CommonMidpoints(p.Survey, m.Survey)
	if min(share[0], share[1]) < leastCommon {
		level = "warning"
	}
	r.say(level, topic, "%s of the baseline's midpoints lie within the range of the monitor's, %s of the monitor's within that of the baseline's",
		readable.Percent(share[0]), readable.Percent(share[1]))
	if p.Survey.DT != m.Survey.DT || p.Survey.T0 != m.Survey.T0 || p.Survey.NT != m.Survey.NT {
		r.say("note", topic, "baseline and monitor are sampled differently: %s ms from %s to %s s, and %s ms from %s to %s s",
			readable.Time(1e3*p.Survey.DT), readable.Time(p.Survey.T0), readable.Time(p.RecordEnd()),
			readable.Time(1e3*m.Survey.DT), readable.Time(m.Survey.T0), readable.Time(m.RecordEnd()))
	}
	r.wavelets(topic)
	if a, b := p.Found.Peak, m.Found.Peak; a > 0 && b > 0 {
		level, ratio := "ok", b/survey.Peak(m.Wavelet.Samples)/(a/survey.Peak(p.Wavelet.Samples))
		text := fmt.Sprintf("the largest sample of the traces over that of the wavelet is %.3g times the baseline's in the monitor", ratio)
		if ratio > mostLouder || ratio < 1./mostLouder {
			level = "warning"
			text += ": a factor between the surveys, or between a survey and its wavelet, becomes part of the difference"
		}
		r.say(level, topic, "%s", text)
	}
	return r.found
}

// wavelets compares those of baseline and monitor.
func (r *report) wavelets(topic string) {
	alike, turn := plan.CompareWavelets(r.Wavelet, r.Monitor.Wavelet)
	level := "ok"
	text := fmt.Sprintf("the amplitudes of the two wavelets correlate by %.2f, and their phases differ by %.0f degrees", alike, turn)
	if alike < leastAlike || math.Abs(turn) > turnedWavelet {
		level = "warning"
		text += ": each survey has its own wavelet, and what is wrong with one becomes part of the difference"
	}
	r.say(level, topic, "%s", text)
}

// monitor says what the repeat survey holds, and how it compares with the baseline.
func (r *report) monitor(f *Forecast) {
	if r.Plan.Monitor == nil {
		return
	}
	m := &report{Plan: r.Plan.Monitor}
	m.sampling()
	for _, d := range m.Config.Differences(m.Found.Made) {
		m.say("warning", "operator", "%s", d)
	}
	m.say("warning", "operator", "%s", FilterText(m.Plan))
	if f.Ranks() > 1 {
		m.say("ok", "ranks", "%s", f.Monitor)
	}
	for _, x := range m.found {
		r.say(x.Level, "monitor", "%s: %s", x.Topic, x.Text)
	}
	r.found = append(r.found, Repeat(r.Plan)...)
}
