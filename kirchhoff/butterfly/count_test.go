package butterfly

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// TestCount: a dense survey takes about one operation for a pair of a trace and a point.
func TestCount(t *testing.T) {
	p := carpet(t, 16, 25, 1000, []int{64, 64, 64})
	var err error
	if p.Finer, p.Curve, err = kirchhoff.FinerFor(p, 1e-2); err != nil {
		t.Fatal(err)
	}
	o, err := NewPart(t.Context(), p, NewClusters(p, 1e-2, Use{Kernels: "avx512"}), 1e-2, alone)
	if err != nil {
		t.Fatal(err)
	}
	c, pairs := o.Count(), float64(p.NumTraces())*float64(p.ImageLen())
	t.Logf("%.3g pairs: %.3g flop in products, %.3g in transforms, %.3g in interpolation, %.3g bytes", pairs, c.Products, c.Transforms, c.Interpolated, c.Bytes)
	if n := float64(o.Triples()); n < 0.5*pairs || c.Flop() > 1.5*n {
		t.Errorf("%.3g flop for %d of %.3g pairs", c.Flop(), o.Triples(), pairs)
	}
}
