package synth

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// scenario is a named case with its defaults.
type scenario struct {
	name, title string
	defaults    Options
	velocity    func(g grid.Grid) []float64
	reflect     func(g grid.Grid, v []float64) []float32
	surface     func(x float64) float64                 // z of the topography in the frame; nil: the top of the grid
	tilted      func(g grid.Grid) traveltime.Anisotropy // nil: isotropic
	interfaces  []Interface                             // that reflect by themselves; nil: the reflectivity does
}

// scenarios lists the cases. Their spreads are sized so that 20 iterations of
// the 2-D ones are a matter of seconds on a laptop.
func scenarios() []scenario {
	frame, cells := []int{301, 151}, []float64{10, 10}
	return []scenario{
		{name: "points", title: "point scatterers in a constant velocity, with analytic traveltimes", defaults: Options{
			Shape: []int{201, 101}, Spacing: cells, Geometry: Fixed, Shots: 20, ShotSpacing: 100, FirstShot: 50,
			Channels: 50, ReceiverSpacing: 40, Peak: 20, Smoothing: -1,
		}, velocity: func(g grid.Grid) []float64 { return constant(g, 2000) }, reflect: func(g grid.Grid, _ []float64) []float32 { return points(g) }},
		{name: "layers", title: "five homogeneous layers with dips up to 6 degrees", defaults: Options{
			Shape: frame, Spacing: cells, Geometry: Land, Shots: 30, ShotSpacing: 100, FirstShot: 50,
			Channels: 60, ReceiverSpacing: 25, Peak: 20, Smoothing: 80,
		}, velocity: section(dipping), reflect: Reflectivity},
		{name: "faults", title: "folded beds, thick and thin, with a graben, an unconformity and a gas lens", defaults: Options{
			Shape: frame, Spacing: cells, Geometry: Streamer, Shots: 40, ShotSpacing: 60, FirstShot: 620,
			Channels: 72, ReceiverSpacing: 20, NearOffset: 40, Peak: 20, Smoothing: 60,
		}, velocity: section(faulted), reflect: Reflectivity},
		{name: "produced", title: "faults after years of production: brine has risen in the gas lens", defaults: Options{
			Shape: frame, Spacing: cells, Geometry: Streamer, Shots: 40, ShotSpacing: 60, FirstShot: 620,
			Channels: 72, ReceiverSpacing: 20, NearOffset: 40, Peak: 20, Smoothing: 60,
		}, velocity: section(produced), reflect: Reflectivity},
		{name: "salt", title: "an overhanging salt body that shadows the beds below it", defaults: Options{
			Shape: frame, Spacing: cells, Geometry: Streamer, Shots: 40, ShotSpacing: 60, FirstShot: 620,
			Channels: 90, ReceiverSpacing: 20, NearOffset: 40, Peak: 20, Smoothing: 50,
		}, velocity: section(salted), reflect: Reflectivity},
		{name: "land", title: "a split spread that moves over hills, above folded beds and a fault", defaults: Options{
			Shape: frame, Spacing: cells, Geometry: Land, Shots: 36, ShotSpacing: 80, FirstShot: 100,
			Channels: 60, ReceiverSpacing: 20, Peak: 18, Smoothing: 60,
		}, velocity: section(hilly), reflect: Reflectivity, surface: hills},
		{name: "thrust", title: "a dipping anisotropic thrust sheet above a flat reflector", defaults: Options{
			Shape: frame, Spacing: cells, Geometry: Land, Shots: 40, ShotSpacing: 75, FirstShot: 40,
			Channels: 100, ReceiverSpacing: 20, Peak: 20, Smoothing: 50,
		}, velocity: section(thrusted), reflect: Reflectivity, tilted: sheetTilted},
		{name: "cube", title: "a faulted dome under a buried channel, in 3-D", defaults: Options{
			Shape: []int{41, 41, 41}, Spacing: []float64{15, 15, 15}, Geometry: Fixed, Shots: 4, ShotSpacing: 150, FirstShot: 75,
			Lines: 4, Channels: 10, ReceiverSpacing: 60, ReceiverLines: 10, Peak: 13, Smoothing: 60,
		}, velocity: func(g grid.Grid) []float64 { return meanSlowness(g, 3, domed) }, reflect: Reflectivity},
		{name: "ava", title: "three flat interfaces whose amplitudes change with the angle, by ray theory", defaults: Options{
			Shape: []int{121, 141}, Spacing: []float64{20, 10}, Geometry: Fixed, Shots: 31, ShotSpacing: 80,
			Channels: 121, ReceiverSpacing: 20, Peak: 25, Smoothing: -1,
		}, velocity: func(g grid.Grid) []float64 { return constant(g, 2500) }, reflect: func(g grid.Grid, _ []float64) []float32 { return intercepts(g, interfaces()) }, interfaces: interfaces()},
	}
}

func find(name string) *scenario {
	for _, s := range scenarios() {
		if s.name == name {
			return &s
		}
	}
	return nil
}

// Names lists the cases that Build knows.
func Names() []string {
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	return names
}

// Title is the one-line description of a case that Build knows.
func Title(name string) string { return find(name).title }

// Build makes the named case. An unknown name and sampling that would alias
// are errors.
func Build(name string, opt Options) (*Case, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	s := find(name)
	if s == nil {
		return nil, fmt.Errorf("synth: no case is called %q, there are %s", name, strings.Join(Names(), ", "))
	}
	all := opt.over(s.defaults)
	g := grid.Grid{Origin: make([]float64, len(all.Shape)), Spacing: all.Spacing, Shape: all.Shape}
	if len(g.Shape) != len(s.defaults.Shape) {
		return nil, fmt.Errorf("synth: %s has %d axes, shape %v has %d", name, len(s.defaults.Shape), g.Shape, len(g.Shape))
	}
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("synth: %w", err)
	}
	c := &Case{Name: name, Title: s.title, Grid: g, Velocity: s.velocity(g)}
	if s.surface != nil {
		c.Surface = profile(g, s.surface)
	}
	if s.tilted != nil {
		c.Tilted = s.tilted(g)
	}
	c.Interfaces = s.interfaces
	c.Reflectivity = s.reflect(g, c.Velocity)
	return c, c.finish(opt.over(opt.fit(s.defaults, g)), slices.Min(c.Velocity))
}

func constant(g grid.Grid, v float64) []float64 { return slices.Repeat([]float64{v}, g.Len()) }

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
