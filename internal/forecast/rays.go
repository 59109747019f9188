package forecast

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// aliasing is what straight rays tell of some pairs of a trace and an image point: the
// largest change of their time, in s, over half the spacing at source and receiver
// together, and the share of pairs that alias at a frequency, in Hz.
func aliasing(pl *plan.Plan, spacing []float64, f float64) (largest, share float64) {
	v := pl.Velocity.On(pl.Image)
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
	for p := range pl.SamplePairs() {
		change := slope(p.X, p.Source, v[p.Point]) + slope(p.X, p.Receiver, v[p.Point])
		largest = max(largest, change)
		n++
		if 2*change*f > 1 {
			steep++
		}
	}
	return largest, float64(steep) / float64(n)
}

// aliases says where the sums over traces alias, and what anti-aliasing does.
func (r *report) aliases(b plan.Band, vmin float64) {
	spacing := r.AliasSpacing()
	dx := slices.Max(spacing)
	if dx == 0 {
		return
	}
	const topic = "trace spacing"
	what := fmt.Sprintf("traces %s m apart", meters(spacing))
	largest, share := aliasing(r.Plan, spacing, b.High)
	sin := vmin / (2 * b.High * dx)
	switch {
	case sin >= 1:
		r.say("ok", topic, "%s: no arrival aliases at %.3g Hz", what, b.High)
	case r.Config.Kirchhoff.Antialias != "off":
		r.say("ok", topic, "%s: arrivals steeper than %.0f° would alias at %.3g Hz, at about %s of the pairs of trace and image point; kirchhoff.antialias smooths them, the steepest to %.3g Hz, from %d bands of each trace",
			what, 180/math.Pi*math.Asin(sin), b.High, readable.Percent(share), 1/(2*largest), r.Problem(&plan.Share{Places: r.Places}).Bands())
	default:
		r.say("note", topic, "%s: arrivals steeper than %.0f° alias at %.3g Hz, at about %s of the pairs of trace and image point; kirchhoff.antialias = \"triangle\" would smooth them, the steepest to %.3g Hz",
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

// Beyond says which opening angles are in no class, and about how many pairs of
// a trace and an image point have such an angle, "" where every angle is in a class.
func Beyond(p *plan.Plan) string {
	if p.Classes.Windows == nil {
		return ""
	}
	limits := plan.AngleLimits(p.Config.Image)
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
		beyond, readable.Percent(ShareBeyond(p, first, last)))
}

// ShareBeyond is the share of pairs of a trace and an image point whose straight rays
// meet at an angle outside [first, last] degrees.
func ShareBeyond(pl *plan.Plan, first, last float64) float64 {
	n, beyond := 0, 0
	for p := range pl.SamplePairs() {
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
