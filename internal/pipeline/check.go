package pipeline

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Finding is one line of `lsm check`.
type Finding struct {
	Topic string `json:"topic"`
	Level string `json:"level"` // "ok", "note" or "warning"
	Text  string `json:"text"`
}

// checkReport collects findings about a plan.
type checkReport struct {
	plan   *Plan
	blocks int // of the image, over ranks
	found  []Finding
}

// addFinding adds a finding unless its text is empty.
func (r *checkReport) addFinding(level, topic, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != "" {
		r.found = append(r.found, Finding{topic, level, text})
	}
}

// Findings is everything that can be judged without computing traveltimes or applying the
// operator. The plan must have the whole velocity model at hand.
func (f *Forecast) Findings() []Finding {
	r := &checkReport{plan: f.plan, blocks: f.Grid[1]}
	r.judgeSampling()
	r.describeSurface()
	for _, d := range r.plan.Config.Differences(r.plan.Found.Made) {
		r.addFinding("warning", "operator", "%s", d)
	}
	r.addFinding("warning", "operator", "%s", FilterText(r.plan))
	r.addFinding("warning", "solver", "%s", UndampedText(r.plan))
	r.remarkSettings()
	if f.Ranks() > 1 {
		r.addFinding("ok", "ranks", "%s", f)
	}
	r.describeMemory(f)
	return r.found
}

// judgeSampling judges a survey, the image and the media, and how waves are sampled by them.
func (r *checkReport) judgeSampling() {
	r.describeTraces()
	r.describeImage()
	r.describeMedia()
	if vmin, vmax := r.plan.Times.Speeds(); vmin > 0 {
		b := BandOf(r.plan.Wavelet)
		r.judgeDepthSampling(b, vmin)
		r.judgeAliasing(b, vmin)
		r.judgeRecordLength(vmax)
		r.judgeDatum(b, vmin)
	}
}

// describeTraces describes what the survey holds and how much of it counts.
func (r *checkReport) describeTraces() {
	s := r.plan.Geometry.Survey
	r.addFinding("ok", "survey", "%s of %d samples at %s ms (%s to %s s), %s, %s",
		readable.Count(s.NumTraces(), "trace"), s.NT, readable.Time(1e3*s.DT), readable.Time(s.T0), readable.Time(r.plan.Geometry.RecordEnd()),
		readable.Count(s.NumSources(), "source"), readable.Count(s.NumReceivers(), "receiver"))
	if !r.plan.Inputs.HasData {
		r.addFinding("note", "traces", "%s holds no traces yet: planned only; dead traces, levels and weights are not checked", r.plan.Config.Survey.File.File)
	}
	r.addFinding("ok", "selection", "%s", r.plan.Inputs.SelectionText(r.plan.Config))
	r.addFinding("ok", "frame", "%s", r.plan.Inputs.FrameText())
	near, far := s.Offsets()
	r.addFinding("ok", "offsets", "%s to %s m", readable.Length(near), readable.Length(far))
	r.addFinding("warning", "traces", "%s", DeadText(r.plan))
	r.addFinding("warning", "aperture", "%s", MissedText(r.plan.Geometry))
	r.describeWeights()
	r.addFinding("ok", "places", "%s, each with one traveltime table", readable.Count(r.plan.Geometry.Places.Len(), "distinct position"))
}

// describeImage says where the image lies, what it is made of and whether it suits the wavelet.
func (r *checkReport) describeImage() {
	r.addFinding("ok", "image", "%s", ExtentText(r.plan.Geometry.Image))
	r.addFinding("ok", "gathers", "%s", r.plan.Classes.String())
	r.addFinding("note", "gathers", "%s", BeyondText(r.plan))
	b, nyquist := BandOf(r.plan.Wavelet), 0.5/r.plan.Geometry.Survey.DT
	if b.High > 0.8*nyquist {
		r.addFinding("warning", "time sampling", "the wavelet reaches %s Hz, Nyquist is %s Hz: interpolation between samples will be poor; resample to dt ≤ %.3g ms",
			readable.Frequency(b.High), readable.Frequency(nyquist), 1e3*0.4/b.High)
	} else {
		r.addFinding("ok", "time sampling", "wavelet peak %s Hz, 99 %% of its energy below %s Hz, Nyquist %s Hz", readable.Frequency(b.Peak), readable.Frequency(b.High), readable.Frequency(nyquist))
	}
}

