package job

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// antialias is the distance, in m, between neighbouring traces along each horizontal
// axis, over which traces are smoothed; nil for no anti-aliasing.
func (j *Job) antialias() []float64 {
	c := j.Config.Kirchhoff
	if c.Antialias == "off" {
		return nil
	}
	return j.aliasSpacing()
}

// aliasSpacing is kirchhoff.antialias_spacing, or what the survey says.
func (j *Job) aliasSpacing() []float64 {
	across := j.Image.Dim() - 1
	switch given := j.Config.Kirchhoff.AliasSpacing; {
	case len(given) == 0:
		return j.traceSpacing()
	case len(given) < across:
		return []float64{given[0], given[0]}
	default:
		return given[:across]
	}
}

func (j *Job) checkAliasSpacing() error {
	if given, across := j.Config.Kirchhoff.AliasSpacing, j.Image.Dim()-1; len(given) > across {
		return status.Usage(fmt.Errorf("kirchhoff.antialias_spacing: %v m has %d values, a 2-D image has 1 horizontal axis", given, len(given)))
	}
	return nil
}

// traceSpacing is how far neighbouring traces lie apart along each horizontal axis, in m:
// the receivers of a shot, or the sources into one receiver, whichever are closer; where
// neither has neighbours, twice the distance of midpoints. 0 along an axis on which
// nothing has any.
func (j *Job) traceSpacing() []float64 {
	s := j.Survey
	shots, spreads, middles := map[int][]float64{}, map[int][]float64{}, []float64(nil)
	for i := range s.NumTraces() {
		src, rec := s.Pair(i)
		a, b := s.Source(src), s.Receiver(rec)
		shots[src] = append(shots[src], b...)
		spreads[rec] = append(spreads[rec], a...)
		for k := range a {
			middles = append(middles, a[k]+b[k])
		}
	}
	across := s.Dim - 1
	out := make([]float64, across)
	near, other := spacings(shots, s.Dim), spacings(spreads, s.Dim)
	twice := spacings(map[int][]float64{0: middles}, s.Dim)
	for a := range out {
		switch {
		case near[a] > 0 && other[a] > 0:
			out[a] = min(near[a], other[a])
		case near[a]+other[a] > 0:
			out[a] = near[a] + other[a]
		default:
			out[a] = twice[a]
		}
	}
	return out
}

// Of gathers and of their positions so many are looked at.
const (
	mostGathers   = 20
	mostPositions = 200
)

// spacings is the median distance to the nearest neighbour that lies rather along each
// horizontal axis than along the other, over gathers of positions, [position][dim]; 0
// where nothing has one.
func spacings(gathers map[int][]float64, dim int) []float64 {
	numbers := make([]int, 0, len(gathers))
	for n := range gathers {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	distances := make([][]float64, dim-1)
	for i := 0; i < len(numbers); i += max(1, len(numbers)/mostGathers) {
		xyz := gathers[numbers[i]]
		n := len(xyz) / dim
		for k := 0; k < n; k += max(1, n/mostPositions) {
			for a, d := range nearest(xyz, dim, k) {
				if !math.IsInf(d, 1) {
					distances[a] = append(distances[a], d)
				}
			}
		}
	}
	out := make([]float64, dim-1)
	for a, d := range distances {
		if len(d) > 0 {
			slices.Sort(d)
			out[a] = d[len(d)/2]
		}
	}
	return out
}

// nearest is the distance along each horizontal axis to the nearest position beside
// position k, infinite where there is none.
func nearest(xyz []float64, dim, k int) []float64 {
	best := make([]float64, dim-1)
	for a := range best {
		best[a] = math.Inf(1)
	}
	for i := 0; i < len(xyz); i += dim {
		along, d := 0, 0.0
		for a := range best {
			if gap := math.Abs(xyz[i+a] - xyz[k*dim+a]); gap > d {
				along, d = a, gap
			}
		}
		if d > 0 {
			best[along] = min(best[along], d)
		}
	}
	return best
}

// aliasing is what straight rays tell of some pairs of a trace and an image point: the
// largest change of their time, in s, over half the spacing at source and receiver
// together, and the share of pairs that alias at a frequency, in Hz.
func (j *Job) aliasing(spacing []float64, f float64) (largest, share float64) {
	v := j.velocityOnImage()
	slope := func(x, at []float64, v float64) float64 {
		distance, most := 0.0, 0.0
		for a := range x {
			distance += (x[a] - at[a]) * (x[a] - at[a])
		}
		for a, h := range spacing {
			most = max(most, h*math.Abs(x[a]-at[a]))
		}
		if distance == 0 {
			return 0
		}
		return most / (2 * v * math.Sqrt(distance))
	}
	n, steep := 0, 0
	for p := range j.samplePairs() {
		change := slope(p.x, p.source, v[p.point]) + slope(p.x, p.receiver, v[p.point])
		largest = max(largest, change)
		n++
		if 2*change*f > 1 {
			steep++
		}
	}
	return largest, float64(steep) / float64(n)
}

// checkAliasing says where the sums over traces alias, and what anti-aliasing does.
func (j *Job) checkAliasing(say func(level, topic, format string, args ...any), b Band, vmin float64) {
	spacing := j.aliasSpacing()
	dx := slices.Max(spacing)
	if dx == 0 {
		return
	}
	const topic = "trace spacing"
	what := fmt.Sprintf("traces %s m apart", meters(spacing))
	largest, share := j.aliasing(spacing, b.High)
	sin := vmin / (2 * b.High * dx)
	switch {
	case sin >= 1:
		say("ok", topic, "%s: no arrival aliases at %.3g Hz", what, b.High)
	case j.antialias() != nil:
		say("ok", topic, "%s: arrivals steeper than %.0f° would alias at %.3g Hz, at about %s of the pairs of trace and image point; kirchhoff.antialias smooths them, the steepest to %.3g Hz, from %d bands of each trace",
			what, 180/math.Pi*math.Asin(sin), b.High, readable.Percent(share), 1/(2*largest), j.problem().Bands())
	default:
		say("note", topic, "%s: arrivals steeper than %.0f° alias at %.3g Hz, at about %s of the pairs of trace and image point; kirchhoff.antialias = \"triangle\" would smooth them, the steepest to %.3g Hz",
			what, 180/math.Pi*math.Asin(sin), b.High, readable.Percent(share), 1/(2*largest))
	}
}

func meters(v []float64) string {
	text := fmt.Sprintf("%.4g", v[0])
	for _, x := range v[1:] {
		text += fmt.Sprintf(" × %.4g", x)
	}
	return text
}
