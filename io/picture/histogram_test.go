package picture

import (
	"bytes"
	"image/color"
	"testing"
)

func TestHistogram(t *testing.T) {
	f, err := Histogram(-10, 5, []int{0, 3, 1}, "offset (m)", "traces", Options{Title: "offsets"})
	if err != nil {
		t.Fatal(err)
	}
	c := f.rows[0][0].curves[0]
	wantX, wantY := []float64{-10, -10, -5, -5, 0, 0, 5, 5}, []float64{0, 0, 0, 3, 3, 1, 1, 0}
	for i := range wantX {
		if c.x[i] != wantX[i] || c.y[i] != wantY[i] {
			t.Errorf("point %d is (%g, %g), want (%g, %g)", i, c.x[i], c.y[i], wantX[i], wantY[i])
		}
	}
	var b bytes.Buffer
	if err := f.Encode(&b); err != nil || b.Len() == 0 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
	for _, bad := range [][]int{nil, {1, -1}} {
		if _, err := Histogram(0, 1, bad, "", "", Options{}); err == nil {
			t.Errorf("%v was drawn", bad)
		}
	}
}

// The corner of the greatest y is drawn at the top.
func TestCountMapIsUpright(t *testing.T) {
	f, err := CountMap([2]float64{0, 0}, [2]float64{10, 10}, [2]int{2, 2}, []int{0, 9, 0, 0}, [2]string{"x", "y"}, Options{Bar: "fold"})
	if err != nil {
		t.Fatal(err)
	}
	r := f.rows[0][0].raster
	if r.v[0] != 9 || r.v[1] != 0 || r.v[2] != 0 {
		t.Errorf("values %v, want the 9 of the column's end at its top", r.v)
	}
	if _, err := CountMap([2]float64{}, [2]float64{1, 1}, [2]int{2, 2}, []int{1}, [2]string{}, Options{}); err == nil {
		t.Error("a map of one count for four bins was drawn")
	}
}

func TestPlan(t *testing.T) {
	f, err := Plan([]float64{0, 0}, []float64{100, 0, 200, 0}, Options{Title: "places"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[color.RGBA]bool{}
	im := f.Draw()
	for i := 0; i < len(im.Pix); i += 4 {
		seen[color.RGBA{im.Pix[i], im.Pix[i+1], im.Pix[i+2], im.Pix[i+3]}] = true
	}
	if !seen[sourceColor] || !seen[receiverColor] {
		t.Error("sources or receivers are not drawn")
	}
	if _, err := Plan([]float64{1}, nil, Options{}); err == nil {
		t.Error("half a place was drawn")
	}
}
