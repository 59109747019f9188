package report

import (
	"bytes"
	"encoding/xml"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// The page of a loop tells each loop, is XML, and does not take the word of a name for markup.
func TestLoopPage(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{12, 8}}
	v, image := make([]float64, g.Len()), make([]float32, g.Len())
	for i := range v {
		v[i], image[i] = 2000+float64(i), float32(i%5)-2
	}
	figure, err := picture.Model(g, v, picture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var steps []LoopStep
	for i := range 3 {
		steps = append(steps, LoopStep{Number: i, Picks: 10 + i, Residual: "4.5 m", Gamma: 0.01, Relative: 0.02,
			Velocity: &Model{Grid: g, Values: v}, Image: &h5.Image{Grid: g, Data: image}, Gathers: figure, Semblance: figure})
	}
	var page bytes.Buffer
	if err := WriteLoop(&page, "<b>line</b>", "picks say no more", slices.Repeat([]float64{0.02}, len(steps[0].Velocity.Values)), steps); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, want := range []string{"<td>11</td>", "4.5 m", "2 % rms", "as configured", "&lt;b&gt;line", "loop 2: velocity", "Ended early: picks say no more", "standard deviation of the velocity"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(text, "data:image/png"); n != 9 {
		t.Errorf("%d pictures, want 9", n)
	}
	pictures := regexp.MustCompile(`data:image/png[^"]*`)
	before := pictures.FindAllString(text, -1)
	steps[2].Velocity = &Model{Grid: g, Values: make([]float64, g.Len())}
	for i := range v {
		steps[2].Velocity.Values[i] = 2 * v[i]
	}
	page.Reset()
	if err := WriteLoop(&page, "line", "", nil, steps); err != nil {
		t.Fatal(err)
	}
	if after := pictures.FindAllString(page.String(), -1); after[4] == before[4] {
		t.Error("the first velocity is drawn on a scale of its own")
	}
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = true
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// Of a cube the page shows the sections through the middle of y, and says where that is.
func TestLoopPageOfACube(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 100, 0}, Spacing: []float64{10, 20, 10}, Shape: []int{12, 5, 8}}
	v, image := make([]float64, g.Len()), make([]float32, g.Len())
	for i := range v {
		v[i], image[i] = 2000+float64(i), float32(i%5)-2
	}
	flat, shown := section(g, v)
	if flat.Len() != 96 || shown[0] != 2000+2*8 || shown[95] != 2000+11*40+2*8+7 {
		t.Errorf("a section of %v begins with %g and ends with %g", flat, shown[0], shown[len(shown)-1])
	}
	figure, err := picture.Model(flat, shown, picture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	step := LoopStep{Residual: "4.5 m", Velocity: &Model{Grid: g, Values: v}, Image: &h5.Image{Grid: g, Data: image}, Gathers: figure, Semblance: figure}
	var page bytes.Buffer
	if err := WriteLoop(&page, "cube", "", slices.Repeat([]float64{0.02}, g.Len()), []LoopStep{step, step}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"velocity at y = 140 m", "image at y = 140 m"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
