// Package velocity makes plain velocity models, functions only of depth, for a first look
// at a survey before a velocity analysis.
package velocity

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Pick is a velocity, m/s, at a depth (m) or a two-way time (s).
type Pick struct{ At, Velocity float64 }

// maxPoints keeps a slip in the spacing from filling the disk.
const maxPoints = 1 << 30

// Profile is velocity as a function of depth: picks with ascending depths (m), linear
// between them and constant beyond. Two picks at one depth are a step.
type Profile []Pick

// NewProfile checks the picks.
func NewProfile(picks []Pick) (Profile, error) { return picks, check(picks, "depth", "m") }

func check(picks []Pick, what, unit string) error {
	if len(picks) == 0 {
		return fmt.Errorf("no velocities")
	}
	for i, p := range picks {
		if !(p.Velocity > 0) || math.IsInf(p.Velocity, 0) {
			return fmt.Errorf("velocity at %s %g %s is %g m/s, must be positive", what, p.At, unit, p.Velocity)
		}
		if err := Possible(p.Velocity); err != nil {
			return fmt.Errorf("at %s %g %s: %w", what, p.At, unit, err)
		}
		if math.IsNaN(p.At) || math.IsInf(p.At, 0) {
			return fmt.Errorf("%s is %g %s, must be finite", what, p.At, unit)
		}
		if i > 0 && p.At < picks[i-1].At {
			return fmt.Errorf("%s %g %s comes after %g %s, must ascend", what, p.At, unit, picks[i-1].At, unit)
		}
	}
	return uniform(picks, what, unit)
}

// Widest is how many times the slowest velocity of one list the fastest may be, from air over loose
// sand to the mantle. The units differ by more.
const Widest = 100

// uniform refuses picks if no single unit makes all of them velocities of rock.
func uniform(picks []Pick, what, unit string) error {
	compare := func(a, b Pick) int { return cmp.Compare(a.Velocity, b.Velocity) }
	slow, fast := slices.MinFunc(picks, compare), slices.MaxFunc(picks, compare)
	if fast.Velocity > Widest*slow.Velocity {
		return fmt.Errorf("velocities of %.6g m/s at %s %g %s and %.6g m/s at %g %s are of different units, want one unit for all",
			slow.Velocity, what, slow.At, unit, fast.Velocity, fast.At, unit)
	}
	return nil
}

// At is the velocity, m/s, at a depth, m. At a step it is the velocity below.
func (p Profile) At(z float64) float64 {
	i := sort.Search(len(p), func(i int) bool { return p[i].At > z })
	switch i {
	case 0:
		return p[0].Velocity
	case len(p):
		return p[i-1].Velocity
	}
	a, b := p[i-1], p[i]
	return a.Velocity + (b.Velocity-a.Velocity)*(z-a.At)/(b.At-a.At)
}

// Dix turns root-mean-square velocities at two-way vertical times, s, into layers of
// interval velocity, by Dix (Geophysics 20, 1955, equation 8):
// v_i² = (V_i² t_i − V_{i−1}² t_{i−1}) / (t_i − t_{i−1}). Depth 0 is time 0; below the
// last pick the last velocity goes on.
func Dix(rms []Pick) (Profile, error) {
	layers, err := dixLayers(rms)
	if err != nil {
		return nil, err
	}
	var p Profile
	top, z := 0.0, 0.0
	for _, l := range layers {
		if !(l.square > 0) {
			return nil, fmt.Errorf("velocities fall too fast: no interval velocity between %g and %g s fits", top, l.end)
		}
		v := math.Sqrt(l.square)
		p = append(p, Pick{z, v})
		z += v * (l.end - top) / 2
		p = append(p, Pick{z, v})
		top = l.end
	}
	return p, nil
}

// layer is the interval above a pick, down from the one before.
type layer struct {
	end         float64 // two-way time, s
	rms, square float64 // of the pick, m/s; of the interval velocity as Dix has it, m²/s², which may be below 0
}

// dixLayers are the layers of picks, one at least.
func dixLayers(rms []Pick) (layers []layer, err error) {
	if err := check(rms, "time", "s"); err != nil {
		return nil, err
	}
	var before Pick // the last pick used: its time, and V² t
	for _, k := range rms {
		if k.At < 0 {
			return nil, fmt.Errorf("time is %g s, must not be negative", k.At)
		}
		if k.At == before.At {
			if k.At > 0 {
				return nil, fmt.Errorf("two velocities at time %g s", k.At)
			}
			continue // says nothing about any layer
		}
		energy := k.Velocity * k.Velocity * k.At
		layers = append(layers, layer{k.At, k.Velocity, (energy - before.Velocity) / (k.At - before.At)})
		before = Pick{k.At, energy}
	}
	if layers == nil {
		return nil, fmt.Errorf("no velocity at a time above 0")
	}
	return layers, nil
}