// describeMedia says whether waves are converted and models anisotropic.
func (r *checkReport) describeMedia() {
	for _, m := range RemarkMedia(r.plan.Config.Velocity, r.plan.Times, r.plan.Inputs.Models) {
		level := "ok"
		if m.Doubtful {
			level = "note"
		}
		r.addFinding(level, m.Topic, "%s", m.Text)
	}
}

// remarkSettings comments on settings that deserve a second look.
func (r *checkReport) remarkSettings() {
	out := 0
	for i := range r.plan.Geometry.Places.Len() {
		if !r.plan.Geometry.Image.Contains(r.onDatum(r.plan.Geometry.Places.At(i))) {
			out++
		}
	}
	if out > 0 {
		r.addFinding("note", "geometry", "%d of %s lie outside the image grid (allowed)", out, readable.Count(r.plan.Geometry.Places.Len(), "position"))
	}
	for _, n := range r.plan.Config.Notes() {
		r.addFinding("note", "configuration", "%s", n)
	}
	if c := r.plan.Config.Solver; c.PenaltyScale == "absolute" && c.Damping > 0 {
		r.addFinding("note", "penalty", "the damping is in units of the operator: --dot-test prints what it amounts to")
	}
	if r.plan.Config.Solver.Matches() {
		r.addFinding("ok", "matching", "%s", r.plan.Filters.About(r.plan.Geometry.Image.Shape))
	}
}

// describeMemory says where traces and tables are and how much memory they take.
func (r *checkReport) describeMemory(f *Forecast) {
	m, level := f.Memory, "ok"
	switch {
	case m.Total() > m.Limit:
		level = "warning"
	case m.Recompute:
		level = "note"
	}
	if m.Stream {
		r.addFinding("note", "traces", "%s are streamed: read shot by shot, ahead of the computation, %s in %s",
			humanize.IBytes(uint64(m.AllData)), readable.Count(r.plan.Readings(), "time"), readable.Count(r.plan.Config.Solver.Iterations, "iteration"))
		if f.Copied > 0 {
			r.addFinding("note", "traces", "chunks of the file hold traces of many shots: %s are copied once, in the order of shots, to the disk of %s",
				humanize.IBytes(uint64(f.Copied)), r.plan.Config.Output.File)
		}
	}
	of := humanize.IBytes(uint64(m.Limit))
	if f.Ranks() > 1 {
		of += fmt.Sprintf(" on rank %d, which needs most", f.Rank)
	}
	r.addFinding(level, "memory", "%s of %s", m, of)
}

// DeadText says how many traces are dead, "" for none.
func DeadText(p *Plan) string {
	n := p.Found.Dead
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("%s: %d of %s %s dead (every sample is zero)", p.Config.Survey.File.File, n, readable.Count(p.Geometry.Survey.NumTraces(), "trace"), english.PluralWord(n, "is", "are"))
	if p.Config.Data.Dead == "mask" {
		text += ", their weight is 0"
	}
	return text
}

// MissedText says which traces and which points of the image no aperture brings together, ""
// for none.
func MissedText(g *Geometry) string {
	traces, columns := g.FindMissed()
	var list []string
	if traces > 0 {
		list = append(list, fmt.Sprintf("%d of %s %s at no point of the image", traces, readable.Count(g.Survey.NumTraces(), "trace"), english.PluralWord(traces, "counts", "count")))
	}
	if columns > 0 {
		list = append(list, fmt.Sprintf("the image is zero in %d of its %s of points, which lie in no aperture", columns, readable.Count(g.Image.Len()/g.Image.Shape[g.Image.Dim()-1], "column")))
	}
	if list == nil {
		return ""
	}
	return fmt.Sprintf("kirchhoff.aperture: %s", strings.Join(list, "; "))
}

