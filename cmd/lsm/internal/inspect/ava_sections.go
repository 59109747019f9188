package inspect

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// comparedColumns is about how many columns tell how alike the errors of classes are.
const comparedColumns = 200

// notNoise is a correlation of the errors of neighbouring classes that windows which overlap do not make.
const notNoise = 0.8

// normal95 is half the width of the 95 % interval of a normal error of standard deviation 1. Files have the deviations of normal errors
// with the intervals of Student's t, so that they need no degrees of freedom.
const normal95 = 1.96

// sectionNames are the datasets of sections beside /image, the intercept.
func sectionNames(terms int) []string {
	return append(append(append([]string{}, termNames[1:terms]...),
		[]string{"standard_deviation", "gradient_deviation", "curvature_deviation"}[:terms]...), "angles", "resolved")
}

// makeSections fits all reflectors and writes or draws what is found, column by column.
func (o *avaOptions) makeSections(ctx context.Context, a *cli.App, r *h5.GatherReader, file string) error {
	g := r.Grid()
	drawn := strings.EqualFold(filepath.Ext(o.output), ".png")
	if drawn && g.Dim() != 2 {
		return status.Hint(status.Usage(fmt.Errorf("ava: -o %s: a picture of sections is of a 2-D image, this one is 3-D", o.output)), "write -o X.h5, and draw that with lsm plot")
	}
	m, err := o.compareColumns(ctx, a, r)
	if err != nil {
		return err
	}
	var end func() error
	var put func(column int, values [][]float32) error
	if drawn {
		put, end = o.drawSections(g, file, a.Force)
	} else {
		w, err := o.createSections(g, file, a.Force)
		if err != nil {
			return err
		}
		defer w.Abort()
		put, end = w.put, w.Commit
	}
	stage := a.Report.Stage("sections")
	defer stage.End()
	columns := g.Len() / g.Shape[g.Dim()-1]
	stage.Total(columns, "columns")
	all, resolved := 0, 0
	for column := range columns {
		p, err := o.columnPanel(ctx, r, column)
		if err != nil {
			return err
		}
		values, n, good := p.fit(m, o.steps(g))
		if err := put(column, values); err != nil {
			return err
		}
		all, resolved = all+n, resolved+good
		stage.Add(1)
	}
	stage.End()
	if err := end(); err != nil {
		return err
	}
	a.Report.Printf("intercept and gradient told of %d of %d reflectors in %d columns; errors of neighbouring classes correlate by %.2f\n", resolved, all, columns, m.Alike)
	a.Wrote("sections", o.output, "reflectors", all, "resolved", resolved, "alike", m.Alike)
	return nil
}

// columnPanel reads the panel of a column.
func (o *avaOptions) columnPanel(ctx context.Context, r *h5.GatherReader, column int) (*panel, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return o.panel(r, func(read func(column int) ([]float32, error)) ([]float32, error) { return read(column) })
}

// compareColumns finds how alike the errors of classes are from columns over the whole image.
func (o *avaOptions) compareColumns(ctx context.Context, a *cli.App, r *h5.GatherReader) (imaging.AngleModel, error) {
	g, l := r.Grid(), imaging.NewLikeness(o.terms)
	columns := g.Len() / g.Shape[g.Dim()-1]
	for column := 0; column < columns; column += (columns + comparedColumns - 1) / comparedColumns {
		p, err := o.columnPanel(ctx, r, column)
		if err != nil {
			return imaging.AngleModel{}, err
		}
		p.compare(l, o.terms, o.steps(g))
	}
	m := l.Model()
	if m.Alike >= notNoise {
		a.Report.Warn(fmt.Sprintf("the residuals of the fits correlate from class to class by %.2f, unlike noise: a class centred at 0, for example, is too weak; --angles excludes it", m.Alike))
	}
	return m, nil
}

