package fielddata

import (
	"cmp"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/quality"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// QC holds the findings of an import about the quality of its data.
type QC struct {
	Traces        int // read
	Kept          int // in the survey
	Lost          int // stretches of damaged files that hold no whole trace, not among Traces
	Unplaced      int // that files of positions lack
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

	LostBytes int64 // in the stretches that hold no whole trace

	Static [2]float64 // ms, least and greatest static correction that remained to be applied
	Delay  [2]float64 // ms, least and greatest time of a first sample

	Offset      [2]float64 // m, least and greatest; signed in 2-D
	OffsetOff   int        // traces whose header gives another offset than their coordinates
	OffsetWorst float64    // m, greatest difference
	Peak        [2]float64 // least and greatest peak amplitude of a trace
	RMS         [3]float64 // least, median and greatest rms amplitude of a trace

	Spacing [2]float64 // m, median distance of neighbouring sources, receivers

	midpoints [2][2]float64 // least and greatest, x and in 3-D y

	Fold    quality.Histogram // traces a bin of midpoints; in 2-D along the line
	FoldMap quality.Map       // the same in 3-D
	Offsets quality.Histogram // traces a bin of offsets
}

// measure counts what is in the survey.
func (im *Import) measure() {
	q := &im.QC
	var offsets, rms []float64
	var middle [2][]float64
	var peak, delay, static []float64
	hashes := map[uint64]bool{}
	for t := range im.kept {
		offsets, rms = append(offsets, im.offset(t)), append(rms, float64(t.rms))
		peak, delay = append(peak, float64(t.peak)), append(delay, 1e3*t.delay)
		m := im.midpoint(t)
		middle[0], middle[1] = append(middle[0], m[0]), append(middle[1], m[1])
		if t.delay != im.T0 {
			q.Delayed++
		}
		if t.static != 0 {
			static = append(static, 1e3*t.static)
		}
		if t.peak > 0 && hashes[t.hash] {
			q.Copies++
		}
		hashes[t.hash] = true
		if t.offset != 0 { // its sign depends on the direction that the line was shot in
			d := math.Abs(math.Abs(t.offset) - t.distance())
			if d > math.Max(2, 0.02*math.Abs(t.offset)) {
				q.OffsetOff++
			}
			q.OffsetWorst = math.Max(q.OffsetWorst, d)
		}
	}
	q.Kept = len(offsets)
	if q.Unmoved = len(static); q.Unmoved > 0 {
		q.Static = span(static)
	}
	if im.opt.ApplyStatics {
		q.Moved, q.Unmoved = q.Unmoved, 0
	}
	q.Peak, q.Delay, q.Offset = span(peak), span(delay), span(offsets)
	q.RMS = [3]float64{slices.Min(rms), quality.Median(rms), slices.Max(rms)}
	for role := range q.Spacing {
		q.Spacing[role] = im.spacing(role, im.opt.Tolerance)
	}
	bin := cmp.Or(q.Spacing[receiver]/2, 10) // half the receivers' distance wide
	q.Offsets = quality.Offsets(offsets, bin)
	if q.midpoints = [2][2]float64{span(middle[0]), span(middle[1])}; im.Dim == 2 {
		q.Fold = quality.FoldAlong(middle[0], bin)
		return
	}
	q.FoldMap = quality.FoldMap(middle[0], middle[1], bin)
	q.Fold = quality.Histogram{Count: q.FoldMap.Count}
}

func span(v []float64) [2]float64 { return [2]float64{slices.Min(v), slices.Max(v)} }

// judgeGeometry warns of values that are probably not meant.
func (im *Import) judgeGeometry() {
	q := &im.QC
	if im.DT < 1e-5 || im.DT > 0.032 { // above 32767 µs the number may have been meant as a negative one
		im.warn("the sampling interval is %.10g ms: check bytes 3217 and 117, which hold µs; --dt overrules them", 1e3*im.DT)
	}
	if q.Unmoved > 0 {
		im.warn("%d traces have static corrections of %s (bytes 99 to 104) that are not applied: --apply-statics moves the traces by them", q.Unmoved, Between(q.Static[0], q.Static[1], "ms"))
	}
	far := math.Max(math.Abs(q.Offset[0]), math.Abs(q.Offset[1]))
	extent := math.Max(far, math.Max(q.midpoints[0][1]-q.midpoints[0][0], q.midpoints[1][1]-q.midpoints[1][0]))
	if far > 5e4 {
		im.warn("the greatest offset is %.6g m: check the coordinate scalar (byte 71), the units, and --header", far)
	}
	if q.OffsetOff > 0 {
		im.warn("the offset in the header (byte %d) differs from the distance between source and receiver in %d traces, by %.4g m at most",
			im.opt.Mapping[segy.Offset].Byte, q.OffsetOff, q.OffsetWorst)
	}
	if im.Dim == 2 && im.Line.Most > 0.1*extent {
		im.warn("places lie up to %.4g m off the line: a 2-D survey treats them as if they were on it; --3d keeps both coordinates", im.Line.Most)
	}
	above := [2]int{}
	for role := range im.Places {
		for xyz := range slices.Chunk(im.Places[role], im.Dim) {
			if xyz[im.Dim-1] < 0 {
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
