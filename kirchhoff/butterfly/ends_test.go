package butterfly

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// TestRecordEnds: parts near either end of the record keep the tolerance, though data begin and end
// abruptly.
func TestRecordEnds(t *testing.T) {
	const tolerance = 1e-3
	for _, c := range []struct {
		name string
		cut  func(p *kirchhoff.Problem)
	}{
		{"end", func(p *kirchhoff.Problem) { p.NT = 320 }},
		{"beginning", func(p *kirchhoff.Problem) { p.T0 = 0.55 }},
	} {
		p := carpet(t, 6, 25, 700, []int{32, 32, 32})
		c.cut(p)
		o, err := New(t.Context(), p, tolerance)
		if err != nil || o == nil {
			t.Fatalf("%s: nothing is factorised: %v", c.name, err)
		}
		f, err := o.Measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %+v", c.name, f)
		if !(f.Off() <= tolerance) {
			t.Errorf("%s: off by %.2e", c.name, f.Off())
		}
	}
}
