package h5

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// A frame comes back from surveys, models and images, once and to the bit. Files without one have no
// attribute of it. What makes no frame is refused by its name.
func TestFramesInFiles(t *testing.T) {
	t.Parallel()
	f := &grid.Frame{Origin: [2]float64{431000.01, 6543000.02}, Azimuth: 292.5, Left: true,
		Lines: grid.Lines{Inline: 100, InlineStep: -25, Crossline: 1000.5, CrosslineStep: 6.25}}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	s := &survey.Survey{Dim: 3, Fixed: true, Sources: []float64{1, 2, 3}, Receivers: []float64{4, 5, 6}, NT: 10, DT: 0.004,
		Wavelet: survey.Wavelet{Samples: []float64{1}, DT: 0.004}}
	g := grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{10, 10, 10}, Shape: []int{2, 2, 2}}
	for name, frame := range map[string]*grid.Frame{"with": f, "without": nil} {
		s.Frame, g.Frame = frame, frame
		old := frameAttrs(&grid.Frame{Azimuth: 1}) // of a file that is handed on
		for kind, err := range map[string]error{
			"survey": WriteSurvey(in(name+"survey"), s, WriteOptions{Attrs: append(old, Attr{"other", "stays"})}),
			"model":  WriteModel(in(name+"model"), g, slices.Repeat([]float32{2000}, 8), WriteOptions{}),
			"image":  WriteImage(in(name+"image"), &Image{Grid: g, Data: make([]float32, 8)}, WriteOptions{}),
		} {
			if err != nil {
				t.Fatal(kind, err)
			}
			got, err := ReadFrame(in(name + kind))
			if err != nil || (got == nil) != (frame == nil) || got != nil && *got != *f {
				t.Errorf("%s %s: %+v, %v", kind, name, got, err)
			}
		}
		if read, _, err := ReadSurveyHeader(in(name + "survey")); err != nil || !read.Frame.Equal(frame) {
			t.Errorf("survey %s: %+v, %v", name, read, err)
		}
	}
	for want, attrs := range map[string][]Attr{
		"frame_azimuth: attribute is missing":                 {{frameOrigin, []float64{1, 2}}},
		"frame_origin: attribute is missing":                  {{frameAzimuth, 30.0}},
		`frame_handed: is "up", want right or left`:           {{frameOrigin, []float64{1, 2}}, {frameAzimuth, 30.0}, {frameHanded, "up"}},
		"azimuth of x is 400 degrees, must be from 0 to less": {{frameOrigin, []float64{1, 2}}, {frameAzimuth, 400.0}},
	} {
		w, err := Create(in("bad"), FormatModel, WriteOptions{Force: true, Attrs: attrs})
		if err == nil {
			g.Frame = nil
			err = Write(w, "/velocity", g.Shape, slices.Repeat([]float32{2000}, 8), gridAttrs(g)...)
		}
		if err == nil {
			err = w.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadModel(in("bad")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
