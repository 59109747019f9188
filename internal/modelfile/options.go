package modelfile

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// Velocity is the quantity of models themselves, beside the names of their properties.
const Velocity = "velocity"

// ReceiverVelocity is the velocity of the waves to the receivers, which is a model of its own.
const ReceiverVelocity = "receiver-velocity"

// Options say what is known of a file, and how to change its model. The zero value finds out
// everything, and takes the whole model unchanged.
type Options struct {
	Format       Format
	Order        string      // byte order, "little" or "big"; "" to find out
	SampleFormat segy.Format // of SEG-Y, against what the header says
	Samples      int         // of a trace of SEG-Y and SU, where the headers leave it open; 0 for none
	Texts        *int        // extended textual headers of SEG-Y, against what the header says
	Salvage      bool        // take the whole traces of damaged SEG-Y and SU

	Shape []int  // of a raw file, slowest axis first
	Type  string // of its elements; "" for float32
	Skip  int64  // bytes before its first element

	Dataset string   // name of the array in HDF5 and NetCDF
	Axes    []string // what the axes of more than one point are, slowest first: x, y, z or time

	Origin, Spacing []float64 // x, (y,) z, in m, or s in time; nil: as the file says
	Units           string    // of the values
	LengthUnits     string    // of coordinates, where the file does not say: m, km or ft
	Domain          string    // "depth" or "time"; "" to find out
	Override        bool      // Origin, Spacing, Units and LengthUnits count against the file

	Line  *Line       // of traces in 2-D: where x lies on the map; nil: as their coordinates say
	Frame *grid.Frame // in which x and y of a 3-D model lie; nil: as the file says, otherwise the map's

	Property string // Velocity, ReceiverVelocity or the name of a property; "" for Velocity

	Crop     []Range   // along axes, in m, or s in time
	Smooth   float64   // standard deviation of a Gaussian, m; 0 for none
	Resample []float64 // new spacing x, (y,) z, in m, or s in time; nil for none
	Onto     *grid.Grid
}

// Line is where the line of a 2-D model lies on the map.
type Line struct {
	Azimuth float64    // degrees from north towards east
	Origin  [2]float64 // east and north of x = 0, m
}

// Range is a part of an axis, from Least to Greatest.
type Range struct {
	Axis            string
	Least, Greatest float64
}

// ParseRange reads a range such as "x=0:5000"; an end may be left out.
func ParseRange(text string) (Range, error) {
	r := Range{Least: math.Inf(-1), Greatest: math.Inf(1)}
	name, ends, ok := strings.Cut(text, "=")
	from, to, both := strings.Cut(ends, ":")
	r.Axis = strings.TrimSpace(name)
	for _, p := range []struct {
		text string
		to   *float64
	}{{from, &r.Least}, {to, &r.Greatest}} {
		if p.text = strings.TrimSpace(p.text); ok && p.text != "" {
			_, err := fmt.Sscan(p.text, p.to)
			ok = err == nil && !math.IsNaN(*p.to)
		}
	}
	if !ok || !both || !slices.Contains([]string{"x", "y", "z", "time"}, r.Axis) {
		return r, fmt.Errorf("range is %q, want AXIS=FROM:TO such as x=0:5000", text)
	}
	if !(r.Least <= r.Greatest) {
		return r, fmt.Errorf("range %q ends before it begins", text)
	}
	return r, nil
}

// Validate refuses what no file can make good.
func (o *Options) Validate() error {
	if o.Format != "" && !slices.Contains(Formats, o.Format) {
		return fmt.Errorf("format is %q, want one of %v", o.Format, Formats)
	}
	if o.Order != "" && orders[o.Order] == nil {
		return fmt.Errorf("byte order is %q, want big or little", o.Order)
	}
	if o.Type != "" {
		if _, err := numberNamed(o.Type); err != nil {
			return err
		}
	}
	for _, list := range []struct {
		name     string
		v        []float64
		positive bool
	}{{"origin", o.Origin, false}, {"spacing", o.Spacing, true}, {"new spacing", o.Resample, true}, {"radius of smoothing", []float64{o.Smooth}, false}} {
		for _, v := range list.v {
			if math.IsNaN(v) || math.IsInf(v, 0) || list.positive && !(v > 0) {
				return fmt.Errorf("%s is %g, must be finite%s", list.name, v, map[bool]string{true: " and above 0"}[list.positive])
			}
		}
	}
	if l := o.Line; l != nil {
		for _, v := range []float64{l.Azimuth, l.Origin[0], l.Origin[1]} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("azimuth or origin of the line is %g, must be finite", v)
			}
		}
	}
	switch {
	case o.Smooth < 0:
		return fmt.Errorf("radius of smoothing is %g m, must be 0 or more", o.Smooth)
	case o.Skip < 0:
		return fmt.Errorf("bytes to pass over are %d, must be 0 or more", o.Skip)
	case o.LengthUnits != "" && !slices.Contains([]string{"m", "km", "ft"}, o.LengthUnits):
		return fmt.Errorf("unit of coordinates is %q, want m, km or ft", o.LengthUnits)
	}
	if o.Domain != "" {
		if _, err := grid.ParseDomain(o.Domain); err != nil {
			return err
		}
	}
	for _, a := range o.Axes {
		if !slices.Contains([]string{"x", "y", "z", "time"}, a) {
			return fmt.Errorf("axis is %q, want x, y, z or time", a)
		}
	}
	if _, err := o.property(); err != nil && !o.velocity() {
		return err
	}
	return o.checkUnits()
}

// velocity reports whether velocities are read.
func (o *Options) velocity() bool {
	return o.Property == "" || o.Property == Velocity || o.Property == ReceiverVelocity
}

// property is the property that is read.
func (o *Options) property() (h5.Property, error) { return PropertyNamed(o.Property) }

// PropertyNamed is the property of a name, such as "epsilon".
func PropertyNamed(name string) (h5.Property, error) {
	var names []string
	for p := h5.Epsilon; p <= h5.Eta; p++ {
		if p.String() == name {
			return p, nil
		}
		names = append(names, p.String())
	}
	return 0, fmt.Errorf("property is %q, want %s, %s or %s", name, Velocity, ReceiverVelocity, strings.Join(names, ", "))
}

// fits refuses options that a format has no use for.
func (o *Options) fits(f Format) error {
	for _, c := range []struct {
		name  string
		given bool
		of    []Format
	}{
		{"shape", o.Shape != nil, []Format{Raw}},
		{"type of elements", o.Type != "", []Format{Raw}},
		{"bytes to pass over", o.Skip != 0, []Format{Raw}},
		{"dataset", o.Dataset != "", []Format{HDF5, NetCDF, NPZ, MAT, VTK, Zarr}},
		{"sample format", o.SampleFormat != 0, []Format{SEGY}},
		{"number of samples of a trace", o.Samples != 0, []Format{SEGY, SU}},
		{"number of extended textual headers", o.Texts != nil, []Format{SEGY}},
		{"search for whole traces", o.Salvage, []Format{SEGY, SU}},
		{"line on the map", o.Line != nil, []Format{SEGY, SU}},
		{"byte order", o.Order != "", []Format{SEGY, SU, RSF, Raw}},
	} {
		if c.given && !slices.Contains(c.of, f) {
			return status.Usage(fmt.Errorf("a %s is for files of format %v, this one is %s", c.name, c.of, f))
		}
	}
	return nil
}
