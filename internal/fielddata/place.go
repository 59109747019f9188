package fielddata

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Validate judges where the line is said to lie.
func (o *ExportOptions) Validate() error {
	for _, v := range []float64{o.Line.Azimuth, o.Line.Origin[0], o.Line.Origin[1], o.Datum} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("the line's azimuth or origin is %g, must be finite", v)
		}
	}
	return nil
}

// Place takes line and datum from the attributes that an import left in a survey
// file; one that has none keeps what is there. With keepLine only the datum
// counts.
func (o *ExportOptions) Place(survey string, keepLine bool) error {
	f, err := h5.Open(survey)
	if err != nil {
		return err
	}
	defer f.Close()
	a := f.Attrs()
	take := func(name string, to ...*float64) {
		if err != nil || !a.Has(name) {
			return
		}
		var v []float64
		v, err = a.Floats(name, len(to))
		for i := range v {
			*to[i] = v[i]
		}
	}
	take(AttrDatum, &o.Datum)
	if !keepLine {
		take(AttrAzimuth, &o.Line.Azimuth)
		take(AttrOrigin, &o.Line.Origin[0], &o.Line.Origin[1])
	}
	if err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return status.Input(fmt.Errorf("%s: %w", survey, err))
	}
	return nil
}

// WayBack is the flags with which an import of the file gives the same x and z.
func (o *ExportOptions) WayBack(dim int) string {
	flags := " --keep-dead --keep-duplicates --keep-positive"
	switch {
	case dim == 3:
		flags += " --3d"
	case o.Line != NoLine():
		flags += fmt.Sprintf(" --azimuth %g --line-origin %.12g,%.12g", o.Line.Azimuth, o.Line.Origin[0], o.Line.Origin[1])
	}
	if o.Datum != 0 {
		flags += fmt.Sprintf(" --datum %g", o.Datum)
	}
	return flags
}
