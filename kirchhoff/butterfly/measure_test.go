package butterfly

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// TestMeasure: the error that a sample shows is within the tolerance and near that of all parts, and
// weights that are off show in both directions.
func TestMeasure(t *testing.T) {
	p := carpet(t, 10, 25, 700, []int{64, 32, 32})
	for _, tolerance := range []float64{1e-2, 1e-3} {
		q := *p
		var err error
		if q.Finer, q.Curve, err = kirchhoff.FinerFor(p, tolerance); err != nil {
			t.Fatal(err)
		}
		o, err := New(t.Context(), &q, tolerance)
		if err != nil {
			t.Fatal(err)
		}
		f, err := o.Measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("tolerance %g: %+v", tolerance, f)
		if f.Parts != 2 || min(f.Forward, f.Adjoint) < tolerance/50 || !(f.Off() <= tolerance) || f.Worst < f.Off() {
			t.Errorf("tolerance %g: %+v", tolerance, f)
		}
		for _, list := range o.have[rows] {
			for _, s := range list {
				if s == nil {
					continue
				}
				for i := range s.weights {
					s.weights[i] *= 1 + 2*float32(tolerance)
				}
			}
		}
		if f, err = o.Measure(t.Context()); err != nil {
			t.Fatal(err)
		}
		if min(f.Forward, f.Adjoint) <= tolerance {
			t.Errorf("tolerance %g: weights that are off do not show: %+v", tolerance, f)
		}
	}
}
