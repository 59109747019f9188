package pipeline

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// FrameHint says which flag decides where a file lies on the map.
const FrameHint = "lsm import --frame EAST,NORTH,AZIMUTH[,left] or --frame FILE says which frame a survey or a model lies in"

// enterModel gives the survey the frame of the velocity model, in which a run computes. Positions
// are points, so they are turned to rounding. A survey without a frame lies on the map. A model
// without one, beside a survey with one, lies in that of the survey or on the map: where it holds
// all positions. Errors of the model are left to those who open it.
func (in *Inputs) enterModel(cfg *config.Config) error {
	file := cfg.Velocity.File.File
	if in.Survey.Dim != 3 || !cfg.Velocity.File.IsSet() {
		return nil
	}
	r, err := h5.OpenModel(file, unitOf(cfg.Velocity.Units))
	if err != nil {
		return nil
	}
	g, s := r.Grid(), in.Survey
	r.Close()
	if g.Dim() != 3 || g.Frame == nil && s.Frame == nil {
		return nil
	}
	turned := inFrame(s, g.Frame)
	onMap := holdsPositions(turned, g)
	if g.Frame == nil {
		switch own := holdsPositions(s, g); {
		case own == onMap:
			return status.Hint(status.Input(fmt.Errorf("%s: %s; %s has no frame, and holds the positions %s: which frame it lies in is not known", cfg.Survey.File.File,
				s.Frame, file, map[bool]string{true: "both in this frame and on the map", false: "neither in this frame nor on the map"}[own])), FrameHint)
		case own:
			turned = inFrame(s, s.Frame)
			in.Turned = fmt.Sprintf("%s is taken for a model in the survey's frame, %s: it holds all positions there", file, s.Frame)
		}
	}
	if !turned.Frame.Equal(s.Frame) {
		in.Turned = fmt.Sprintf("positions are turned into that of %s, %s", file, g.Frame)
	}
	if !onMap && g.Frame != nil {
		in.Turned += otherReading(turned, g)
	}
	in.Survey = turned
	snapToEdges(turned, g)
	return nil
}

// inFrame is a survey with its positions in another frame.
func inFrame(s *survey.Survey, to *grid.Frame) *survey.Survey {
	turn := func(x, y float64) (float64, float64) { return to.FromMap(s.Frame.ToMap(x, y)) }
	if to.Equal(s.Frame) {
		turn = func(x, y float64) (float64, float64) { return x, y }
	}
	out := moveHorizontally(s, turn)
	out.Frame = to
	return out
}

// moveHorizontally returns a survey with other horizontal positions.
func moveHorizontally(s *survey.Survey, to func(x, y float64) (float64, float64)) *survey.Survey {
	out := *s
	for _, p := range []*[]float64{&out.Sources, &out.Receivers} {
		*p = slices.Clone(*p)
		for i := 0; i < len(*p); i += 3 {
			(*p)[i], (*p)[i+1] = to((*p)[i], (*p)[i+1])
		}
	}
	return &out
}

// onEdge is how far beyond a model, m, a position counts as one on its edge: headers hold whole
// metres or centimetres, and a turned position may lie outside by their rounding. It is a tenth of a
// cell at most.
const onEdge = 1.0

// holdsPositions reports whether all positions lie inside the horizontal edges of a grid, except for rounding.
func holdsPositions(s *survey.Survey, g grid.Grid) bool {
	for _, xyz := range [][]float64{s.Sources, s.Receivers} {
		for i, v := range xyz {
			if a := i % 3; a < 2 && !(math.Abs(v-min(max(v, g.Origin[a]), g.End(a))) <= min(onEdge, g.Spacing[a]/10)) {
				return false
			}
		}
	}
	return true
}

// snapToEdges puts positions of a survey that lie outside the horizontal edges of a grid by rounding on them.
func snapToEdges(s *survey.Survey, g grid.Grid) {
	for _, xyz := range [][]float64{s.Sources, s.Receivers} {
		for i, v := range xyz {
			a := i % 3
			if near := min(max(v, g.Origin[a]), g.End(a)); a < 2 && math.Abs(v-near) <= min(onEdge, g.Spacing[a]/10) {
				xyz[i] = near
			}
		}
	}
}

// otherReading says how the positions of a survey, which is in the frame of the model, would lie
// in it if headers were read in another way; "" where no other way brings all of them there.
func otherReading(s *survey.Survey, g grid.Grid) string {
	onMap := inFrame(s, nil)
	fits := func(frame *grid.Frame, change func(east, north float64) (float64, float64)) bool {
		return holdsPositions(inFrame(moveHorizontally(onMap, change), frame), g)
	}
	const outside = "; some lie outside the model, and all inside it "
	if fits(g.Frame, func(e, n float64) (float64, float64) { return n, e }) {
		return outside + "with x and y of the survey exchanged"
	}
	for _, factor := range []float64{0.1, 0.01, 1e-3, 1e-4, 10, 100, 1000, 10000} {
		for _, by := range []struct {
			axes string
			x, y float64
		}{{"x and y", factor, factor}, {"x alone", factor, 1}, {"y alone", 1, factor}} {
			if fits(g.Frame, func(e, n float64) (float64, float64) { return e * by.x, n * by.y }) {
				return fmt.Sprintf("%swith %s of the survey times %g (the scalar of header byte 71)", outside, by.axes, factor)
			}
		}
	}
	for _, other := range []struct {
		text string
		left bool
		turn float64
	}{{"with y of the model on the other side of x", true, 0}, {"with x and y of the model the other way round", false, 180}, {"with x of the model the other way round", true, 180}} {
		f := *g.Frame
		f.Left, f.Azimuth = f.Left != other.left, grid.Degrees(f.Azimuth+other.turn)
		if fits(&f, func(e, n float64) (float64, float64) { return e, n }) {
			return outside + other.text
		}
	}
	return ""
}

// FrameText says in which frame the survey and the model of a configuration lie, "" where neither
// has one.
func (in *Inputs) FrameText() string {
	switch {
	case in.Turned != "":
		return in.Turned
	case in.Survey.Frame != nil:
		return in.Survey.Frame.String()
	}
	return ""
}
