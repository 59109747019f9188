package pipeline

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// checkWavelet makes sure that the operator can use a survey's wavelet.
func checkWavelet(cfg *config.Config, s *survey.Survey) error {
	file := cfg.Survey.WaveletFile()
	if err := CheckWavelet(file, s.Wavelet); err != nil || cfg.Kirchhoff.WaveletFilter != kirchhoff.PyLopsFilter.String() {
		return err
	}
	// The filter has no constant part, and in 3-D no part at Nyquist either.
	if n, least := len(s.Wavelet.Samples), s.Dim; n < least {
		return status.Usage(fmt.Errorf("kirchhoff.wavelet_filter = \"pylops\": makes nothing of %s's wavelet of %s, needs at least %d", file, readable.Count(n, "sample"), least))
	}
	return nil
}

// checkWeights makes sure that the survey has the weights that the configuration needs.
func checkWeights(cfg *config.Config, s *survey.Survey, need Need) error {
	if need != NeedGeometry && cfg.Data.Weights == "survey" && s.Weight == nil {
		return status.Hint(status.Input(fmt.Errorf("%s: dataset /weight is missing, data.weights = \"survey\" needs it", cfg.Survey.File.File)),
			`weights = "coherence" finds weights in the traces themselves`)
	}
	return nil
}

// checkPlaces makes sure that the traveltimes can start at every place.
func checkPlaces(c config.Survey, g *Geometry, t *Times, turned string) error {
	for i := range g.Places.Len() {
		domain := traveltime.Leg(t.Method, g.Places.Role[i]).Domain()
		if at := g.Places.At(i); domain != nil && !domain.Contains(at) {
			hint := "extend the velocity model so that it holds every source and receiver"
			if turned != "" {
				hint = turned + "; " + hint + "; " + FrameHint
			}
			return status.Hint(status.Input(fmt.Errorf("%s: %s %d at %s m lies outside the velocity model, %s",
				c.File.File, g.Places.Role[i], g.Places.Row[i], PointText(at), ExtentText(*domain))), hint)
		}
	}
	return nil
}

// Surveys beyond these limits do not look as if they were in m and s.
const (
	longestInterval = 0.1 // s
	nearestPlaces   = 0.5 // of the shortest wavelength, for the extent of all places
)

// checkUnits refuses a survey that looks as if it were not in m and s.
func checkUnits(c config.Survey, g *Geometry, t *Times) error {
	if c.Units != "auto" {
		return nil
	}
	refuse := func(format string, args ...any) error {
		err := fmt.Errorf("%s: %w", c.File.File, fmt.Errorf(format, args...))
		return status.Hint(status.Input(err), `survey.units = "si" takes it as it stands`)
	}
	if dt := g.Survey.DT; dt > longestInterval {
		return refuse("dt is %g s, above %g s: looks like ms or µs", dt, longestInterval)
	}
	fastest := 0.0
	for _, m := range t.media() {
		_, most := m.Range()
		fastest = max(fastest, most)
	}
	high := BandOf(g.Survey.Wavelet).High
	if !(fastest > 0 && high > 0) {
		return nil
	}
	extent, length := g.Places.Extent(), fastest/high
	if extent > 0 && extent < nearestPlaces*length {
		return refuse("all sources and receivers lie within %.3g m, the shortest wavelength is %.3g m (%.4g m/s at %.3g Hz): positions look like km", extent, length, fastest, high)
	}
	return nil
}
