package pipeline

import (
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// A sample keeps to its limits, is a piece of the image at which its traces count, and is
// everything from the middle shot on where that is little. Its traces share receivers.
func TestSample(t *testing.T) {
	s := scattered(rand.New(rand.NewPCG(1, 2)), 3, 40, 4000)
	const all = 1 << 60
	for name, c := range map[string]struct {
		aperture       []float64
		visits, points int64
		traces         [2]int
		shape          []int // at most
	}{
		"all":               {nil, all, all, [2]int{1900, 2100}, []int{100, 100, 20}},
		"few visits":        {nil, 5e7, all, [2]int{100, 400}, []int{100, 100, 20}},
		"small tables":      {nil, all, 1.3e7, [2]int{1500, 2100}, []int{50, 50, 20}},
		"a narrow piece":    {nil, 1e6, all, [2]int{32, 128}, []int{25, 25, 20}},
		"a slab at least":   {nil, 1, 1, [2]int{32, 32}, []int{16, 16, 20}},
		"aperture":          {[]float64{60}, 5e7, all, [2]int{100, 2000}, []int{100, 100, 20}},
		"aperture, a piece": {[]float64{60, 20}, 2e6, all, [2]int{32, 100}, []int{60, 60, 20}},
	} {
		p := planned(s)
		p.Geometry.Image = grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{10, 10, 10}, Shape: []int{100, 100, 20}}
		p.Times.Source = traveltime.Medium{Constant: 2000}
		p.Config.Kirchhoff.Antialias = "off"
		withAperture(p, c.aperture)
		p.Geometry.farthest = findFarthest(p.Geometry.Image, p.Geometry.Places)
		share, err := p.Geometry.Share([2]int{1, 1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		k, err := NewSample(p, share, c.visits, c.points)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		visits, points := k.Problem.Visits(), int64(k.Problem.Positions.Len()*k.Problem.Grid.Len())
		if n := k.Problem.NumTraces(); n < c.traces[0] || n > c.traces[1] || visits == 0 || c.visits > 1 && (visits > c.visits || points > c.points) {
			t.Errorf("%s: %d traces, %d visits, %d points of tables on %v", name, n, visits, points, k.Problem.Grid)
		}
		if shared := k.Problem.Positions.Len(); name == "few visits" && shared > 40 {
			t.Errorf("%s: %d places for %d traces", name, shared, k.Problem.NumTraces())
		}
		for a, most := range c.shape {
			if k.Problem.Grid.Shape[a] > most || k.Problem.Grid.Origin[a] < 0 || k.Problem.Grid.End(a) > p.Geometry.Image.End(a)+1e-9 {
				t.Errorf("%s: a sample's image is %v from %v", name, k.Problem.Grid, k.Problem.Grid.Origin)
			}
		}
	}
}
