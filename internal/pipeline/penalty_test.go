package pipeline

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// scaled is the line with its wavelet multiplied, and so the operator.
func scaled(t *testing.T, factor float64) *problem {
	p := line(t)
	s := *p.survey
	s.Wavelet.Samples = append([]float64{}, s.Wavelet.Samples...)
	for i := range s.Wavelet.Samples {
		s.Wavelet.Samples[i] *= factor
	}
	p.record(t, &s)
	return p
}

// A relative weight does to an operator a thousand times as large what it does to the
// operator itself; an absolute one does not.
func TestRelativeDampingScales(t *testing.T) {
	const factor = 1024
	for _, c := range []struct {
		set  []string
		same bool
	}{
		{[]string{"solver.damping=0.3", "solver.penalty_scale=relative"}, true},
		{[]string{"solver.damping=0.3"}, false},
	} {
		a, b := line(t).solve(t, "cpu", c.set...), scaled(t, factor).solve(t, "cpu", c.set...)
		apart := 0.0
		for i, v := range a.Image {
			apart = max(apart, math.Abs(float64(v)-factor*float64(b.Image[i])))
		}
		apart /= float64(survey.Peak(a.Image))
		if c.same != (apart < 1e-4) {
			t.Errorf("%v: images differ by %.2g of the largest value, same: %v", c.set, apart, c.same)
		}
	}
}

// A relative weight is an absolute one times the scale that the run and lsm check tell.
func TestDampingText(t *testing.T) {
	p := line(t)
	j, op := p.ready(t, "cpu", "solver.damping=0.3", "solver.penalty_scale=relative")
	text, err := j.op.DampingText(context.Background())
	must(t, err)
	var weight, scale float64
	if _, err := fmt.Sscanf(text, "damping: weight %g, 0.3 times the largest singular value of the operator, about %g", &weight, &scale); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if !(math.Abs(weight-0.3*scale) < 1e-3*weight) {
		t.Errorf("%q: %g is not 0.3 of %g", text, weight, scale)
	}
	a, b := p.solve(t, "cpu", "solver.damping=0.3", "solver.penalty_scale=relative"), p.solve(t, "cpu", fmt.Sprintf("solver.damping=%g", weight))
	for i, v := range a.Image {
		if d := math.Abs(float64(v - b.Image[i])); d > 1e-2*float64(survey.Peak(a.Image)) {
			t.Fatalf("point %d is %g and %g", i, v, b.Image[i])
		}
	}

	var out strings.Builder
	j = p.open(t, NeedTraces, progress.New(progress.Options{Out: &out, Err: &out}), "cpu", "solver.damping=7")
	op, err = j.Build(t.Context())
	must(t, err)
	_, err = j.solve(t.Context(), op, false)
	must(t, err)
	if want := `damping: weight 7, absolute; it counts beside the largest singular value of the operator, which lsm check --dot-test shows; solver.penalty_scale = "relative" measures by it`; !strings.Contains(out.String(), want) {
		t.Errorf("printed %s; want %s", &out, want)
	}
	j, op = p.ready(t, "cpu", "solver.damping=7")
	text, err = j.op.DampingText(t.Context())
	must(t, err)
	if !strings.Contains(text, "times the largest singular value of the operator, about") || !strings.Contains(text, "1 % of it would be") {
		t.Errorf("text %q", text)
	}
}