// fit fits all reflectors and returns the values of /image and of sectionNames at each depth: those of the nearest reflector that is
// fitted, within reach steps, or 0; and how many reflectors are fitted and resolved.
func (p *panel) fit(m imaging.AngleModel, reach float64) (values [][]float32, fitted, resolved int) {
	values = make([][]float32, 2*m.Terms+2)
	for i := range values {
		values[i] = make([]float32, p.nz)
	}
	off := make([]float64, p.nz) // how far the nearest reflector is
	for _, k := range p.gather.Peaks(p.light, int(reach)) {
		r, weights, err := p.pick(float64(k), 1, reach)
		if err != nil {
			continue // too near to an end
		}
		f, err := m.Fit(p.angles, r, weights)
		if err != nil {
			continue // too few classes
		}
		fitted++
		told := float32(0)
		if f.Resolved() {
			told, resolved = 1, resolved+1
		}
		for z := max(0, k-int(reach)); z < min(p.nz, k+int(reach)+1); z++ {
			if values[2*m.Terms][z] > 0 && math.Abs(float64(z)-r.Depth) >= off[z] {
				continue
			}
			off[z] = math.Abs(float64(z) - r.Depth)
			for i := range m.Terms {
				values[i][z], values[m.Terms+i][z] = float32(f.Value[i]), float32(f.Interval[i]/normal95)
			}
			values[2*m.Terms][z], values[2*m.Terms+1][z] = float32(f.Angles), told
		}
	}
	return values, fitted, resolved
}

// sectionWriter writes an image file of sections.
type sectionWriter struct {
	*h5.ImageWriter
	fields []*h5.Section
}

func (o *avaOptions) createSections(g grid.Grid, file string, force bool) (*sectionWriter, error) {
	attrs, err := cli.Made("ava", cli.Use("image", file))
	if err != nil {
		return nil, err
	}
	w, err := h5.CreateImage(o.output, &h5.Image{Grid: g}, h5.WriteOptions{Force: force, Attrs: attrs})
	if err != nil {
		return nil, err
	}
	s := &sectionWriter{ImageWriter: w}
	for _, name := range sectionNames(o.terms) {
		field, err := w.NewField(name)
		if err != nil {
			w.Abort()
			return nil, err
		}
		s.fields = append(s.fields, field)
	}
	return s, nil
}

func (w *sectionWriter) put(column int, values [][]float32) error {
	first := column * len(values[0])
	if err := w.WriteImage(values[0], first); err != nil {
		return err
	}
	for i, field := range w.fields {
		if err := h5.WriteAt(field, values[i+1], first); err != nil {
			return err
		}
	}
	return nil
}

// drawSections draws intercept and gradient, grey where they are not resolved.
func (o *avaOptions) drawSections(g grid.Grid, file string, force bool) (put func(column int, values [][]float32) error, end func() error) {
	var sections [2][]float32
	var grey []bool
	put = func(_ int, values [][]float32) error {
		for z, told := range values[len(values)-1] {
			grey = append(grey, told == 0)
			for i := range sections {
				sections[i] = append(sections[i], told*values[i][z])
			}
		}
		return nil
	}
	return put, func() error {
		var figures []*picture.Figure
		for i, v := range sections {
			title := fmt.Sprintf("%s: %s %c", filepath.Base(file), termNames[i], 'A'+i)
			f, err := picture.Image(g, v, picture.Options{Title: title, Colors: picture.Diverging, Grey: grey, Limit: limitOf(v, grey), Bar: termNames[i]})
			if err != nil {
				return status.Input(err)
			}
			figures = append(figures, f)
		}
		return picture.WriteFile(o.output, picture.Stack(figures...), force)
	}
}

// limitOf is the 98th percentile of the magnitudes of values that are not grey, 0 if all are grey.
func limitOf(v []float32, grey []bool) float64 {
	var shown []float32
	for i, hidden := range grey {
		if !hidden {
			shown = append(shown, v[i])
		}
	}
	if shown == nil {
		return 0
	}
	return picture.Limit(shown, 98)
}
