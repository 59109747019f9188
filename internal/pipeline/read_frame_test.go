package pipeline

import (
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Offsets and azimuths on the map do not depend on the frame that positions are in.
func TestTracesInFrames(t *testing.T) {
	t.Parallel()
	s := &survey.Survey{Dim: 3, Fixed: true, Sources: []float64{431000, 6543000, 0},
		Receivers: []float64{431000, 6543100, 5, 431100, 6543100, 0, 431300, 6543000, 0, 430900, 6543170, 0}}
	for _, azimuth := range []float64{0, 37, 127, 200, 341} {
		for _, left := range []bool{false, true} {
			in := inFrame(s, &grid.Frame{Origin: [2]float64{430000, 6542000}, Azimuth: azimuth, Left: left})
			for i := range s.NumTraces() {
				turn := math.Abs(in.Azimuth(i) - s.Azimuth(i))
				if math.Abs(in.Offset(i)-s.Offset(i)) > 1e-6 || min(turn, 180-turn) > 1e-6 {
					t.Errorf("%s: trace %d has offset %g and azimuth %g, on the map %g and %g", in.Frame, i, in.Offset(i), in.Azimuth(i), s.Offset(i), s.Azimuth(i))
				}
			}
			back := inFrame(in, nil)
			for i, v := range s.Receivers {
				if math.Abs(back.Receivers[i]-v) > 1e-6 {
					t.Errorf("%s: coordinate %d comes back as %.9g, was %.9g", in.Frame, i, back.Receivers[i], v)
				}
			}
		}
	}
}

// What rounding has moved outside a model is put on its edge; the file's own positions stay.
func TestPositionsOnTheEdge(t *testing.T) {
	t.Parallel()
	g := grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{25, 4, 5}, Shape: []int{5, 5, 3}, Frame: &grid.Frame{Azimuth: 90}}
	s := &survey.Survey{Dim: 3, Fixed: true, Frame: g.Frame, Sources: []float64{-0.7, 16.3, -1}, Receivers: []float64{100.004, 7, 3, 50, -0.5, 0}}
	in := inFrame(s, g.Frame)
	snapToEdges(in, g)
	if in.Sources[0] != 0 || in.Sources[1] != 16 || in.Sources[2] != -1 || in.Receivers[0] != 100 || in.Receivers[1] != 7 || in.Receivers[4] != -0.5 {
		t.Errorf("sources %v, receivers %v", in.Sources, in.Receivers)
	}
	if s.Sources[0] != -0.7 {
		t.Error("the survey of the file has changed")
	}
	if holdsPositions(in, g) { // 0.5 m is more than a tenth of 4 m
		t.Error("all positions count as within")
	}
}

// Headers that were read in another way than they were meant are told, if that explains all positions.
func TestOtherReadings(t *testing.T) {
	t.Parallel()
	g := grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{10, 10, 5}, Shape: []int{31, 11, 3}, Frame: &grid.Frame{Origin: [2]float64{431000, 6543000}, Azimuth: 37}}
	right := &survey.Survey{Dim: 3, Fixed: true, Frame: g.Frame, Sources: []float64{10, 20, 0, 300, 0, 0}, Receivers: []float64{0, 100, 0, 150, 50, 0}}
	onMap := inFrame(right, nil)
	for want, read := range map[string]func(e, n float64) (float64, float64){
		"":                                       func(e, n float64) (float64, float64) { return e + 5000, n },
		"with x and y of the survey exchanged":   func(e, n float64) (float64, float64) { return n, e },
		"with x and y of the survey times 0.01 ": func(e, n float64) (float64, float64) { return 100 * e, 100 * n },
		"with y alone of the survey times 10 ":   func(e, n float64) (float64, float64) { return e, n / 10 },
	} {
		if got := otherReading(inFrame(moveHorizontally(onMap, read), g.Frame), g); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
	mirrored := *g.Frame
	mirrored.Left = true
	wrong := g
	wrong.Frame = &mirrored
	if got := otherReading(inFrame(onMap, wrong.Frame), wrong); !strings.Contains(got, "with y of the model on the other side of x") {
		t.Errorf("%q", got)
	}
}