// describeWeights says how much of the data the weights leave.
func (r *checkReport) describeWeights() {
	d, s := r.plan.Config.Data, r.plan.Geometry.Survey
	if r.plan.White != nil {
		r.addFinding("ok", "whitening", "the wavelet of %s becomes one of %d, cut to them with an error of at most %.0e",
			readable.Count(len(s.Wavelet.Samples), "sample"), len(r.plan.Wavelet.Samples), WhitenLoss)
	}
	if r.plan.Mute.On() {
		silent := 0.0
		for i := range s.NumTraces() {
			silent += float64(r.plan.Mute.Silent(s.Offset(i), s.NT))
		}
		r.addFinding("ok", "mute", "%.1f %% of all samples have weight 0", 100*silent/(float64(s.NumTraces())*float64(s.NT)))
	}
	if r.plan.Found.Live == 0 {
		return
	}
	n := r.plan.Geometry.Shots.Traces() - r.plan.Found.Live
	if d.Dead == "mask" {
		n -= r.plan.Found.Dead
	}
	if n > 0 {
		r.addFinding("note", "weights", "%d of %s have weight 0 without being dead", n, readable.Count(r.plan.Geometry.Shots.Traces(), "trace"))
	}
}

// describeSurface says where the topography lies.
func (r *checkReport) describeSurface() {
	t := r.plan.Geometry.Surface
	if t == nil {
		if r.plan.Config.Image.Surface != "none" {
			r.addFinding("note", "surface", "it lies above the image: no point is muted")
		}
		return
	}
	r.addFinding("ok", "surface", "z = %s to %s m", readable.Length(slices.Min(t.Z)), readable.Length(slices.Max(t.Z)))
	above, highest, height := 0, 0, 0.0 // places more than a cell above it; the highest, and by how much
	for i := range r.plan.Geometry.Places.Len() {
		at := r.plan.Geometry.Places.At(i)
		z, inside := t.At(at)
		if !inside {
			continue
		}
		h := z - at[len(at)-1]
		if h > 1.001*t.Cell {
			above++
		}
		if h > height {
			highest, height = i, h
		}
	}
	if above > 0 {
		r.addFinding("warning", "surface", "%d of %s lie more than %s m above it, %s %d at %s m by %.4g m",
			above, readable.Count(r.plan.Geometry.Places.Len(), "position"), readable.Length(t.Cell), r.plan.Geometry.Places.Role[highest], r.plan.Geometry.Places.Row[highest], PointText(r.plan.Geometry.Places.At(highest)), height)
	}
}

func (r *checkReport) judgeDepthSampling(b Band, vmin float64) {
	// A reflection's shortest wavelength in depth is v/(2f); two points each.
	limit := vmin / (4 * b.High)
	for a, h := range r.plan.Geometry.Image.Spacing {
		if r.plan.Geometry.Image.Unit(a) == "s" {
			r.judgeTimeSampling(b, h)
			continue
		}
		if r.plan.Geometry.Image.Shape[a] > 1 && h > limit*1.001 {
			r.addFinding("warning", "image sampling", "spacing along %s is %s m; %s m/s at %s Hz needs at most %.3g m",
				r.plan.Geometry.Image.AxisName(a), readable.Length(h), readable.Speed(vmin), readable.Frequency(b.High), limit)
			return
		}
	}
	r.addFinding("ok", "image sampling", "at most %.3g m needed for %s m/s at %s Hz", limit, readable.Speed(vmin), readable.Frequency(b.High))
}

func (r *checkReport) judgeRecordLength(vmax float64) {
	if r.plan.Geometry.Image.Domain == grid.Time {
		r.judgeRecordInTime()
		return
	}
	z := r.plan.Geometry.Image.Dim() - 1
	top := math.Inf(-1)
	for i := range r.plan.Geometry.Places.Len() {
		top = max(top, r.plan.Geometry.Places.At(i)[z])
	}
	reach := top + 0.5*vmax*r.plan.Geometry.RecordEnd()
	if deep := r.plan.Geometry.Image.End(z); reach < deep {
		r.addFinding("warning", "record length", "records end at %s s: nothing below z = %.0f m can be seen, even at %s m/s; the image ends at %s m",
			readable.Time(r.plan.Geometry.RecordEnd()), reach, readable.Speed(vmax), readable.Length(deep))
	}
}

