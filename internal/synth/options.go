package synth

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Geometry names the way sources and receivers are laid out.
type Geometry string

const (
	// Fixed keeps every receiver in place for every shot: all pairs are traces.
	Fixed Geometry = "fixed"
	// Streamer tows the receivers behind the source, towards smaller x, at
	// constant offsets. Channels that would lie outside the model are left out,
	// so that shots near its edge have fewer traces.
	Streamer Geometry = "streamer"
	// Land keeps the receivers in place and records for each shot the channels
	// nearest to it on both sides (a split spread that rolls on and off).
	Land Geometry = "land"
)

// Options change a case; the zero value of each field means the case's own
// default. Lengths are in m, times in s. The tags name the values that must not be
// negative, and the unit of those that are not counts.
type Options struct {
	Shape   []int     // points of the grid; not for FromModel
	Spacing []float64 // of the grid; not for FromModel

	GeometryOnly bool // the case is to stay without traces, and its texts say so

	Geometry        Geometry
	Shots           int     `name:"shots"`                 // a shot line
	ShotSpacing     float64 `name:"shot spacing" unit:"m"` // along x
	FirstShot       float64 // x of the first shot
	Channels        int     `name:"channels"`                  // receivers a shot and receiver line
	ReceiverSpacing float64 `name:"receiver spacing" unit:"m"` // along x
	NearOffset      float64 `name:"near offset" unit:"m"`      // least offset of Streamer and Land
	Lines           int     `name:"lines"`                     // shot lines in 3-D, spread over y
	ReceiverLines   int     `name:"receiver lines"`            // receiver lines in 3-D; cables of a streamer
	CableSpacing    float64 `name:"cable spacing" unit:"m"`    // between the cables of a streamer in 3-D
	SourceDepth     float64 `name:"source depth" unit:"m"`     // below the top of the grid, default one cell, or below the topography, default 0
	ReceiverDepth   float64 `name:"receiver depth" unit:"m"`

	Peak float64 `name:"peak frequency" unit:"Hz"` // of the Ricker wavelet
	NT   int     `name:"samples a trace"`
	DT   float64 `name:"dt" unit:"s"`

	// Smoothing is the standard deviation, m, of the Gaussian that smooths the
	// slowness for the migration velocity; negative means none.
	Smoothing float64

	// Iterations is the number written into the configuration; 0: none, for the default of a solve.
	Iterations int `name:"iterations"`
}

// highest is the frequency, in peaks, above which a Ricker wavelet holds
// nothing that matters: its amplitude there is 3 % of that at the peak.
const highest = 2.5

// over fills the fields of o that are zero from the defaults d.
func (o Options) over(d Options) Options {
	to, from := reflect.ValueOf(&o).Elem(), reflect.ValueOf(d)
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return o
}

// Options beyond these, in m, s or Hz, are slips.
const (
	leastOption = 1e-9
	mostOption  = 1e9
)

// check refuses options that no geometry could use, before anything is
// computed from them; limits that depend on the model come later.
func (o Options) check() error {
	if o.Geometry != "" && o.Geometry != Fixed && o.Geometry != Streamer && o.Geometry != Land {
		return fmt.Errorf("synth: geometry %q is unknown, want %s, %s or %s", o.Geometry, Fixed, Streamer, Land)
	}
	fields := reflect.ValueOf(o)
	for i := range fields.NumField() {
		tag := fields.Type().Field(i).Tag
		name, unit := tag.Get("name"), tag.Get("unit")
		switch {
		case name == "":
		case unit == "":
			if n := fields.Field(i).Int(); n < 0 {
				return fmt.Errorf("synth: %s are %d, must be positive", name, n)
			}
		default:
			v := fields.Field(i).Float()
			if !(v >= 0) {
				return fmt.Errorf("synth: %s is %g %s, must be positive", name, v, unit)
			}
			if v > 0 && !(v >= leastOption && v <= mostOption) {
				return fmt.Errorf("synth: %s is %g %s, must be from %g to %g %[3]s", name, v, unit, leastOption, mostOption)
			}
		}
	}
	if !(math.Abs(o.FirstShot) <= mostOption && math.Abs(o.Smoothing) <= mostOption) {
		return fmt.Errorf("synth: first shot %g m and smoothing %g m must be finite, at most %g m", o.FirstShot, o.Smoothing, mostOption)
	}
	return nil
}

// checkSampling refuses intervals that alias. In time a period at the highest
// frequency f needs four samples, because the operator interpolates linearly
// between them. On the grid an image of velocity v has wavelengths down to
// v/(2f) along z, half the wave's because waves go down and up, and two points
// are needed for each; along x and y dips up to 30 degrees halve the demand.
func checkSampling(g grid.Grid, slowest, peak, dt float64) error {
	f := highest * peak
	if most := 1 / (4 * f); dt > most*(1+1e-9) {
		return fmt.Errorf("synth: dt is %g s, must be at most %.4g s for a peak frequency of %g Hz (4 samples a period at %g Hz)",
			dt, most, peak, f)
	}
	for a, h := range g.Spacing {
		if most := coarsest(g, a, slowest, peak); g.Shape[a] > 1 && h > most*(1+1e-9) {
			return &CoarseError{Needed: slowest / (4 * f), error: fmt.Errorf("synth: grid spacing along %s is %g m, must be at most %.4g m for a peak frequency of %g Hz at %.6g m/s",
				grid.AxisNames(g.Dim())[a], h, most, peak, slowest)}
		}
	}
	return nil
}

