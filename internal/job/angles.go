package job

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// angleLimits are where the classes of opening angles of image.gather_bins begin, where
// each gives way to the next, and where the last one ends, degrees. The first and the
// last are as wide on their outer side as towards their neighbour, or open.
func angleLimits(im config.Image) []float64 {
	centers, last := im.GatherBins, len(im.GatherBins)-1
	limits := make([]float64, last+2)
	for i := range last {
		limits[i+1] = (centers[i] + centers[i+1]) / 2
	}
	limits[last+1] = 180
	if im.GatherEnds == "closed" {
		limits[0] = max(0, 2*centers[0]-limits[1])
		limits[last+1] = min(180, 2*centers[last]-limits[last])
	}
	return limits
}

// angleWindows are the windows of classes with the given centres and limits. From the
// first centre to the last they add up to 1. Beyond, their sum falls as between classes:
// to 1/2 at the limit and to 0 as far again, or it stays 1 where the limit is 0 or 180.
func angleWindows(centers, limits []float64) (out []kirchhoff.Window) {
	last := len(centers) - 1
	for i, c := range centers {
		w := kirchhoff.Window{Rise1: c, Fall0: c}
		switch {
		case i > 0:
			w.Rise0 = centers[i-1]
		case limits[0] > 0:
			w.Rise0 = max(0, 2*limits[0]-c)
		default:
			w.Rise1 = 0
		}
		switch {
		case i < last:
			w.Fall1 = centers[i+1]
		case limits[i+1] < 180:
			w.Fall1 = min(180, 2*limits[i+1]-c)
		default:
			w.Fall0, w.Fall1 = 180, 180
		}
		out = append(out, w)
	}
	return out
}

// beyondClasses says which opening angles are in no class, and about how many pairs of
// a trace and an image point have such an angle, "" where every angle is in a class.
func (j *Job) beyondClasses() string {
	if j.windows == nil {
		return ""
	}
	limits := angleLimits(j.Config.Image)
	first, last := limits[0], limits[len(limits)-1]
	if first == 0 && last == 180 {
		return ""
	}
	beyond := fmt.Sprintf("above %.6g degrees", last)
	switch {
	case last == 180:
		beyond = fmt.Sprintf("below %.6g degrees", first)
	case first > 0:
		beyond = fmt.Sprintf("below %.6g and above %.6g degrees", first, last)
	}
	return fmt.Sprintf("opening angles %s, %s of all pairs of trace and image point along straight rays, are in no class and so not in the image (image.gather_ends = \"open\" takes them in)",
		beyond, readable.Percent(j.shareBeyond(first, last)))
}

// shareBeyond is the share of pairs of a trace and an image point whose straight rays
// meet at an angle outside [first, last] degrees.
func (j *Job) shareBeyond(first, last float64) float64 {
	n, beyond := 0, 0
	for p := range j.samplePairs() {
		var sr, ss, rr float64
		for a, x := range p.x {
			u, v := x-p.source[a], x-p.receiver[a]
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
