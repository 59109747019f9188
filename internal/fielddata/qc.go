package fielddata

import (
	"cmp"
	"math"
	"slices"
)

// QC is what an import found out about the quality of its data.
type QC struct {
	Traces        int // read
	Kept          int // in the survey
	NoData        int // with another trace identification code
	Dead          int // all samples zero
	NotFinite     int // with NaN or an infinity
	OtherSampling int // of another sampling, or another window of time
	Duplicates    int // same source, receiver and samples as an earlier one
	Repeated      int // same source and receiver, other samples
	Copies        int // same samples as a trace at another place
	Clipped       int // at least three equal samples in a row at the greatest amplitude
	Cut, Padded   int // to the survey's window of time
	Delayed       int // whose first sample is at another time than the survey's
	Moved         int // by their static corrections
	Unmoved       int // in spite of static corrections in their headers
	Rounded       int // samples that float32 does not hold exactly

	Static [2]float64 // ms, least and greatest static correction that remained to be applied
	Delay  [2]float64 // ms, least and greatest time of a first sample

	Offset      [2]float64 // m, least and greatest; signed in 2-D
	OffsetOff   int        // traces whose header gives another offset than their coordinates
	OffsetWorst float64    // m, greatest difference
	Peak        [2]float64 // least and greatest peak amplitude of a trace
	RMS         [3]float64 // least, median and greatest rms amplitude of a trace

	Spacing [2]float64 // m, median distance of neighbouring sources, receivers

	Fold    Histogram // traces a bin of midpoints; in 2-D along the line
	FoldMap Map       // the same in 3-D
	Offsets Histogram // traces a bin of offsets
}

// Histogram counts in bins: bin i holds [From + i Step, From + (i + 1) Step).
type Histogram struct {
	From, Step float64 // m
	Count      []int
}

// Map counts in two dimensions, [nx, ny] in C order.
type Map struct {
	From, Step [2]float64 // m
	Shape      [2]int
	Count      []int
}

// most of the bins of a histogram, and along each axis of a map.
const (
	histogramBins = 10000
	mapBins       = 200
)

func newHistogram(lo, hi, step float64, most int) Histogram {
	for (hi-lo)/step > float64(most) {
		step *= 2
	}
	return Histogram{From: lo, Step: step, Count: make([]int, 1+int((hi-lo)/step))}
}

func (h *Histogram) add(v float64) {
	i := int((v - h.From) / h.Step)
	h.Count[max(0, min(i, len(h.Count)-1))]++
}

// Range is the least and the greatest count; bins at the ends that hold nothing do
// not exist.
func (h *Histogram) Range() (lo, hi int) {
	if len(h.Count) == 0 {
		return 0, 0
	}
	return slices.Min(h.Count), slices.Max(h.Count)
}

// Median is the median of the counts that are not zero.
func (h *Histogram) Median() int {
	var some []int
	for _, n := range h.Count {
		if n > 0 {
			some = append(some, n)
		}
	}
	if len(some) == 0 {
		return 0
	}
	slices.Sort(some)
	return some[len(some)/2]
}

// offset of a trace from its places: signed along the line in 2-D, horizontal
// distance in 3-D.
func (im *Import) offset(t *record) float64 {
	s, r := im.at(source, t), im.at(receiver, t)
	if im.Dim == 2 {
		return r[0] - s[0]
	}
	return math.Hypot(r[0]-s[0], r[1]-s[1])
}

func (im *Import) at(role int, t *record) []float64 {
	i := int(t.row[role]) * im.Dim
	return im.Places[role][i : i+im.Dim]
}