// measureAliasing follows straight rays for a sample of pairs of a trace and an image point. It returns the
// largest change of their time, in s, over half the spacing at source and receiver
// together, and the share of pairs that alias at frequency f, in Hz.
func measureAliasing(g *Geometry, t *Times, spacing []float64, f float64) (largest, share float64) {
	source, receiver := t.Leg(survey.AtSource), t.Leg(survey.AtReceiver)
	half := func(m traveltime.Medium, at, x []float64) (most float64) {
		slowness := m.Slowness(at, x)
		if g.Image.Domain == grid.Time {
			_, slowness = m.RMSTime(at, x)
		}
		for a, h := range spacing {
			most = max(most, h/2*math.Abs(slowness[a]))
		}
		return most
	}
	n, steep := 0, 0
	for p := range g.SamplePairs() {
		change := half(source, p.Source, p.X) + half(receiver, p.Receiver, p.X)
		largest = max(largest, change)
		n++
		if 2*change*f > 1 {
			steep++
		}
	}
	return largest, float64(steep) / float64(n)
}

// judgeAliasing says where the sums over traces alias, and what anti-aliasing does.
func (r *checkReport) judgeAliasing(b Band, vmin float64) {
	spacing := r.plan.Geometry.AliasSpacing()
	dx := slices.Max(spacing)
	if dx == 0 {
		return
	}
	const topic = "trace spacing"
	what := fmt.Sprintf("traces %s m apart", readable.Join("%.4g", " × ", spacing))
	largest, share := measureAliasing(r.plan.Geometry, r.plan.Times, spacing, b.High)
	sin := vmin / (2 * b.High * dx)
	switch {
	case sin >= 1:
		r.addFinding("ok", topic, "%s: no arrival aliases at %.3g Hz", what, b.High)
	case r.plan.Config.Kirchhoff.Antialias != "off":
		r.addFinding("ok", topic, "%s: arrivals steeper than %.0f° would alias at %.3g Hz, at about %s of the pairs of trace and image point; kirchhoff.antialias smooths them, the steepest to %.3g Hz, from %d bands of each trace",
			what, 180/math.Pi*math.Asin(sin), b.High, readable.Percent(share), 1/(2*largest), r.plan.Problem(&Share{Places: r.plan.Geometry.Places}).Bands())
	default:
		r.addFinding("note", topic, "%s: arrivals steeper than %.0f° alias at %.3g Hz, at about %s of the pairs of trace and image point; kirchhoff.antialias = \"triangle\" would smooth them, the steepest to %.3g Hz",
			what, 180/math.Pi*math.Asin(sin), b.High, readable.Percent(share), 1/(2*largest))
	}
}

// BeyondText says which angles are in no class, and about how many pairs of
// a trace and an image point have such an angle, "" where every angle is in a class.
func BeyondText(p *Plan) string {
	if p.Classes.Windows == nil {
		return ""
	}
	im := p.Config.Image
	limits, most := AngleLimits(im), im.LargestAngle()
	first, last := limits[0], limits[len(limits)-1]
	if first == 0 && last == most {
		return ""
	}
	beyond := fmt.Sprintf("above %.6g degrees", last)
	switch {
	case last == most:
		beyond = fmt.Sprintf("below %.6g degrees", first)
	case first > 0:
		beyond = fmt.Sprintf("below %.6g and above %.6g degrees", first, last)
	}
	return fmt.Sprintf("%s angles %s, %s of all pairs of trace and image point along straight rays, belong to no class and are missing from the image (image.gather_ends = \"open\" includes them)",
		im.GatherAngle, beyond, readable.Percent(ShareBeyond(p.Geometry, first*180/most, last*180/most)))
}

// ShareBeyond is the share of pairs of a trace and an image point whose straight rays
// meet at an opening angle outside [first, last] degrees.
func ShareBeyond(g *Geometry, first, last float64) float64 {
	n, beyond := 0, 0
	for p := range g.SamplePairs() {
		var sr, ss, rr float64
		for a, x := range p.X {
			u, v := x-p.Source[a], x-p.Receiver[a]
			sr, ss, rr = sr+u*v, ss+u*u, rr+v*v
		}
		if ss == 0 || rr == 0 {
			continue // no ray
		}
		n++
		angle := 180 / math.Pi * math.Acos(min(1, max(-1, sr/math.Sqrt(ss*rr))))
		if angle < first || angle > last {
			beyond++
		}
	}
	return float64(beyond) / float64(max(1, n))
}
