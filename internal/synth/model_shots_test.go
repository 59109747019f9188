package synth

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// A number of shots asked for fits into the model, whatever it is.
func TestFromModelFitsTheShots(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{941, 301}}
	for _, shots := range []int{1, 2, 17, 40, 64, 90} {
		c, err := FromModel(g, constant(g, 2500), traveltime.Anisotropy{}, Options{Geometry: Streamer, Shots: shots, Channels: 96})
		if err != nil {
			t.Errorf("%d shots: %v", shots, err)
		} else if n := c.Survey.NumSources(); n != shots {
			t.Errorf("%d shots asked for, %d laid", shots, n)
		}
	}
}