// finish counts what is in the survey.
func (im *Import) finish() error {
	q := &im.QC
	var offsets, rms []float64
	hashes := map[uint64]bool{}
	q.Peak, q.Delay = [2]float64{math.Inf(1), math.Inf(-1)}, [2]float64{math.Inf(1), math.Inf(-1)}
	for i := range im.traces {
		t := &im.traces[i]
		if t.out {
			continue
		}
		q.Kept++
		o := im.offset(t)
		offsets, rms = append(offsets, o), append(rms, float64(t.rms))
		q.Peak[0], q.Peak[1] = math.Min(q.Peak[0], float64(t.peak)), math.Max(q.Peak[1], float64(t.peak))
		q.Delay[0], q.Delay[1] = math.Min(q.Delay[0], 1e3*t.delay), math.Max(q.Delay[1], 1e3*t.delay)
		if t.delay != im.T0 {
			q.Delayed++
		}
		im.countStatic(t)
		if t.peak > 0 && hashes[t.hash] {
			q.Copies++
		}
		hashes[t.hash] = true
		im.checkOffset(t)
	}
	if q.Kept == 0 {
		return im.nothingLeft()
	}
	slices.SortStableFunc(im.Left, func(a, b Left) int { return cmp.Compare(a.order, b.order) })
	q.Offset = [2]float64{slices.Min(offsets), slices.Max(offsets)}
	slices.Sort(rms)
	q.RMS = [3]float64{rms[0], rms[len(rms)/2], rms[len(rms)-1]}
	for role := range q.Spacing {
		q.Spacing[role] = im.spacing(role)
	}
	im.histograms(offsets)
	im.judgeGeometry()
	return nil
}

// countStatic counts the traces that have a static correction.
func (im *Import) countStatic(t *record) {
	q := &im.QC
	if t.static == 0 {
		return
	}
	ms := 1e3 * t.static
	if q.Moved+q.Unmoved == 0 {
		q.Static = [2]float64{ms, ms}
	}
	q.Static = [2]float64{math.Min(q.Static[0], ms), math.Max(q.Static[1], ms)}
	if im.opt.ApplyStatics {
		q.Moved++
	} else {
		q.Unmoved++
	}
}

// checkOffset compares the header's offset with that between the coordinates;
// its sign depends on the direction that the line was shot in.
func (im *Import) checkOffset(t *record) {
	if t.offset == 0 {
		return
	}
	s, r := t.place[source], t.place[receiver]
	d := math.Abs(math.Abs(t.offset) - math.Hypot(r[0]-s[0], r[1]-s[1]))
	if d > math.Max(2, 0.02*math.Abs(t.offset)) {
		im.QC.OffsetOff++
	}
	im.QC.OffsetWorst = math.Max(im.QC.OffsetWorst, d)
}

// spacing is the median distance from a place to the next one along the survey's
// x axis, or in 3-D to the one that follows it in the files.
func (im *Import) spacing(role int) float64 {
	xyz := im.Places[role]
	var step []float64
	if im.Dim == 2 {
		var x []float64
		for i := 0; i < len(xyz); i += 2 {
			x = append(x, xyz[i])
		}
		slices.Sort(x)
		for i := 1; i < len(x); i++ {
			step = append(step, x[i]-x[i-1])
		}
	} else {
		for i := 3; i < len(xyz); i += 3 {
			step = append(step, math.Hypot(xyz[i]-xyz[i-3], xyz[i+1]-xyz[i-2]))
		}
	}
	step = slices.DeleteFunc(step, func(v float64) bool { return v <= im.opt.Tolerance })
	if len(step) == 0 {
		return 0
	}
	slices.Sort(step)
	return step[len(step)/2]
}

// histograms counts offsets and midpoints; bins of midpoints are half the
// receivers' distance wide.
func (im *Import) histograms(offsets []float64) {
	q := &im.QC
	bin := q.Spacing[receiver] / 2
	if bin == 0 {
		bin = 10
	}
	q.Offsets = newHistogram(math.Floor(q.Offset[0]/(2*bin))*2*bin-bin, q.Offset[1], 2*bin, 100)
	for _, o := range offsets {
		q.Offsets.add(o)
	}
	lo, hi := im.midpoints()
	if im.Dim == 2 {
		q.Fold = newHistogram(lo[0]-bin/2, hi[0], bin, histogramBins)
	} else {
		h0, h1 := newHistogram(lo[0]-bin/2, hi[0], bin, mapBins), newHistogram(lo[1]-bin/2, hi[1], bin, mapBins)
		q.FoldMap = Map{From: [2]float64{h0.From, h1.From}, Step: [2]float64{h0.Step, h1.Step}, Shape: [2]int{len(h0.Count), len(h1.Count)}}
		q.FoldMap.Count = make([]int, len(h0.Count)*len(h1.Count))
	}
	for i := range im.traces {
		t := &im.traces[i]
		if t.out {
			continue
		}
		m := im.midpoint(t)
		if im.Dim == 2 {
			q.Fold.add(m[0])
		} else {
			q.FoldMap.add(m)
		}
	}
	if im.Dim == 3 {
		q.Fold = Histogram{Count: q.FoldMap.Count}
	}
}

