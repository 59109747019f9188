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
	all, err := f.Attrs().All()
	if err != nil {
		return err
	}
	for _, at := range all {
		numbers, ok := at.Value.([]float64)
		if v, single := at.Value.(float64); single {
			numbers, ok = []float64{v}, true
		}
		switch {
		case !ok:
		case at.Name == AttrDatum && len(numbers) == 1:
			o.Datum = numbers[0]
		case keepLine:
		case at.Name == AttrAzimuth && len(numbers) == 1:
			o.Line.Azimuth = numbers[0]
		case at.Name == AttrOrigin && len(numbers) == 2:
			o.Line.Origin = [2]float64{numbers[0], numbers[1]}
		}
	}
	if err := o.Validate(); err != nil {
		return status.Input(fmt.Errorf("%s: %w", survey, err))
	}
	return nil
}

// WayBack are the flags with which an import finds the same x and z again.
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
