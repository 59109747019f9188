package report

import (
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/io/h5"
)

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
