package traveltime_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/traveltime"
)

func TestNew(t *testing.T) {
	g := square(10, 12, 8)
	constant := slices.Repeat([]float64{2000}, g.Len())
	for _, c := range []struct {
		name, want string
		spec       traveltime.Spec
	}{
		{"constant", "analytic", traveltime.Spec{Method: "analytic", Image: g, Constant: 2000}},
		{"constant model", "analytic", traveltime.Spec{Method: "analytic", Image: g, Model: g, Velocity: constant}},
		{"model", "eikonal", traveltime.Spec{Method: "eikonal", Image: g, Model: g, Velocity: linear(g)}},
		{"straight rays", "analytic", traveltime.Spec{Method: "eikonal", Image: g, Constant: 2000}},
		{"tables", "table", traveltime.Spec{Method: "table", Image: g, Tables: rows{}, TablesGrid: g}},
	} {
		m, err := traveltime.New(c.spec)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if m.Name() != c.want || !m.Grid().Equal(g) {
			t.Errorf("%s: got method %s on %v, want %s on %v", c.name, m.Name(), m.Grid(), c.want, g)
		}
	}
	for _, c := range []struct {
		want string
		spec traveltime.Spec
	}{
		{"method is \"fast\", must be", traveltime.Spec{Method: "fast", Image: g}},
		{"needs a table file", traveltime.Spec{Method: "table", Image: g}},
		{"needs a constant velocity, the model has 1500 and 1506 m/s", traveltime.Spec{Method: "analytic", Image: g, Model: g, Velocity: linear(g)}},
		{"constant velocity is 0 m/s", traveltime.Spec{Method: "analytic", Image: g}},
		{"constant velocity is -1 m/s", traveltime.Spec{Method: "eikonal", Image: g, Constant: -1}},
	} {
		if _, err := traveltime.New(c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want %q", err, c.want)
		}
	}
}
