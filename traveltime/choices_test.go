package traveltime_test

import (
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/traveltime"
)

func TestNew(t *testing.T) {
	g := square(10, 12, 8)
	for _, c := range []struct {
		name, method, want string
		spec               traveltime.Spec
	}{
		{"constant", "analytic", "analytic", traveltime.Spec{Image: g, Medium: traveltime.Medium{Constant: 2000}}},
		{"model", "eikonal", "eikonal", traveltime.Spec{Image: g, Medium: medium(g, linear(g))}},
		{"straight rays", "eikonal", "analytic", traveltime.Spec{Image: g, Medium: traveltime.Medium{Constant: 2000}}},
		{"tables", "table", "table", traveltime.Spec{Image: g, Tables: rows{}.Row, TablesGrid: g}},
	} {
		m, err := traveltime.New(c.method, c.spec)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if m.Name() != c.want || !m.Grid().Equal(g) {
			t.Errorf("%s: got method %s on %v, want %s on %v", c.name, m.Name(), m.Grid(), c.want, g)
		}
	}
	for _, c := range []struct {
		method, want string
		spec         traveltime.Spec
	}{
		{"fast", `there is no method "fast"`, traveltime.Spec{Image: g}},
		{"table", "needs a table file", traveltime.Spec{Image: g}},
		{"analytic", "needs a constant velocity, not a model", traveltime.Spec{Image: g, Medium: medium(g, linear(g))}},
		{"analytic", "constant velocity is 0 m/s", traveltime.Spec{Image: g}},
		{"eikonal", "constant velocity is -1 m/s", traveltime.Spec{Image: g, Medium: traveltime.Medium{Constant: -1}}},
	} {
		if _, err := traveltime.New(c.method, c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want %q", err, c.want)
		}
	}
}
