package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// LoopStep is one loop of migration, picks and a new velocity.
type LoopStep struct {
	Number   int
	Picks    int
	Residual string  // mean residual moveout of the picks, with its unit
	Gamma    float64 // mean of |γ − 1|
	Power    float64 // of the stack, of at most 1
	Relative float64 // root mean square of the relative change of the velocity from the loop before

	Roughness float64 // root mean square of the velocity's slope along the line, 1/s

	Velocity  *Model
	Image     *h5.Image
	Gathers   *picture.Figure // before and after they are flattened along the picks
	Semblance *picture.Figure // with what was picked
}

//go:embed loop.html
var loopText string

var loopTemplate = template.Must(template.New("loop").Funcs(template.FuncMap{
	"percent": readable.Percent, "style": func() template.CSS { return template.CSS(styleText) },
}).Parse(loopText))

// loopPage is what the template shows.
type loopPage struct {
	Title   string
	Stopped string // why the loop ended early; "" if it did not
	Steps   []LoopStep
	Parts   []part
}

// WriteLoop writes the page of a loop, of which there is one step at least. Gathers, velocity and image
// of the first and the last step stand beside each other. stopped says why the loop ended before its last update, if it did;
// deviation is the standard deviation of the velocity's logarithm at the points of the last model, or nil.
func WriteLoop(w io.Writer, title, stopped string, deviation []float64, steps []LoopStep) error {
	p := &loopPage{Title: title, Stopped: stopped, Steps: steps}
	ends := []LoopStep{steps[0], steps[len(steps)-1]}
	speeds := slices.Concat(ends[0].Velocity.Values, ends[1].Velocity.Values)
	span := [2]float64{slices.Min(speeds), slices.Max(speeds)} // one scale of colours for both
	name := func(s LoopStep) string { return fmt.Sprintf("loop %d", s.Number) }
	for _, of := range []struct {
		title, says string
		draw        func(s LoopStep) (*picture.Figure, error)
	}{
		{"Gathers", "gathers as migrated, and flattened along the picks", func(s LoopStep) (*picture.Figure, error) { return s.Gathers, nil }},
		{"Semblances", "semblances with trajectories and picks", func(s LoopStep) (*picture.Figure, error) { return s.Semblance, nil }},
		{"Velocity", "velocity", func(s LoopStep) (*picture.Figure, error) {
			return picture.Model(s.Velocity.Grid, s.Velocity.Values, picture.Options{Title: name(s), Span: span})
		}},
		{"Image", "image", func(s LoopStep) (*picture.Figure, error) {
			return picture.Image(s.Image.Grid, s.Image.Data, picture.Options{Title: name(s)})
		}},
	} {
		section := part{Title: of.title}
		for _, s := range ends {
			if err := section.add(name(s)+": "+of.says, name(s)+": "+of.says)(of.draw(s)); err != nil {
				return err
			}
		}
		p.Parts = append(p.Parts, section)
	}
	if deviation != nil {
		section, percent := part{Title: "Deviation of the velocity"}, make([]float64, len(deviation))
		for i, v := range deviation {
			percent[i] = 100 * v
		}
		says := "standard deviation of the velocity by the noise of the last picks, as if each had its own; where it is large the picks say little"
		if err := section.add(says, says)(picture.Model(ends[1].Velocity.Grid, percent, picture.Options{Title: "deviation", Bar: "standard deviation (%)"})); err != nil {
			return err
		}
		p.Parts = append(p.Parts, section)
	}
	var b strings.Builder
	if err := loopTemplate.Execute(&b, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err := io.WriteString(w, clean(b.String()))
	return err
}