func (m *Map) add(p [2]float64) {
	var at [2]int
	for a := range at {
		at[a] = max(0, min(int((p[a]-m.From[a])/m.Step[a]), m.Shape[a]-1))
	}
	m.Count[at[0]*m.Shape[1]+at[1]]++
}

// midpoint is halfway between source and receiver, x and in 3-D y.
func (im *Import) midpoint(t *record) (m [2]float64) {
	s, r := im.at(source, t), im.at(receiver, t)
	for a := range im.Dim - 1 {
		m[a] = (s[a] + r[a]) / 2
	}
	return m
}

func (im *Import) midpoints() (lo, hi [2]float64) {
	lo, hi = [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for i := range im.traces {
		if t := &im.traces[i]; !t.out {
			m := im.midpoint(t)
			for a := range m {
				lo[a], hi[a] = math.Min(lo[a], m[a]), math.Max(hi[a], m[a])
			}
		}
	}
	return lo, hi
}

// judgeGeometry warns of what is unlikely to be meant.
func (im *Import) judgeGeometry() {
	q := &im.QC
	if im.DT < 1e-5 || im.DT > 0.032 { // above 32767 µs the number may have been meant as a negative one
		im.warn("the sampling interval is %.10g ms: check bytes 3217 and 117, which hold µs; --dt overrules them", 1e3*im.DT)
	}
	if q.Unmoved > 0 {
		im.warn("%d traces have static corrections of %s (bytes 99 to 104) that are not applied: --apply-statics moves the traces by them", q.Unmoved, Between(q.Static[0], q.Static[1], "ms"))
	}
	extent := 0.0
	lo, hi := im.midpoints()
	for a := range lo {
		extent = math.Max(extent, hi[a]-lo[a])
	}
	if far := math.Max(math.Abs(q.Offset[0]), math.Abs(q.Offset[1])); far > 5e4 {
		im.warn("the greatest offset is %.6g m: check the coordinate scalar (byte 71), the units, and --header", far)
	}
	if q.OffsetOff > 0 {
		im.warn("the offset in the header (byte %d) differs from the distance between source and receiver in %d traces, by %.4g m at most",
			im.opt.Mapping[OffsetField].Byte, q.OffsetOff, q.OffsetWorst)
	}
	if im.Dim == 2 && im.Line.Most > 0.1*math.Max(extent, math.Max(math.Abs(q.Offset[0]), math.Abs(q.Offset[1]))) {
		im.warn("places lie up to %.4g m off the line: a 2-D survey treats them as if they were on it; --3d keeps both coordinates", im.Line.Most)
	}
	above := [2]int{}
	for role := range im.Places {
		for i := im.Dim - 1; i < len(im.Places[role]); i += im.Dim {
			if im.Places[role][i] < 0 {
				above[role]++
			}
		}
	}
	if above[source]+above[receiver] > 0 {
		im.warn("%d sources and %d receivers lie above z = 0: --datum M puts z = 0 at a higher elevation; where the elevation fields hold depths, use --header source_elevation=none --header source_depth=45:4 --header receiver_elevation=none --header receiver_depth=41:4",
			above[source], above[receiver])
	}
	if q.Copies > 0 {
		im.warn("%d traces have the samples of another one at another place", q.Copies)
	}
}
