package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
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

	Roughness float64 // root mean square of the velocity's slope along the line, in 3-D of its gradient along x and y, 1/s

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

// loopPage holds the contents of the template.
type loopPage struct {
	Title   string
	Stopped string // why the loop ended early; "" if it did not
	Steps   []LoopStep
	Parts   []part
}

// section is the part of a field that a picture shows. From a cube it takes the section along x
// through the middle of y.
func section[T any](g grid.Grid, v []T) (grid.Grid, []T) {
	if g.Dim() == 2 {
		return g, v
	}
	nz := g.Shape[2]
	out := grid.Grid{Origin: []float64{g.Origin[0], g.Origin[2]}, Spacing: []float64{g.Spacing[0], g.Spacing[2]}, Shape: []int{g.Shape[0], nz}, Domain: g.Domain}
	var shown []T
	for ix := range g.Shape[0] {
		first := (ix*g.Shape[1] + g.Shape[1]/2) * nz
		shown = append(shown, v[first:first+nz]...)
	}
	return out, shown
}

// where says which section of a cube that is, "" of a line.
func where(g grid.Grid) string {
	if g.Dim() == 2 {
		return ""
	}
	return fmt.Sprintf(" at y = %s m", g.Text(1, g.Coord(1, g.Shape[1]/2)))
}

// WriteLoop writes the page of a loop, with at least one step. Gathers, velocity and image of the first and the last
// step are side by side. stopped says why the loop ended before its last update, if it did; deviation is the standard
// deviation of the velocity's logarithm at the points of the last model, or nil.
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
		{"Velocity", "velocity" + where(steps[0].Velocity.Grid), func(s LoopStep) (*picture.Figure, error) {
			g, v := section(s.Velocity.Grid, s.Velocity.Values)
			return picture.Model(g, v, picture.Options{Title: name(s), Span: span})
		}},
		{"Image", "image" + where(steps[0].Image.Grid), func(s LoopStep) (*picture.Figure, error) {
			g, v := section(s.Image.Grid, s.Image.Data)
			return picture.Image(g, v, picture.Options{Title: name(s)})
		}},
	} {
		shown := part{Title: of.title}
		for _, s := range ends {
			if err := shown.add(name(s)+": "+of.says, name(s)+": "+of.says)(of.draw(s)); err != nil {
				return err
			}
		}
		p.Parts = append(p.Parts, shown)
	}
	if deviation != nil {
		g, percent := section(ends[1].Velocity.Grid, deviation)
		percent = slices.Clone(percent)
		for i := range percent {
			percent[i] *= 100
		}
		shown := part{Title: "Deviation of the velocity"}
		says := "standard deviation of the velocity by the noise of the last picks, as if each had its own; where it is large the picks say little"
		if err := shown.add(says, says)(picture.Model(g, percent, picture.Options{Title: "deviation", Bar: "standard deviation (%)"})); err != nil {
			return err
		}
		p.Parts = append(p.Parts, shown)
	}
	var b strings.Builder
	if err := loopTemplate.Execute(&b, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err := io.WriteString(w, clean(b.String()))
	return err
}
