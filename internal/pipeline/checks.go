package pipeline

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

func checkWavelet(p *Plan) error {
	file := p.Config.Survey.WaveletFile()
	if err := CheckWavelet(file, p.Inputs.Survey.Wavelet); err != nil || p.Config.Kirchhoff.WaveletFilter != kirchhoff.PyLopsFilter.String() {
		return err
	}
	// The filter has no constant part, and in 3-D no part at Nyquist either.
	if n, least := len(p.Inputs.Survey.Wavelet.Samples), p.Inputs.Survey.Dim; n < least {
		return status.Usage(fmt.Errorf("kirchhoff.wavelet_filter = \"pylops\": makes nothing of %s's wavelet of %s, needs at least %d", file, readable.Count(n, "sample"), least))
	}
	return nil
}

// placeImage takes the image's grid from the configuration, if it gives one, or else from
// the first velocity model. With constant velocities the configuration always gives a valid
// grid.
func placeImage(p *Plan) error {
	c := p.Config.Image
	if !c.IsSet() {
		for _, m := range media(p) {
			if p.Image.Shape == nil {
				p.Image = m.Grid
			}
		}
		return checkImage(p)
	}
	p.Image = c.Grid()
	if p.Image.Dim() != p.Inputs.Survey.Dim {
		return status.Usage(fmt.Errorf("image: shape %v has %d axes, the survey's positions have %d columns", c.Shape, p.Image.Dim(), p.Inputs.Survey.Dim))
	}
	return checkImage(p)
}

// fits makes sure that the image lies in the models, and that its axis of two-way time can be one.
func checkImage(p *Plan) error {
	if p.Image.Dim() == 3 {
		p.Image.Frame = p.Inputs.Survey.Frame // which is that of the model
	}
	if err := insideModels(p); err != nil {
		return status.Usage(err)
	}
	last := p.Image.Dim() - 1
	if p.Image.Domain != grid.Time {
		return nil
	}
	if first := p.Image.Origin[last]; first < 0 {
		return status.Usage(fmt.Errorf("image.origin: two-way time starts at %g s, must be 0 s or later", first))
	}
	if h := p.Image.Spacing[last]; h > longestInterval && p.Config.Survey.Units == "auto" {
		err := status.Usage(fmt.Errorf("image.spacing: %g s of two-way time, above %g s: looks like ms", h, longestInterval))
		return status.Hint(err, `survey.units = "si" takes it as it stands`)
	}
	return nil
}

// checkWeights makes sure that the survey has the weights asked for.
func checkWeights(p *Plan) error {
	if p.Need != NeedGeometry && p.Config.Data.Weights == "survey" && p.Inputs.Survey.Weight == nil {
		return status.Hint(status.Input(fmt.Errorf("%s: dataset /weight is missing, data.weights = \"survey\" needs it", p.Config.Survey.File.File)),
			`weights = "coherence" finds weights in the traces themselves`)
	}
	return nil
}

// checkTables makes sure that the table file is for this image and survey.
func checkTables(p *Plan) error {
	t, s, file := p.Inputs.Tables, p.Inputs.Survey, p.Config.Traveltime.File.File
	if !t.Grid().Equal(p.Image) {
		return status.Input(fmt.Errorf("%s: tables are on %s, the image on %s", file, ExtentText(t.Grid()), ExtentText(p.Image)))
	}
	if t.NumSources() != s.NumSources() || t.NumReceivers() != s.NumReceivers() {
		return status.Input(fmt.Errorf("%s: tables for %s and %s, the survey has %d and %d",
			file, readable.Count(t.NumSources(), "source"), readable.Count(t.NumReceivers(), "receiver"), s.NumSources(), s.NumReceivers()))
	}
	return nil
}

// checkPlaces makes sure that the traveltimes can start at every place.
func checkPlaces(p *Plan) error {
	for i := range p.Inputs.Places.Len() {
		g := traveltime.Leg(p.Times, p.Inputs.Places.Role[i]).Domain()
		if at := p.Inputs.Places.At(i); g != nil && !g.Contains(at) {
			hint := "extend the velocity model so that it holds every source and receiver"
			if p.Inputs.Turned != "" {
				hint = p.Inputs.Turned + "; " + hint + "; " + FrameHint
			}
			return status.Hint(status.Input(fmt.Errorf("%s: %s %d at %s m lies outside the velocity model, %s",
				p.Config.Survey.File.File, p.Inputs.Places.Role[i], p.Inputs.Places.Row[i], PointText(at), ExtentText(*g))), hint)
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
func checkUnits(p *Plan) error {
	if p.Config.Survey.Units != "auto" {
		return nil
	}
	refuse := func(format string, args ...any) error {
		err := fmt.Errorf("%s: %w", p.Config.Survey.File.File, fmt.Errorf(format, args...))
		return status.Hint(status.Input(err), `survey.units = "si" takes it as it stands`)
	}
	if dt := p.Inputs.Survey.DT; dt > longestInterval {
		return refuse("dt is %g s, above %g s: looks like ms or µs", dt, longestInterval)
	}
	fastest := 0.0
	for _, m := range media(p) {
		_, most := m.Range()
		fastest = max(fastest, most)
	}
	high := BandOf(p.Inputs.Survey.Wavelet).High
	if !(fastest > 0 && high > 0) {
		return nil
	}
	extent, length := p.Inputs.Places.Extent(), fastest/high
	if extent > 0 && extent < nearestPlaces*length {
		return refuse("all sources and receivers lie within %.3g m, the shortest wavelength is %.3g m (%.4g m/s at %.3g Hz): positions look like km", extent, length, fastest, high)
	}
	return nil
}