// coarsest is the greatest spacing, m, of an axis for a peak frequency, Hz. With a spacing
// instead of the frequency it is the greatest frequency.
func coarsest(g grid.Grid, axis int, slowest, peak float64) float64 {
	if axis == g.Dim()-1 {
		slowest /= 2
	}
	return slowest / (2 * highest * peak)
}

// highestPeak is the greatest peak frequency, Hz, in steps of half a hertz and
// no more than 30, that checkSampling lets pass; dt of 0 sets no limit.
func highestPeak(g grid.Grid, slowest, dt float64) float64 {
	peak := 30.0
	for a, h := range g.Spacing {
		if g.Shape[a] > 1 {
			peak = math.Min(peak, coarsest(g, a, slowest, h))
		}
	}
	if dt > 0 {
		peak = math.Min(peak, 1/(4*highest*dt))
	}
	if peak < 0.5 {
		return peak
	}
	return math.Floor(2*peak*(1+1e-9)) / 2
}

// niceInterval is the greatest sampling interval of 1, 2, 4 or 8 ms, or such
// times a power of ten, that a peak frequency allows.
func niceInterval(peak float64) float64 {
	most := 1 / (4 * highest * peak) * (1 + 1e-9)
	p := math.Pow(10, math.Floor(math.Log10(most)))
	best := p
	for _, k := range []float64{2, 4, 8} {
		if k*p <= most {
			best = k * p
		}
	}
	// Through the shortest decimal, so that 4 ms is 0.004 and not a neighbour.
	var dt float64
	fmt.Sscan(fmt.Sprintf("%.3g", best), &dt)
	return dt
}

// CoarseError is a grid too coarse for a wavelet.
type CoarseError struct {
	Needed float64 // m, the spacing that would do along every axis
	error
}

// fit brings the defaults d closer together where as many shots and channels as o asks
// for would not lie inside the grid. Values that o fixes are left to the survey's check.
func (o Options) fit(d Options, g grid.Grid) Options {
	all := o.over(d)
	if o.Shots > 1 && o.ShotSpacing == 0 {
		d.ShotSpacing = fitting(d.ShotSpacing, g.End(0)-all.FirstShot, o.Shots, g.Spacing[0])
	}
	if all.Geometry != Fixed {
		return d // channels outside are left out
	}
	length := g.End(0) - g.Origin[0]
	if o.Channels > 1 && o.ReceiverSpacing == 0 {
		d.ReceiverSpacing = fitting(d.ReceiverSpacing, length, o.Channels, g.Spacing[0])
	}
	return d
}

// fitting is a step, or else the largest with which n places lie within a length: whole
// cells where these are small enough, millimetres otherwise.
func fitting(step, length float64, n int, cell float64) float64 {
	largest := length / float64(n-1)
	if step <= largest*(1+1e-9) {
		return step
	}
	if cells := math.Floor(largest/cell + 1e-9); cells >= 1 {
		return cells * cell
	}
	return math.Floor(largest*1e3+1e-6) / 1e3
}

// Resample is a model on a finer grid of the same extent with the given spacing, m, along
// every axis of more than one point, by linear interpolation. A spacing above the
// model's is an error: it would lose what lies between.
func Resample(g grid.Grid, v []float64, spacing float64) (grid.Grid, []float64, error) {
	if !(spacing >= leastOption && spacing <= mostOption) {
		return g, nil, fmt.Errorf("synth: spacing is %g m, must be from %g to %g m", spacing, leastOption, mostOption)
	}
	out := grid.Grid{Origin: slices.Clone(g.Origin), Spacing: slices.Clone(g.Spacing), Shape: slices.Clone(g.Shape), Frame: g.Frame}
	for a, h := range g.Spacing {
		if g.Shape[a] == 1 {
			continue
		}
		if spacing > h*(1+1e-9) {
			return g, nil, fmt.Errorf("synth: spacing is %g m, must be at most the model's %g m along %s", spacing, h, grid.AxisNames(g.Dim())[a])
		}
		out.Spacing[a] = spacing
		points := math.Floor((g.End(a)-g.Origin[a])/spacing+1e-6) + 1
		if points > math.MaxInt32 {
			return g, nil, fmt.Errorf("synth: spacing of %g m makes %.3g points along %s, at most %d", spacing, points, grid.AxisNames(g.Dim())[a], math.MaxInt32)
		}
		out.Shape[a] = int(points)
	}
	if err := out.Validate(); err != nil {
		return g, nil, fmt.Errorf("synth: %w", err)
	}
	fine := make([]float64, out.Len())
	g.Interpolate(fine, v, out)
	return out, fine, nil
}