// Cover is the grid with the given spacing, m, whose points are multiples of it. It holds
// all positions of the survey, margin metres beyond them on all sides except up and down,
// and depths from the shallowest position, 0 at most, to depth.
func Cover(s *survey.Survey, spacing, margin, depth float64) (grid.Grid, error) {
	g := grid.Grid{Frame: s.Frame}
	if !(spacing > 0) || math.IsInf(spacing, 0) {
		return g, fmt.Errorf("spacing is %g m, must be positive", spacing)
	}
	if !(margin >= 0) || math.IsInf(margin, 0) {
		return g, fmt.Errorf("margin is %g m, must be 0 or more", margin)
	}
	points := 1.0
	for a := range s.Dim {
		lo, hi := survey.Bounds(slices.Concat(s.Sources, s.Receivers), s.Dim, a)
		if a < s.Dim-1 {
			lo, hi = lo-margin, hi+margin
		} else {
			if !(depth > hi) || math.IsInf(depth, 0) {
				return g, fmt.Errorf("depth is %g m, must lie below the deepest position, %g m", depth, hi)
			}
			lo, hi = min(lo, 0), depth
		}
		first := math.Floor(lo/spacing + 1e-9)
		n := math.Ceil(hi/spacing-1e-9) - first + 1
		if points *= n; !(points <= maxPoints) {
			return g, fmt.Errorf("spacing of %g m makes more than %d points", spacing, maxPoints)
		}
		g.Origin = append(g.Origin, first*spacing)
		g.Spacing = append(g.Spacing, spacing)
		g.Shape = append(g.Shape, int(n))
	}
	return g, g.Validate()
}

// Fill returns the velocity at every point of g, [g.Len()] in C order, m/s. The profile's
// depth 0 lies at z = top(x, y).
func (p Profile) Fill(g grid.Grid, top func(xy []float64) float64) []float32 {
	v := make([]float32, g.Len())
	last := g.Dim() - 1
	nz := g.Shape[last]
	xyz := make([]float64, g.Dim())
	for i := 0; i < len(v); i += nz {
		g.Point(xyz, i)
		z0 := top(xyz[:last])
		for k := range nz {
			v[i+k] = float32(p.At(g.Coord(last, k) - z0))
		}
	}
	return v
}

// factors convert the units that velocities may be given in to m/s.
var factors = map[string]float64{"m/s": 1, "km/s": 1000, "ft/s": 0.3048}

// Factor converts a unit, "m/s", "km/s" or "ft/s", to m/s. Any other, such as "auto",
// counts as m/s.
func Factor(unit string) float64 {
	if f, ok := factors[unit]; ok {
		return f
	}
	return 1
}

// Unit is the unit, "m/s", "km/s" or "ft/s", that an attribute's text means; "" if unknown.
func Unit(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
	length := perSecond.FindStringSubmatch(text)
	if length == nil {
		return ""
	}
	return map[byte]string{'m': "m/s", 'k': "km/s", 'f': "ft/s"}[length[1][0]]
}

var perSecond = regexp.MustCompile(`^(m|met(?:er|re)s?|km|kilomet(?:er|re)s?|ft|foot|feet) ?` +
	`(?:/ ?s|/sec|/second|[.*]?s-1|\*?s\^-1|s\*\*-1|per second)$`)

// Least and Most bound the velocities, m/s, with which anything is computed: times in
// them stay far from the ends of the numbers.
const (
	Least = 1e-6
	Most  = 1e9
)

// Velocities of rock in these units lie on the other side of these limits.
const (
	slowMetre     = 0.01  // below: slowness in s/m
	slowKilometre = 1.0   // below: slowness in s/km
	kilometres    = 20.0  // below: km/s
	feet          = 10000 // above: ft/s
	faster        = 30000 // above: not ft/s either
)

// Possible returns an error for a velocity, m/s, with which nothing can be computed.
func Possible(v float64) error {
	if !(v >= Least && v <= Most) {
		return fmt.Errorf("velocity is %.6g m/s, must be from %g to %g m/s", v, Least, Most)
	}
	return nil
}

// Plausible returns an error if velocities from lo to hi cannot be those of rock in m/s.
// The error says what they look like. Both ends count: 2.5 next to 1500 is not a velocity in
// m/s, and 1500 is not one in km/s.
func Plausible(lo, hi float64) error {
	like := ""
	switch {
	case hi < slowMetre:
		like = "slowness in s/m"
	case hi < slowKilometre:
		like = "slowness in s/km"
	case hi < kilometres:
		like = "km/s"
	case hi > faster:
		like = "no velocity of rock in any unit"
	case hi > feet:
		like = "ft/s"
	case lo < kilometres:
		return fmt.Errorf("%.6g and %.6g m/s stand side by side: %.6g looks like another unit, want one unit for all", lo, hi, lo)
	default:
		return nil
	}
	if lo == hi {
		return fmt.Errorf("%.6g m/s looks like %s", lo, like)
	}
	return fmt.Errorf("%.6g to %.6g m/s look like %s", lo, hi, like)
}
