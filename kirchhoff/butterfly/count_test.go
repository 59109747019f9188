package butterfly

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// TestCount: what is counted is what parts were chosen by, and above it the gain that they must bring.
func TestCount(t *testing.T) {
	p := carpet(t, 8, 25, 1000, []int{48, 32, 32})
	var err error
	if p.Finer, err = kirchhoff.FinerFor(p, 1e-2); err != nil {
		t.Fatal(err)
	}
	o, err := New(t.Context(), p, 1e-2)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for i, list := range o.parts {
		for _, part := range list {
			b := o.blocks[part.number]
			want += o.band.cost(part, o.windows[i], o.at(sources, b, i), o.at(receivers, b, i), o.sources(b), b.width)
		}
	}
	c := o.Count()
	t.Logf("%.3g flop in products, %.3g in transforms, %.3g in interpolation, %.3g bytes; direct %.3g flop", c.Products, c.Transforms, c.Interpolated, c.Bytes, c.Direct)
	if math.Abs(c.Flop()/want-1) > 1e-12 || c.Flop()*gain >= c.Direct {
		t.Errorf("%.6g flop, want %.6g, of %.6g", c.Flop(), want, c.Direct)
	}
}
