package pipeline

import (
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// onDatum is a position as an image in the time domain takes it: at the image's first time.
func (r *checkReport) onDatum(at []float64) []float64 {
	if r.plan.Geometry.Image.Domain != grid.Time {
		return at
	}
	at, last := slices.Clone(at), len(at)-1
	at[last] = r.plan.Geometry.Image.Origin[last]
	return at
}

// judgeTimeSampling judges the spacing, in s, of an image in two-way time: two points in the shortest
// period.
func (r *checkReport) judgeTimeSampling(b Band, h float64) {
	if limit := 0.5 / b.High; h > limit*1.001 {
		r.addFinding("warning", "image sampling", "spacing along time is %s s; %s Hz needs at most %.3g s", readable.Time(h), readable.Frequency(b.High), limit)
	}
}

// judgeRecordInTime says where the records end before the image.
func (r *checkReport) judgeRecordInTime() {
	last := r.plan.Geometry.Image.Dim() - 1
	if end, late := r.plan.Geometry.RecordEnd(), r.plan.Geometry.Image.End(last); end < late {
		r.addFinding("warning", "record length", "records end at %s s: nothing later can be seen; the image ends at a two-way time of %s s",
			readable.Time(end), readable.Time(late))
	}
}

// judgeDatum says how far places lie from the datum z = 0, on which time migration takes them to lie,
// where that shifts their waves by more than a quarter of a period.
func (r *checkReport) judgeDatum(b Band, vmin float64) {
	if r.plan.Geometry.Image.Domain != grid.Time {
		return
	}
	off, worst, far := 0, 0, 0.0 // places that far off, the farthest one, and how far
	for i := range r.plan.Geometry.Places.Len() {
		at := r.plan.Geometry.Places.At(i)
		h := math.Abs(at[len(at)-1])
		if 2*h/vmin > 0.25/b.Peak {
			off++
		}
		if h > far {
			worst, far = i, h
		}
	}
	if off > 0 {
		r.addFinding("warning", "datum", "%d of %s lie off the datum z = 0, which time migration assumes for all, by more than a quarter of a period: %s %d at %s m by %.4g ms of two-way time at %s m/s; bring the traces to the datum by statics",
			off, readable.Count(r.plan.Geometry.Places.Len(), "position"), r.plan.Geometry.Places.Role[worst], r.plan.Geometry.Places.Row[worst], PointText(r.plan.Geometry.Places.At(worst)), 2e3*far/vmin, readable.Speed(vmin))
	}
}
