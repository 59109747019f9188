package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/png"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// shot is a picture with what stands below it.
type shot struct {
	Source        template.URL // a data URI
	Width, Height int
	Says          string
	Caption       string
}

// part is a section of the page, or a part of one, of pictures.
type part struct {
	Title         string
	Pictures      []shot
	Note, Missing string
}

// add returns what adds a figure. Numbers and grids were judged when the file was read:
// what cannot be drawn is due to the options.
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
	if r.solved() {
		return "least squares"
	}
	return "image"
}

func (r *Run) images() (out part, err error) {
	add := func(im *h5.Image, name, caption string) error {
		return out.add(name+": picture of the image", caption)(picture.Image(im.Grid, im.Data, picture.Options{Title: name, At: r.At}))
	}
	if r.Adjoint != nil {
		if err := add(r.Adjoint, "adjoint", "Plain Kirchhoff migration: "+r.AdjointFrom); err != nil {
			return out, err
		}
	} else if r.solved() {
		out.Missing = "No adjoint image to compare with: output.adjoint makes a run write it, --adjoint FILE names one, --compute computes it."
	}
	caption := "The file's image"
	if n := len(r.Image.ResidualNorm); n > 0 {
		caption = "Least squares after " + readable.Count(n-1, "iteration")
	}
	if err := add(r.Image, r.imageName(), caption+": "+r.File); err != nil {
		return out, err
	}
	out.Note = "Black is positive, white negative, grey zero. Each picture is clipped at the 99th percentile of its own amplitudes, which stands above it: the adjoint has other units than the reflectivity."
	if len(out.Pictures) == 1 {
		out.Note = "Black is positive, white negative, grey zero; the value at which colours are clipped stands above the picture."
	}
	if r.Image.Grid.Dim() == 3 {
		out.Note += " A depth slice and two vertical sections cross where the lines show; --at x,y,z moves them."
	}
	return out, nil
}

// anglesEnd reports whether the image has classes of opening angles that leave some out.
func (r *Run) anglesEnd() bool {
	l := r.ClassLimits
	return r.Classes.Name == "angle" && len(l) > 0 && (l[0] > 0 || l[len(l)-1] < 180)
}

// imageGathers draws the images by class at a few places.
func (r *Run) imageGathers() (out part, err error) {
	for _, of := range []struct {
		name    string
		gathers []picture.ImageGather
	}{{"adjoint", r.AdjointGathers}, {r.imageName(), r.ImageGathers}} {
		if len(of.gathers) == 0 {
			continue
		}
		err := out.add(of.name+": image gathers by "+r.Classes.Name, "")(
			picture.ImageGathers(r.Image.Grid, of.gathers, r.Classes, picture.Options{Title: of.name}))
		if err != nil {
			return out, err
		}
	}
	out.Note = fmt.Sprintf("Images by %s below a few points. Events that are flat from class to class say that the velocity is right; those that rise with %s that it is too low, those that sink that it is too high.",
		r.Classes.Name, r.Classes.Name)
	if l := r.ClassLimits; len(l) > 0 && (r.Classes.Name != "angle" || r.anglesEnd()) {
		out.Note += fmt.Sprintf(" The classes end at %.6g and %.6g %s; what lies beyond is not in the image.", l[0], l[len(l)-1], r.Classes.Unit)
	}
	return out, nil
}

func (r *Run) gathers(p *page) error {
	data, residual := false, false
	for _, g := range r.Gathers {
		row, err := g.draw()
		if err != nil {
			return err
		}
		p.Gathers = append(p.Gathers, row)
		data, residual = data || g.Data != nil, residual || g.Residual != nil
	}
	if data && residual {
		p.GathersNote = "Recorded traces, those that the image predicts, and the difference of the two, on one scale: what is seen on the right is noise, or waves that the operator does not explain."
	}
	if !data {
		p.NoGathers = append(p.NoGathers, "No recorded traces: the survey that the run read is not where the configuration names it; --folder DIR says which folder its paths start from.")
	}
	if !residual {
		p.NoGathers = append(p.NoGathers, "No residual traces: output.residual makes a run write them, --residual FILE names a survey file that holds them, --compute predicts the traces from the image and takes them from the recorded ones.")
	}
	return nil
}

// predicted is what the image explains of the data, nil where that is not known.
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

func (r *Run) velocity() (out part, err error) {
	m := r.Velocity
	switch {
	case m != nil:
		if err := out.add("velocity model", m.File)(picture.Model(m.Grid, m.Values, picture.Options{Title: "velocity", At: r.At})); err != nil {
			return out, err
		}
		out.Note = fmt.Sprintf("The model that the run read: %s, on %s.", r.velocityText(), m.Grid)
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
		out.Note += " Traveltimes did not come from it, but from the tables of " + r.Config.Traveltime.File.Text + "."
	}
	return out, nil
}
