package job

import (
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/grid"
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
	say("ok", "survey", "%s traces of %d samples at %g ms (%.3g to %.3g s), %d sources, %d receivers",
		humanize.Comma(int64(s.NumTraces())), s.NT, 1e3*s.DT, s.T0, j.recordEnd(), s.NumSources(), s.NumReceivers())
	if j.file != nil {
		say("ok", "selection", "%s of %s traces are left by %s", humanize.Comma(int64(s.NumTraces())), humanize.Comma(int64(j.recorded)), limits(j.Config))
	}
	near, far := j.offsets()
	say("ok", "offsets", "%.6g to %.6g m", near, far)
	if j.Dead > 0 {
		say("warning", "traces", "%s", j.deadText())
	}
	j.checkWeighting(say)
	say("ok", "places", "%d distinct positions share %d traveltime tables", j.Places.Len(), j.Places.Len())
	say("ok", "image", "%s", extent(j.Image))
	if text := j.classText(); text != "" {
		say("ok", "gathers", "%s", text)
	}
	if text := j.beyondClasses(); text != "" {
		say("note", "gathers", "%s", text)
	}

	nyquist := 0.5 / s.DT
	if b.High > 0.8*nyquist {
		say("warning", "time sampling", "the wavelet reaches %.3g Hz, Nyquist is %.3g Hz: interpolation between samples will be poor; resample to dt ≤ %.3g ms",
			b.High, nyquist, 1e3*0.4/b.High)
	} else {
		say("ok", "time sampling", "wavelet peak %.3g Hz, 99 %% of its energy below %.3g Hz, Nyquist %.3g Hz", b.Peak, b.High, nyquist)
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
		say("note", "geometry", "%d of %d positions lie outside the image grid (allowed)", out, j.Places.Len())
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
		say("note", "traces", "%s are streamed: read shot by shot, ahead of the computation, %d times in %d iterations",
			humanize.IBytes(uint64(m.AllData)), j.readings(), j.Config.Solver.Iterations)
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
		say("ok", "whitening", "the wavelet of %d samples becomes one of %d, cut to them with an error of at most %.0e",
			len(s.Wavelet.Samples), len(j.Wavelet.Samples), whitenLoss)
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
		say("note", "weights", "%s of %s traces have weight 0 without being dead", humanize.Comma(int64(n)), humanize.Comma(int64(j.total())))
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
	say("ok", "surface", "z = %.6g to %.6g m", slices.Min(j.surface), slices.Max(j.surface))
	if n, i, h := j.aboveSurface(); n > 0 {
		say("warning", "surface", "%d of %d positions lie more than %.4g m above it, %s %d at %s m by %.4g m",
			n, j.Places.Len(), j.cell(), j.Places.Role[i], j.Places.Row[i], point(j.Places.At(i)), h)
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
			say("warning", "image sampling", "spacing along %s is %g m; %.4g m/s at %.3g Hz needs at most %.3g m",
				grid.AxisNames(j.Image.Dim())[a], h, vmin, b.High, limit)
			return
		}
	}
	say("ok", "image sampling", "at most %.3g m needed for %.4g m/s at %.3g Hz", limit, vmin, b.High)
}

func (j *Job) checkRecord(say func(level, topic, format string, args ...any), vmax float64) {
	z := j.Image.Dim() - 1
	top := math.Inf(-1)
	for i := range j.Places.Len() {
		top = max(top, j.Places.At(i)[z])
	}
	reach := top + 0.5*vmax*j.recordEnd()
	if deep := j.Image.End(z); reach < deep {
		say("warning", "record length", "records end at %.3g s: nothing below z = %.4g m can be seen, even at %.4g m/s; the image ends at %.4g m",
			j.recordEnd(), reach, vmax, deep)
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
