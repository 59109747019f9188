package job

import (
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// Finding is one line of `lsm check`.
type Finding struct {
	Topic string `json:"topic"`
	Level string `json:"level"` // "ok", "note" or "warning"
	Text  string `json:"text"`
}

// Check looks at everything that can be judged without computing traveltimes or
// applying the operator, for a run that is shared as planned.
func (j *Job) Check(plan *Plan) []Finding {
	var f []Finding
	say := func(level, topic, format string, args ...any) {
		f = append(f, Finding{topic, level, fmt.Sprintf(format, args...)})
	}
	s, b := j.Survey, band(j.Wavelet)
	say("ok", "survey", "%s of %d samples at %s ms (%s to %s s), %s, %s",
		readable.Count(s.NumTraces(), "trace"), s.NT, readable.Time(1e3*s.DT), readable.Time(s.T0), readable.Time(j.recordEnd()),
		readable.Count(s.NumSources(), "source"), readable.Count(s.NumReceivers(), "receiver"))
	if j.file != nil {
		say("ok", "selection", "%s", j.selectionText())
	}
	near, far := j.offsets()
	say("ok", "offsets", "%s to %s m", readable.Length(near), readable.Length(far))
	if j.Dead > 0 {
		say("warning", "traces", "%s", j.deadText())
	}
	j.checkWeighting(say)
	say("ok", "places", "%s, each with one traveltime table", readable.Count(j.Places.Len(), "distinct position"))
	say("ok", "image", "%s", extent(j.Image))
	if text := j.classText(); text != "" {
		say("ok", "gathers", "%s", text)
	}
	if text := j.beyondClasses(); text != "" {
		say("note", "gathers", "%s", text)
	}

	nyquist := 0.5 / s.DT
	if b.High > 0.8*nyquist {
		say("warning", "time sampling", "the wavelet reaches %s Hz, Nyquist is %s Hz: interpolation between samples will be poor; resample to dt ≤ %.3g ms",
			readable.Frequency(b.High), readable.Frequency(nyquist), 1e3*0.4/b.High)
	} else {
		say("ok", "time sampling", "wavelet peak %s Hz, 99 %% of its energy below %s Hz, Nyquist %s Hz", readable.Frequency(b.Peak), readable.Frequency(b.High), readable.Frequency(nyquist))
	}

	vmin, vmax := j.velocityRange()
	if vmin > 0 {
		j.checkDepthSampling(say, b, vmin)
		j.checkAliasing(say, b, vmin)
		j.checkRecord(say, vmax)
	}
	j.checkSurface(say)
	for _, d := range j.Doubts() {
		say("warning", d.Topic, "%s", d.Text)
	}
	if out := j.outsideImage(); out > 0 {
		say("note", "geometry", "%d of %s lie outside the image grid (allowed)", out, readable.Count(j.Places.Len(), "position"))
	}
	for _, n := range j.Config.Notes() {
		say("note", "configuration", "%s", n)
	}
	if c := j.Config.Solver; c.PenaltyScale == "absolute" && (c.Damping > 0 || j.sparse()) {
		say("note", "penalty", "solver.damping and solver.sparsity are in the operator's units: --dot-test says what they amount to")
	}
	if o, err := j.matching(); j.matches() && err == nil {
		say("ok", "matching", "%s", o.About(j.Image.Shape))
	}
	if plan.Ranks() > 1 {
		say("ok", "ranks", "%s", plan)
	}
	m := plan.Memory
	level := "ok"
	switch {
	case m.Total() > m.Limit:
		level = "warning"
	case m.Compact && j.Config.Kirchhoff.Tables == "auto", m.Recompute:
		level = "note"
	}
	if m.Stream {
		say("note", "traces", "%s are streamed: read shot by shot, ahead of the computation, %s in %s",
			humanize.IBytes(uint64(m.AllData)), readable.Count(j.readings(), "time"), readable.Count(j.Config.Solver.Iterations, "iteration"))
	}
	of := humanize.IBytes(uint64(m.Limit))
	if plan.Ranks() > 1 {
		of += fmt.Sprintf(" on rank %d, which needs most", plan.Rank)
	}
	say(level, "memory", "%s of %s", m, of)
	return f
}

// checkWeighting says what the weights leave of the data.
func (j *Job) checkWeighting(say func(level, topic, format string, args ...any)) {
	d, s := j.Config.Data, j.Survey
	if j.white != nil {
		say("ok", "whitening", "the wavelet of %s becomes one of %d, cut to them with an error of at most %.0e",
			readable.Count(len(s.Wavelet.Samples), "sample"), len(j.Wavelet.Samples), whitenLoss)
	}
	if m := newMute(d, s); m.on() {
		silent := 0.0
		for i := range s.NumTraces() {
			silent += float64(m.silent(s.Offset(i), s.NT))
		}
		say("ok", "mute", "%.1f %% of all samples have weight 0", 100*silent/(float64(s.NumTraces())*float64(s.NT)))
	}
	if j.weight == nil {
		return
	}
	n := j.total() - j.live
	if d.Dead == "mask" || d.Weights == "rms" {
		n -= j.Dead
	}
	if n > 0 {
		say("note", "weights", "%d of %s have weight 0 without being dead", n, readable.Count(j.total(), "trace"))
	}
}

// checkSurface says where the topography lies.
func (j *Job) checkSurface(say func(level, topic, format string, args ...any)) {
	if j.surface == nil {
		if j.Config.Image.Surface != "none" {
			say("note", "surface", "it lies above the image and cuts nothing")
		}
		return
	}
	say("ok", "surface", "z = %s to %s m", readable.Length(slices.Min(j.surface)), readable.Length(slices.Max(j.surface)))
	if n, i, h := j.aboveSurface(); n > 0 {
		say("warning", "surface", "%d of %s lie more than %s m above it, %s %d at %s m by %.4g m",
			n, readable.Count(j.Places.Len(), "position"), readable.Length(j.cell()), j.Places.Role[i], j.Places.Row[i], point(j.Places.At(i)), h)
	}
}

// offsets are the least and the greatest of the traces, m.
func (j *Job) offsets() (near, far float64) {
	near = math.Inf(1)
	for i := range j.Survey.NumTraces() {
		offset := j.Survey.Offset(i)
		near, far = min(near, offset), max(far, offset)
	}
	return near, far
}

func (j *Job) checkDepthSampling(say func(level, topic, format string, args ...any), b Band, vmin float64) {
	// A reflection's shortest wavelength in depth is v/(2f); two points each.
	limit := vmin / (4 * b.High)
	for a, h := range j.Image.Spacing {
		if j.Image.Shape[a] > 1 && h > limit*1.001 {
			say("warning", "image sampling", "spacing along %s is %s m; %s m/s at %s Hz needs at most %.3g m",
				grid.AxisNames(j.Image.Dim())[a], readable.Length(h), readable.Speed(vmin), readable.Frequency(b.High), limit)
			return
		}
	}
	say("ok", "image sampling", "at most %.3g m needed for %s m/s at %s Hz", limit, readable.Speed(vmin), readable.Frequency(b.High))
}

func (j *Job) checkRecord(say func(level, topic, format string, args ...any), vmax float64) {
	z := j.Image.Dim() - 1
	top := math.Inf(-1)
	for i := range j.Places.Len() {
		top = max(top, j.Places.At(i)[z])
	}
	reach := top + 0.5*vmax*j.recordEnd()
	if deep := j.Image.End(z); reach < deep {
		say("warning", "record length", "records end at %s s: nothing below z = %.0f m can be seen, even at %s m/s; the image ends at %s m",
			readable.Time(j.recordEnd()), reach, readable.Speed(vmax), readable.Length(deep))
	}
}

func (j *Job) recordEnd() float64 { return j.Survey.T0 + float64(j.Survey.NT-1)*j.Survey.DT }

func (j *Job) velocityRange() (lo, hi float64) {
	if j.Velocity == nil {
		v := j.Config.Velocity.Constant
		return v, v
	}
	return slices.Min(j.Velocity), slices.Max(j.Velocity)
}

func (j *Job) outsideImage() (n int) {
	for i := range j.Places.Len() {
		if !j.Image.Contains(j.Places.At(i)) {
			n++
		}
	}
	return n
}
