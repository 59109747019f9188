package picture_test

import (
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

func TestSemblances(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{4, 6}}
	gammas := []float64{0.9, 1, 1.1}
	panel := picture.Panel{Name: "x = 0 m", Values: make([]float64, 18), Line: []float64{1, 1, 1, 1, 1, 1}, At: []float64{1.05}, Depth: []float64{20}}
	bare := panel
	bare.At, bare.Depth = nil, nil
	one, err := picture.Semblances(g, gammas, []picture.Panel{panel, panel}, picture.Options{Title: "t"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := picture.Semblances(g, gammas, []picture.Panel{panel, bare}, picture.Options{Title: "t"})
	if err != nil {
		t.Fatal(err)
	}
	a, b := one.Draw(), other.Draw()
	changed := 0
	for i := range a.Pix {
		if a.Pix[i] != b.Pix[i] {
			changed++
		}
	}
	if changed == 0 || changed > len(a.Pix)/1000 {
		t.Errorf("a pick changes %d of %d bytes of the picture, want a dot", changed, len(a.Pix))
	}
	short := panel
	short.Line = short.Line[1:]
	if _, err := picture.Semblances(g, gammas, []picture.Panel{short}, picture.Options{}); err == nil || !strings.Contains(err.Error(), "5 points of a line") {
		t.Errorf("a line that is too short: %v", err)
	}
	if _, err := picture.Semblances(g, gammas, nil, picture.Options{}); err == nil {
		t.Error("nothing to draw is no error")
	}
}
