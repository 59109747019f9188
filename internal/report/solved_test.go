package report

import (
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Of a run whose iterations were in the image, the page says nothing of data residuals that
// nobody computed.
func TestInImage(t *testing.T) {
	r := whole(t, 8, 12)
	r.Gathers = nil
	r.Image.ResidualNorm, r.Image.GradientNorm = []float64{8000, 7000}, []float64{3e6, 6e5}
	r.Image.InImageNorm = []float64{10, 8, 5, 2}
	p, _ := write(t, r)
	for _, want := range []string{"of its start in the image, of its start gradient", "solved to 20 % of their residual", "at the start and at the end",
		"0 8000 1.000e+00 1.000e+00 1.000e+00", "2 5.000e-01", "3 7000 8.750e-01 2.000e-01 2.000e-01"} {
		if !strings.Contains(p.text, want) {
			t.Errorf("the page does not say %q: %s", want, p.text)
		}
	}
	for _, not := range []string{"The last iteration", "Suspect", "of 3 iterations"} {
		if strings.Contains(p.text, not) {
			t.Errorf("the page says %q: %s", not, p.text)
		}
	}
	if rows := r.Rows(); len(rows) != 4 || rows[1].Residual != "" || rows[2].Gradient != "" {
		t.Errorf("rows %+v", rows)
	}
	r.Image.InImageNorm = []float64{0, 0, 0, math.NaN()}
	if p, _ := write(t, r); strings.Contains(p.text, "NaN") {
		t.Errorf("the page has a number that is none: %s", p.text)
	}
}

// A target is no plain migration, and the page says what would bring what it lacks.
func TestTarget(t *testing.T) {
	field := func(r *Run, name string) h5.Field {
		return h5.Field{Name: name, Data: make([]float32, r.Image.Grid.Len())}
	}
	for _, c := range []struct {
		name   string
		fields []string
		lacks  bool
	}{
		{"all", []string{"resolution", "standard_deviation"}, false},
		{"no noise", []string{"resolution"}, true},
	} {
		r := whole(t, 8, 12)
		r.Gathers, r.Image.ResidualNorm, r.Image.GradientNorm = nil, nil, nil
		r.Image.Attrs = []h5.Attr{{Name: "program", Value: "lsm"}, {Name: "command", Value: "target"}}
		for _, name := range c.fields {
			r.Fields = append(r.Fields, field(r, name))
		}
		p, _ := write(t, r)
		if !strings.Contains(p.text, "Solved by the Hessian of the target") || !strings.Contains(p.text, "All of them count the image outside") ||
			strings.Contains(p.text, "--image or --noise of lsm target brings it") != c.lacks || strings.Contains(p.text, "Plain migration: no") {
			t.Errorf("%s: the page says %s", c.name, p.text)
		}
	}
}
