package picture

import (
	"bytes"
	"image"
	"image/color"
	"slices"
	"testing"

	"gonum.org/v1/plot/plotter"
)

func TestHistogram(t *testing.T) {
	f, err := Histogram(-10, 5, []int{0, 3, 1}, "offset (m)", "traces", Options{Title: "offsets"})
	if err != nil {
		t.Fatal(err)
	}
	bins := f.rows[0][0].plotters[0].(*plotter.Histogram).Bins
	want := []plotter.HistogramBin{{Min: -10, Max: -5, Weight: 0}, {Min: -5, Max: 0, Weight: 3}, {Min: 0, Max: 5, Weight: 1}}
	if !slices.Equal(bins, want) {
		t.Errorf("bins %v, want %v", bins, want)
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
	img, rects := decoded(t, f)
	r := rects[0][0]
	lut := Sequential
	for i, want := range map[image.Point]color.RGBA{{X: 1, Y: 1}: lut.at(1), {X: 1, Y: 3}: lut.at(0), {X: 3, Y: 1}: lut.at(0), {X: 3, Y: 3}: lut.at(0)} {
		at := r.Min.Add(image.Pt(i.X*r.Dx()/4, i.Y*r.Dy()/4))
		if got := color.RGBAModel.Convert(img.At(at.X, at.Y)); got != want {
			t.Errorf("%v is %v, want %v: the 9 of the column's end stands at its top", i, got, want)
		}
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
