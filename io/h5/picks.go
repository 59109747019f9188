package h5

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Picks are residual moveouts of reflectors in images by offset, as columns of one length.
type Picks struct {
	Domain  grid.Domain // of Z
	Limits  []float64   // m, of the classes of offsets: where each begins and the last one ends
	Mute    float64     // offsets up to this multiple of the depth counted
	Columns PickColumns

	// Shifts are how much deeper than on the curve the reflector lies in each class, [picks, classes], m
	// or s; nil: on the curve.
	Shifts []float64

	Attrs []Attr // of the root, without format and format_version; not read
}

// PickColumns are the datasets of picks.
type PickColumns struct {
	X, Z      []float64 // m; Z in s in the time domain
	Y, SlopeY []float64 // m, and ∂z/∂y of the layer, in 3-D; nil for picks of a line
	Gamma     []float64 // velocity of the migration over the velocity that makes the gather flat
	Semblance []float64 // along the curve, 0 to 1
	Width     []float64 // of the peak of the semblance, in gamma
	Certainty []float64 // 0 to 1
	Slope     []float64 // ∂z/∂x of the layer, in the time domain s/m
	Far       []float64 // m, the largest offset that counted
	Speed     []float64 // m/s, velocity of the migration at the pick in the time domain; 2 in depth
	Datum     []float64 // m or s, from which depths of the curve count

	// Only for gathers by offset and azimuth, otherwise nil: the azimuth of the largest velocity of moveout, degrees from
	// north towards east, the difference of largest and least over their mean, %, and the standard error of that.
	FastAxis, Anisotropy, AnisotropyDeviation []float64
}

// column is a dataset of picks.
type column struct {
	name, units string
	to          *[]float64
}

// all lists the columns with their names and units.
func (c *PickColumns) all(domain grid.Domain) []column {
	units := map[grid.Domain][3]string{grid.Depth: {"m", "1", "1"}, grid.Time: {"s", "s/m", "m/s"}}[domain]
	list := []column{
		{"/x", "m", &c.X}, {"/z", units[0], &c.Z}, {"/gamma", "1", &c.Gamma}, {"/semblance", "1", &c.Semblance}, {"/width", "1", &c.Width},
		{"/certainty", "1", &c.Certainty}, {"/slope", units[1], &c.Slope}, {"/far", "m", &c.Far}, {"/speed", units[2], &c.Speed},
		{"/datum", units[0], &c.Datum},
	}
	if c.Y != nil {
		list = append(list, column{"/y", "m", &c.Y}, column{"/slope_y", units[1], &c.SlopeY})
	}
	if c.FastAxis != nil {
		list = append(list, column{fastAxis, "degrees", &c.FastAxis}, column{"/anisotropy", "percent", &c.Anisotropy},
			column{"/anisotropy_deviation", "percent", &c.AnisotropyDeviation})
	}
	return list
}

const fastAxis = "/fast_axis"

// WritePicks writes a file of picks. There must be at least one pick.
func WritePicks(path string, p *Picks, opt WriteOptions) error {
	opt.Attrs = append([]Attr{{"domain", p.Domain.String()}, {"limits", p.Limits}, {"mute", p.Mute}}, append(p.Attrs, opt.Attrs...)...)
	w, err := Create(path, FormatPicks, opt)
	if err != nil {
		return err
	}
	defer w.Abort()
	n := len(p.Columns.X)
	for _, c := range p.Columns.all(p.Domain) {
		if len(*c.to) != n || n == 0 {
			panic(fmt.Sprintf("h5: %s: %s has %d of %d picks", path, c.name, len(*c.to), n))
		}
		if _, err := over(w, c.name, []axis{{name: "/pick", size: n}}, *c.to, Attr{"units", c.units}); err != nil {
			return err
		}
	}
	if p.Shifts != nil {
		if len(p.Shifts) != n*(len(p.Limits)-1) {
			panic(fmt.Sprintf("h5: %s: %d shifts of %d picks in %d classes", path, len(p.Shifts), n, len(p.Limits)-1))
		}
		units := map[grid.Domain]string{grid.Depth: "m", grid.Time: "s"}[p.Domain]
		if _, err := over(w, shifts, []axis{{name: "/pick", size: n}, {name: "/class", size: len(p.Limits) - 1}}, p.Shifts, Attr{"units", units}); err != nil {
			return err
		}
	}
	return w.Commit()
}

// ReadPicks reads a file of picks. Gamma and Speed must be positive, Certainty from 0 to 1, all
// values finite.
func ReadPicks(path string) (*Picks, error) { return reading(path, (*File).picks) }

func (f *File) picks() (*Picks, error) {
	if err := f.checkFormat(FormatPicks); err != nil {
		return nil, err
	}
	p, a, err := &Picks{}, f.Attrs(), error(nil)
	d, err := f.Dataset("/x")
	if err != nil {
		return nil, err
	}
	if p.Domain, err = f.domain(d); err != nil {
		return nil, err
	}
	if p.Limits, err = a.Floats("limits", -1); err != nil {
		return nil, err
	}
	for i := range p.Limits {
		if p.Limits[i] < 0 || i > 0 && p.Limits[i] <= p.Limits[i-1] || len(p.Limits) < 2 {
			return nil, a.fault("limits", "is %v, must be at least two that ascend from 0 on", p.Limits)
		}
	}
	if p.Mute, err = a.Float("mute"); err != nil {
		return nil, err
	}
	if !(p.Mute > 0) {
		return nil, a.fault("mute", "is %g, must be positive", p.Mute)
	}
	n := d.len
	if f.Has("/y") {
		p.Columns.Y = []float64{}
	}
	if f.Has(fastAxis) {
		p.Columns.FastAxis = []float64{}
	}
	for _, c := range p.Columns.all(p.Domain) {
		if *c.to, err = load[float64](f, c.name, "[picks]", n); err != nil {
			return nil, err
		}
		for i, v := range *c.to {
			if positive := c.name == "/gamma" || c.name == "/speed"; v-v != 0 || positive && !(v > 0) || c.name == "/certainty" && !(v >= 0 && v <= 1) {
				return nil, inputError(f.path, c.name, "is %g for pick %d, must be %s", v, i,
					map[bool]string{true: "positive and finite", false: "finite, a certainty from 0 to 1"}[positive])
			}
		}
	}
	if p.Shifts, err = f.shifts(n, len(p.Limits)-1); err != nil {
		return nil, err
	}
	return p, nil
}

const shifts = "/shift"

// shifts reads the shifts of n picks, nil for none.
func (f *File) shifts(n, classes int) ([]float64, error) {
	if !f.Has(shifts) {
		return nil, nil
	}
	list, err := load[float64](f, shifts, "[picks, classes]", n, classes)
	for i, v := range list {
		if v-v != 0 {
			return nil, inputError(f.path, shifts, "is %g for pick %d, must be finite", v, i/classes)
		}
	}
	return list, err
}
