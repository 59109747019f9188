package plan

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Surveys beyond these limits do not look as if they were in m and s.
const (
	longestInterval = 0.1 // s
	nearestPlaces   = 0.5 // of the shortest wavelength, for the extent of all places
)

// checkUnits refuses a survey that looks as if it were not in m and s.
func (p *Plan) checkUnits() error {
	if p.Config.Survey.Units != "auto" {
		return nil
	}
	refuse := func(format string, args ...any) error {
		err := fmt.Errorf("%s: %w", p.Config.Survey.File.File, fmt.Errorf(format, args...))
		return status.Hint(status.Input(err), `survey.units = "si" takes it as it stands`)
	}
	if dt := p.Survey.DT; dt > longestInterval {
		return refuse("dt is %g s, above %g s: looks like ms or µs", dt, longestInterval)
	}
	_, fastest := p.Velocity.Range()
	high := BandOf(p.Survey.Wavelet).High
	if !(fastest > 0 && high > 0) {
		return nil
	}
	extent, length := p.Places.Extent(), fastest/high
	if extent > 0 && extent < nearestPlaces*length {
		return refuse("all sources and receivers lie within %.3g m, the shortest wavelength is %.3g m (%.4g m/s at %.3g Hz): positions look like km", extent, length, fastest, high)
	}
	return nil
}
