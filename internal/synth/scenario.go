package synth

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// scenario is a named case with its defaults.
type scenario struct {
	name, title string
	defaults    Options
	velocity    func(g grid.Grid) []float64
	reflect     func(g grid.Grid, v []float64) []float32
	surface     func(x float64) float64 // z of the topography in the frame; nil: the top of the grid
}

// scenarios lists the cases. Their spreads are sized so that 20 iterations of
// the 2-D ones are a matter of seconds on a laptop.
func scenarios() []scenario {
	of := func(f func(x, z float64) float64) func(grid.Grid) []float64 {
		return func(g grid.Grid) []float64 { return section(g, f) }
	}
	return []scenario{
		{
			name: "points", title: "point scatterers in a constant velocity, with analytic traveltimes",
			defaults: Options{
				Shape: []int{201, 101}, Spacing: []float64{10, 10},
				Geometry: Fixed, Shots: 20, ShotSpacing: 100, FirstShot: 50,
				Channels: 50, ReceiverSpacing: 40, Peak: 20, Smoothing: -1,
			},
			velocity: func(g grid.Grid) []float64 { return constant(g, 2000) },
			reflect:  func(g grid.Grid, _ []float64) []float32 { return points(g) },
		},
		{
			name: "layers", title: "five homogeneous layers with dips up to 6 degrees",
			defaults: Options{
				Shape: []int{301, 151}, Spacing: []float64{10, 10},
				Geometry: Land, Shots: 30, ShotSpacing: 100, FirstShot: 50,
				Channels: 60, ReceiverSpacing: 25, Peak: 20, Smoothing: 80,
			},
			velocity: of(dipping), reflect: Reflectivity,
		},
		{
			name: "faults", title: "folded beds, thick and thin, with a graben, an unconformity and a gas lens",
			defaults: Options{
				Shape: []int{301, 151}, Spacing: []float64{10, 10},
				Geometry: Streamer, Shots: 40, ShotSpacing: 60, FirstShot: 620,
				Channels: 72, ReceiverSpacing: 20, NearOffset: 40, Peak: 20, Smoothing: 60,
			},
			velocity: of(faulted), reflect: Reflectivity,
		},
		{
			name: "salt", title: "an overhanging salt body that shadows the beds below it",
			defaults: Options{
				Shape: []int{301, 151}, Spacing: []float64{10, 10},
				Geometry: Streamer, Shots: 40, ShotSpacing: 60, FirstShot: 620,
				Channels: 90, ReceiverSpacing: 20, NearOffset: 40, Peak: 20, Smoothing: 50,
			},
			velocity: of(salted), reflect: Reflectivity,
		},
		{
			name: "land", title: "a split spread that moves over hills, above folded beds and a fault",
			defaults: Options{
				Shape: []int{301, 151}, Spacing: []float64{10, 10},
				Geometry: Land, Shots: 36, ShotSpacing: 80, FirstShot: 100,
				Channels: 60, ReceiverSpacing: 20, Peak: 18, Smoothing: 60,
			},
			velocity: of(hilly), reflect: Reflectivity, surface: hills,
		},
		{
			name: "cube", title: "a faulted dome under a buried channel, in 3-D",
			defaults: Options{
				Shape: []int{41, 41, 41}, Spacing: []float64{15, 15, 15},
				Geometry: Fixed, Shots: 4, ShotSpacing: 150, FirstShot: 75, Lines: 4,
				Channels: 10, ReceiverSpacing: 60, ReceiverLines: 10, Peak: 13, Smoothing: 60,
				Iterations: 10,
			},
			velocity: cube, reflect: Reflectivity,
		},
	}
}

// Names lists the cases that Build knows.
func Names() []string {
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	return names
}

// Title is the one-line description of a case, "" for an unknown one.
func Title(name string) string {
	for _, s := range scenarios() {
		if s.name == name {
			return s.title
		}
	}
	return ""
}

// Build makes the named case. An unknown name and sampling that would alias
// are errors.
func Build(name string, opt Options) (*Case, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	for _, s := range scenarios() {
		if s.name != name {
			continue
		}
		asked := opt
		opt = opt.over(s.defaults)
		g := grid.Grid{Origin: make([]float64, len(opt.Shape)), Spacing: opt.Spacing, Shape: opt.Shape}
		if len(opt.Shape) != len(s.defaults.Shape) {
			return nil, fmt.Errorf("synth: %s has %d axes, shape %v has %d", name, len(s.defaults.Shape), opt.Shape, len(opt.Shape))
		}
		if err := g.Validate(); err != nil {
			return nil, fmt.Errorf("synth: %w", err)
		}
		opt = asked.over(asked.fit(s.defaults, g))
		c := &Case{Name: name, Title: s.title, Grid: g, Velocity: s.velocity(g)}
		if s.surface != nil {
			c.Surface = profile(g, s.surface)
		}
		slowest, err := checkModel(g, c.Velocity)
		if err != nil {
			return nil, err
		}
		c.Reflectivity = s.reflect(g, c.Velocity)
		return c, c.finish(opt, slowest)
	}
	return nil, fmt.Errorf("synth: no case is called %q, there are %s", name, list(Names()))
}

func constant(g grid.Grid, v float64) []float64 {
	out := make([]float64, g.Len())
	for i := range out {
		out[i] = v
	}
	return out
}

// points is a net of five by three scatterers of amplitude 1, each alone in its
// cell.
func points(g grid.Grid) []float32 {
	r := make([]float32, g.Len())
	nx, nz := g.Shape[0], g.Shape[1]
	for i := 1; i <= 5; i++ {
		for k := 1; k <= 3; k++ {
			r[i*(nx-1)/6*nz+k*(nz-1)/4] = 1
		}
	}
	return r
}
