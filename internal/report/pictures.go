package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/png"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// shot is a picture with the texts below it.
type shot struct {
	Source        template.URL // a data URI
	Width, Height int
	Says          string
	Caption       string
}

// part is a section of the page, or a part of one, of pictures.
type part struct {
	Title    string
	Pictures []shot
	Note     string
}

// add returns a function that adds a figure. Numbers and grids were checked when the file
// was read, so a figure that cannot be drawn is the fault of the options.
func (t *part) add(says, caption string) func(*picture.Figure, error) error {
	return func(f *picture.Figure, err error) error {
		if err != nil {
			return status.Usage(err)
		}
		var b bytes.Buffer
		picture := f.Draw()
		if err := png.Encode(&b, picture); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		t.Pictures = append(t.Pictures, shot{
			Source: template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())),
			Width:  picture.Bounds().Dx(), Height: picture.Bounds().Dy(), Says: says, Caption: caption,
		})
		return nil
	}
}

func (r *Run) imageName() string {
	if r.Solved() {
		return "least squares"
	}
	return "image"
}

func (p *page) drawImages() error {
	add := func(im *h5.Image, name, caption string) error {
		return p.Images.add(name+": picture of the image", caption)(picture.Image(im.Grid, im.Data, picture.Options{Title: name, At: p.At}))
	}
	if p.Adjoint != nil {
		if err := add(p.Adjoint, "adjoint", "Plain Kirchhoff migration: "+p.AdjointFrom); err != nil {
			return err
		}
	}
	caption := "The file's image"
	if p.Solved() {
		caption = "Least squares after " + readable.Count(p.Iterations(), "iteration")
	}
	if err := add(p.Image, p.imageName(), caption+": "+p.File); err != nil {
		return err
	}
	return p.drawFields()
}

// drawFields draws what lsm target or image.halves wrote beside the image.
func (p *page) drawFields() error {
	for _, f := range p.Fields {
		title, units, _ := h5.FieldTitle(f.Name)
		bar := title
		if units != "" {
			bar += " (" + units + ")"
		}
		err := p.Sure.add(title+": picture", "")(picture.Model(p.Image.Grid, f.Data, picture.Options{Title: title, Bar: bar, At: p.At}))
		if err != nil {
			return err
		}
	}
	return nil
}

// ClassEnds are where the first class of the image gathers begins and where the last ends.
// It is nil if nothing lies beyond them, or if they are not known.
func (r *Run) ClassEnds() []float64 {
	l := r.ClassLimits
	if len(l) == 0 {
		return nil
	}
	kind, angles := strings.CutSuffix(r.Classes.Name, " angle")
	if angles && l[0] <= 0 && l[len(l)-1] >= (config.Image{GatherAngle: kind}).LargestAngle() {
		return nil
	}
	return []float64{l[0], l[len(l)-1]}
}

// drawImageGathers draws the images by class at a few places.
func (p *page) drawImageGathers() error {
	for _, of := range []struct {
		name    string
		gathers []picture.ImageGather
	}{{"adjoint", p.AdjointGathers}, {p.imageName(), p.ImageGathers}} {
		if len(of.gathers) == 0 {
			continue
		}
		err := p.ByClass.add(of.name+": image gathers by "+p.Classes.Name, "")(
			picture.ImageGathers(p.Image.Grid, of.gathers, p.Classes, picture.Options{Title: of.name}))
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *page) drawShots() error {
	for _, g := range p.Gathers {
		shot, err := g.draw()
		if err != nil {
			return err
		}
		p.Shots = append(p.Shots, shot)
	}
	return nil
}

// predicted returns the data that the image explains, nil if they are not known.
func (g *Gather) predicted() []float32 {
	if g.Data == nil || g.Residual == nil {
		return nil
	}
	v := make([]float32, len(g.Data))
	for i := range v {
		v[i] = g.Data[i] - g.Residual[i]
	}
	return v
}

// draw draws data, prediction and residual on the scale of the data.
func (g *Gather) draw() (out part, err error) {
	out.Title = g.Name
	limit := 0.0
	for _, of := range []struct {
		name string
		v    []float32
	}{{"data", g.Data}, {"predicted", g.predicted()}, {"residual", g.Residual}} {
		if of.v == nil {
			continue
		}
		if limit == 0 {
			limit = picture.Limit(of.v, 99)
		}
		err := out.add(of.name+" of "+out.Title, "")(
			picture.Gather(of.v, picture.Times{NT: g.NT, DT: g.DT, T0: g.T0}, g.Offset, picture.Options{Title: of.name, Limit: limit}))
		if err != nil {
			return out, err
		}
	}
	if d, e := energy(g.Data), energy(g.Residual); d > 0 && g.Residual != nil {
		out.Note = fmt.Sprintf("The residual holds %s of the shot's energy.", percent(e/d))
	}
	if g.Weighted {
		out.Note = strings.TrimSpace(out.Note + " Mute and weights of the data are in these pictures and numbers, as in the solve.")
	}
	return out, nil
}

func energy(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}

// Model is a velocity model.
type Model struct {
	File   string // as the reader knows it
	Grid   grid.Grid
	Values []float64 // m/s
}

// VelocityText is the velocity in a few words, "" where it is not known.
func (r *Run) VelocityText() string {
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

func (p *page) drawVelocity() error {
	m := p.Velocity
	if m == nil {
		return nil
	}
	return p.VelocityModel.add("velocity model", m.File)(picture.Model(m.Grid, m.Values, picture.Options{Title: "velocity", At: p.At}))
}
