package fielddata

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/io/navigation"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// Options steer an import.
type Options struct {
	Read    segy.Options
	Mapping Mapping

	Dim       int         // 2 or 3
	Azimuth   *float64    // of the line that 2-D surveys are projected onto, degrees from y (north) towards x (east); nil: fitted
	Origin    []float64   // east and north of the line's zero, m; nil: see Line
	Frame     *grid.Frame // that 3-D surveys are put into; nil: the map's
	Tolerance float64     // m, within which two positions are one place
	Datum     float64     // elevation of z = 0, m
	SourceZ   *float64    // m, of all sources; nil: from the headers
	ReceiverZ *float64    // m, of all receivers

	Units string // "m", "ft" or "us-ft" against the headers; "" for what they say

	DT float64  // s, against the headers; 0 for what they say
	NT int      // samples of the survey's traces; 0: those of most traces
	T0 *float64 // s, time of the survey's first sample; nil: that of most traces

	IDs            []int // trace identification codes that count as data
	KeepDead       bool  // traces whose samples are all zero
	KeepDuplicates bool  // traces that were there before, to the bit
	KeepPositive   bool  // files without a negative sample, which look like velocities

	Midpoints  Midpoints           // positions from CDPs and offsets
	Navigation []navigation.Source // positions and statics in other files, which count before the headers

	ApplyStatics bool // move each trace by the static correction that its header has
}

// DefaultOptions returns the defaults of lsm import.
func DefaultOptions() Options {
	return Options{Mapping: DefaultMapping(), Dim: 2, Tolerance: 0.05, IDs: []int{0, 1, 11, 12}}
}

// Units of length, in metres.
var lengths = map[string]float64{"m": 1, "ft": 0.3048, "us-ft": 1200.0 / 3937}

// Validate judges the options themselves.
func (o *Options) Validate() error {
	numbers := append([]float64{o.Tolerance, o.Datum, o.DT, o.Midpoints.Spacing}, o.Origin...)
	for _, p := range []*float64{o.Azimuth, o.SourceZ, o.ReceiverZ, o.T0} {
		if p != nil {
			numbers = append(numbers, *p)
		}
	}
	_, known := lengths[o.Units]
	switch {
	case !known && o.Units != "":
		return fmt.Errorf("units are %q, want m, ft or us-ft", o.Units)
	case o.Dim != 2 && o.Dim != 3:
		return fmt.Errorf("%d dimensions, want 2 or 3", o.Dim)
	case o.Dim == 3 && (o.Azimuth != nil || o.Origin != nil):
		return fmt.Errorf("a 3-D survey is not projected: it takes no azimuth and no origin of a line")
	case o.Dim == 2 && o.Frame != nil:
		return fmt.Errorf("a frame is for 3-D surveys; a 2-D one is projected onto a line, which has an azimuth and an origin")
	case o.Midpoints.On && o.Dim != 2:
		return fmt.Errorf("midpoints and offsets make a line, not a 3-D survey")
	case o.Midpoints.Spacing < 0:
		return fmt.Errorf("CDPs are %g m apart, must be above 0", o.Midpoints.Spacing)
	case o.Origin != nil && len(o.Origin) != 2:
		return fmt.Errorf("the line's origin has %d numbers, want east,north", len(o.Origin))
	case o.NT < 0 || o.NT == 1 || o.NT > math.MaxInt32:
		return fmt.Errorf("%d samples a trace, want 2 to %d", o.NT, math.MaxInt32)
	case len(o.IDs) == 0:
		return fmt.Errorf("no trace identification code counts as data")
	case slices.ContainsFunc(numbers, func(v float64) bool { return v-v != 0 }):
		return fmt.Errorf("an option is not a finite number")
	case o.Tolerance < 0 || o.DT < 0:
		return fmt.Errorf("tolerance is %g m and sampling interval %g s, must not be negative", o.Tolerance, o.DT)
	}
	return nil
}
