package job

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// ReadVelocity reads a velocity model in units as velocity.units has them and gives it in
// m/s. With "auto" velocities that do not look like m/s are an error.
func ReadVelocity(file, unit string) (grid.Grid, []float64, error) {
	if unit == "auto" {
		unit = ""
	}
	g, v, err := h5.ReadModelIn(file, unit)
	if err != nil || unit != "" {
		return g, v, FileError(err)
	}
	if err := velocity.Plausible(slices.Min(v), slices.Max(v)); err != nil {
		return g, nil, status.Hint(status.Input(fmt.Errorf("%s: /velocity: %w", file, err)), config.UnitsHint)
	}
	return g, v, nil
}

// Surveys beyond these limits do not look as if they were in m and s.
const (
	longestInterval = 0.1 // s
	nearestPlaces   = 0.5 // of the shortest wavelength, for the extent of all places
)

// checkUnits refuses a survey that looks as if it were not in m and s.
func (j *Job) checkUnits() error {
	if j.Config.Survey.Units != "auto" {
		return nil
	}
	refuse := func(format string, args ...any) error {
		err := fmt.Errorf("%s: %w", j.Config.Survey.File.File, fmt.Errorf(format, args...))
		return status.Hint(status.Input(err), `survey.units = "si" takes it as it stands`)
	}
	if dt := j.Survey.DT; dt > longestInterval {
		return refuse("dt is %g s, above %g s: looks like ms or µs", dt, longestInterval)
	}
	_, fastest := j.velocityRange()
	high := band(j.Survey.Wavelet).High
	if !(fastest > 0 && high > 0) {
		return nil
	}
	extent, length := j.Places.Extent(), fastest/high
	if extent > 0 && extent < nearestPlaces*length {
		return refuse("all sources and receivers lie within %.3g m, the shortest wavelength is %.3g m (%.4g m/s at %.3g Hz): positions look like km", extent, length, fastest, high)
	}
	return nil
}
