package moveout_test

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
)

// What is off the curve at some offsets is a shift there, and the curve is that of the others.
func TestShiftsAreOffTheCurve(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 300}, Spacing: []float64{40, 10}, Shape: []int{31, 220}}
	even := gathers(g, func(x, z float64) float64 { return 0.9 }, nil, 0.1, 0)
	moved := map[int]int{1: -2, 4: 3} // points down
	bent := *even
	bent.Panel = func(column int) ([]float32, error) {
		panel, err := even.Panel(column)
		out := append([]float32{}, panel...)
		for class, by := range moved {
			for iz := 5; iz < 215; iz++ {
				out[class*220+iz] = panel[class*220+iz-by]
			}
		}
		return out, err
	}
	o := options(100)
	picks := pick(t, &bent, o)
	if err := moveout.Shift(&bent, o, picks); err != nil {
		t.Fatal(err)
	}
	if len(picks) < 20 {
		t.Fatalf("%d picks", len(picks))
	}
	for _, p := range picks {
		for class, got := range p.Shifts {
			x := bent.Offsets[class]
			want := 10*float64(moved[class]) + moveout.Depth(p.Z, 0.9, x, 2) - p.Z - p.Moveout(x)
			if x > p.Far {
				want = 0
			}
			if reference := p.Shifts[0] - (moveout.Depth(p.Z, 0.9, 100, 2) - p.Z - p.Moveout(100)); x <= p.Far && math.Abs(got-reference-want) > 6 || x > p.Far && got != 0 {
				t.Errorf("at (%g, %g), offset %g, the shift is %.1f m, want %.1f m more than at the first offset's %.1f m", p.X, p.Z, x, got, want, reference)
			}
		}
	}
}
