package modelfile

import (
	"fmt"
	"math"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// candidate is an array of a file that may be a model.
type candidate struct {
	name  string
	shape []int64
}

// listed names arrays and their shapes.
func listed(all []candidate) string {
	if len(all) == 0 {
		return "no array of 2 or 3 axes"
	}
	var out []string
	for _, c := range all {
		out = append(out, fmt.Sprintf("%s [%s]", c.name, readable.Join("%d", ", ", c.shape)))
	}
	return strings.Join(out, ", ")
}

// velocityNames are names of arrays that hold a velocity, or what one is made of, in the order
// of preference.
var velocityNames = []string{"velocity", "vel", "vp", "v", "m", "m0"}

// propertyNames are the same for properties; theta and phi are JUDI's.
var propertyNames = map[h5.Property][]string{
	h5.Epsilon: {"epsilon"}, h5.Delta: {"delta"}, h5.Tilt: {"tilt", "theta"}, h5.Azimuth: {"azimuth", "phi"}, h5.Eta: {"eta"},
}

// arrayNames are names of arrays that hold what is read.
func (o Options) arrayNames() []string {
	if p, err := o.property(); err == nil && !o.velocity() {
		return propertyNames[p]
	}
	return velocityNames
}

// choose returns the array that the user named, or the only one, or the only one with a usual name.
func (s *Source) choose(wanted string, all []candidate, usual []string) (string, error) {
	if wanted != "" {
		return wanted, nil
	}
	var named []string
	for _, c := range all {
		for _, name := range usual {
			if strings.EqualFold(strings.TrimPrefix(c.name, "/"), name) {
				named = append(named, c.name)
			}
		}
	}
	switch {
	case len(all) == 0:
		return "", s.fault("holds %s", listed(all))
	case len(all) == 1:
		s.note("%s is the only array of 2 or 3 axes", all[0].name)
		return all[0].name, nil
	case len(named) == 1:
		s.guess("%s is taken for the model, of %s", named[0], listed(all))
		return named[0], nil
	}
	return "", s.fault("holds %s: --dataset says which is the model", listed(all))
}

// irregular is how far, in spacings, coordinates may lie off a regular axis.
const irregular = 0.01

// regular makes an axis of coordinates, which must be evenly spaced. Where "up" is positive,
// depths are their negatives.
func (s *Source) regular(a *Axis, name string, v []float64, unit, positive string) error {
	a.Unit = textUnit(unit)
	switch low := strings.ToLower(unit); {
	case strings.HasPrefix(low, "degree"):
		if len(v) > 1 {
			return s.fault("coordinates of %s are in %s: project the model onto a plane first", name, unit)
		}
	case unit != "" && a.Unit == "":
		s.guess("unit of %s is %q, which says nothing here", name, unit)
	}
	if len(v) == 0 {
		return nil
	}
	a.Origin = v[0]
	if n := len(v) - 1; n > 0 {
		a.Spacing = (v[n] - v[0]) / float64(n)
	}
	for i, x := range v {
		if want := a.Origin + float64(i)*a.Spacing; !(math.Abs(x-want) <= irregular*math.Abs(a.Spacing)+1e-6*math.Abs(x)) {
			return s.fault("coordinates of %s are not evenly spaced: number %d is %g, want %g", name, i+1, x, want)
		}
	}
	if strings.EqualFold(positive, "up") {
		a.Origin, a.Spacing = -a.Origin, -a.Spacing
		s.note("%s is positive up: depths are its negatives", name)
	}
	return nil
}

// lists takes points n (nil: not said), spacings d and origins o of the axes, the fastest first
// or the slowest, and returns which of them is of an axis.
func (s *Source) lists(n, d, o []float64, fastest bool) (at func(axis int) int, err error) {
	same := func(i int) int { return i }
	reversed := func(i int) int { return len(s.Axes) - 1 - i }
	fits := func(at func(int) int) bool {
		for i, a := range s.Axes {
			if n != nil && float64(a.N) != n[at(i)] {
				return false
			}
		}
		return true
	}
	want, other := same, reversed
	if fastest {
		want, other = reversed, same
	}
	switch {
	case len(d) != len(s.Axes) || len(o) != len(s.Axes) || n != nil && len(n) != len(s.Axes):
		return nil, s.fault("%s has %d axes, n, d and o beside it have %d, %d and %d numbers", s.Dataset, len(s.Axes), len(n), len(d), len(o))
	case !fits(want) && !fits(other):
		return nil, s.fault("n is %v, the shape of %s %s", n, s.Dataset, s.shapeText())
	case fits(want) && fits(other) && fastest:
		s.guess("n, d and o begin with the fastest axis of %s", s.Dataset)
	case fits(want) && fits(other):
		s.guess("n, d and o begin with the slowest axis of %s", s.Dataset)
	case !fits(want):
		want = other
	}
	for i := range s.Axes {
		a := &s.Axes[i]
		a.Origin, a.Spacing = o[want(i)], d[want(i)]
	}
	s.note("spacing and origin are those of d and o")
	return want, nil
}
