package report

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// Model is a velocity model.
type Model struct {
	File   string // as the reader knows it
	Grid   grid.Grid
	Values []float64 // m/s
}

// velocityPart is the section on the velocity.
type velocityPart struct {
	Pictures      []shot
	Note, Missing string
}

// velocityText is the velocity in a few words, "" where it is not known.
func (r *Run) velocityText() string {
	switch {
	case r.Velocity != nil:
		lo, hi := slices.Min(r.Velocity.Values), slices.Max(r.Velocity.Values)
		if lo == hi {
			return number(lo) + " m/s everywhere"
		}
		return fmt.Sprintf("%s to %s m/s", number(lo), number(hi))
	case r.Config != nil && r.Config.Velocity.Constant > 0:
		return number(r.Config.Velocity.Constant) + " m/s everywhere"
	}
	return ""
}

func (r *Run) velocity() (out velocityPart, err error) {
	m := r.Velocity
	switch {
	case m != nil:
		s, err := drawn("velocity model", m.File)(picture.Model(m.Grid, m.Values, picture.Options{Title: "velocity", At: r.At}))
		if err != nil {
			return out, err
		}
		out.Pictures = []shot{s}
		out.Note = fmt.Sprintf("The model that the run read: %s, on %s.", r.velocityText(), shapeText(m.Grid))
		if !m.Grid.Equal(r.Image.Grid) {
			out.Note += " It lies on another grid than the image."
		}
	case r.velocityText() != "":
		out.Note = "The velocity is constant: " + r.velocityText() + "."
	case r.Config == nil:
		out.Missing = "No velocity model: the file's configuration, which names it, is missing or of another version of lsm."
	default:
		out.Missing = "No velocity model: the one that the run read is not where the configuration names it; --folder DIR says which folder its paths start from."
	}
	if r.Config != nil && r.Config.Traveltime.Given() {
		out.Note += " Traveltimes did not come from it, but from the tables of " + clean(r.Config.Traveltime.File.Text) + "."
	}
	return out, nil
}
