package pipeline

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Geometry says where everything lies: the traces, the image, and which of them meet.
type Geometry struct {
	Survey   *survey.Survey    // the traces that are used, without samples
	Places   *survey.Positions // their distinct places
	Image    grid.Grid
	Surface  *Surface // topography; nil: none that cuts the image
	Shots    Shots    // in which traces are dealt to ranks
	Aperture Aperture

	windows  []traveltime.Window // of each place, with an aperture; see kirchhoff.Problem.Windows
	spacing  []float64           // m, of kirchhoff.antialias_spacing by axis; nil: measured
	measured func() []float64    // spacing of the traces, measured once
	farthest func() [2]float64   // see kirchhoff.MaxDistance; found once
}

// Aperture is how far from a trace's midpoint the trace counts, in m, by horizontal axis. The zero
// Aperture has no limit.
type Aperture struct {
	Half, Taper []float64
	Margin      float64 // by which the windows of traveltimes are wider
}

// NewGeometry places the image and the traces of a configuration. It returns an error where they do
// not fit together.
func NewGeometry(cfg *config.Config, in *Inputs) (*Geometry, error) {
	g := &Geometry{
		Survey: in.Survey, Places: in.Places, Shots: newShots(in.Places),
		measured: sync.OnceValue(func() []float64 { return traceSpacing(in.Survey) }),
	}
	var err error
	if g.Image, err = placeImage(cfg, in); err != nil {
		return nil, err
	}
	if err := checkAxes(cfg, g.Image.Dim()); err != nil {
		return nil, err
	}
	if g.Surface, err = findSurface(cfg.Image, g.Image, in); err != nil {
		return nil, err
	}
	g.Aperture = newAperture(cfg, g.Image.Dim())
	if g.Aperture.Half != nil {
		g.Shots = g.Shots.orderAlong(g.Places, g.Aperture.Half[0])
	}
	if given := cfg.Kirchhoff.AliasSpacing; len(given) > 0 {
		g.spacing = perAxis(given, g.Image.Dim()-1)
	}
	g.farthest = findFarthest(g.Image, g.Places)
	g.findWindows()
	return g, nil
}

// placeImage takes the image's grid from the configuration, if it gives one, or else from
// the first velocity model. With constant velocities the configuration always gives a valid
// grid.
func placeImage(cfg *config.Config, in *Inputs) (image grid.Grid, err error) {
	c := cfg.Image
	if c.IsSet() {
		image = c.Grid()
		if image.Dim() != in.Survey.Dim {
			return image, status.Usage(fmt.Errorf("image: shape %v has %d axes, the survey's positions have %d columns", c.Shape, image.Dim(), in.Survey.Dim))
		}
	} else {
		for _, m := range in.media(cfg.Velocity.Converted()) {
			if image.Shape == nil {
				image = m.Grid
			}
		}
	}
	if image.Dim() == 3 {
		image.Frame = in.Survey.Frame // a 3-D survey has the model's frame
	}
	return image, checkImage(cfg, in, image)
}

// checkImage makes sure that the image lies in the models, and that its axis of two-way time can be one.
func checkImage(cfg *config.Config, in *Inputs, image grid.Grid) error {
	for _, m := range in.media(cfg.Velocity.Converted()) {
		if !m.IsConstant() && !image.Inside(m.Grid) {
			err := status.Usage(fmt.Errorf("image: %s reaches outside the velocity model, %s", ExtentText(image), ExtentText(m.Grid)))
			return status.Hint(err, "choose image.origin and image.shape within the model, or make a larger one (lsm velocity --margin, --depth)")
		}
	}
	last := image.Dim() - 1
	if image.Domain != grid.Time {
		return nil
	}
	if first := image.Origin[last]; first < 0 {
		return status.Usage(fmt.Errorf("image.origin: two-way time starts at %g s, must be 0 s or later", first))
	}
	if h := image.Spacing[last]; h > longestInterval && cfg.Survey.Units == "auto" {
		err := status.Usage(fmt.Errorf("image.spacing: %g s of two-way time, above %g s: looks like ms", h, longestInterval))
		return status.Hint(err, `survey.units = "si" takes it as it stands`)
	}
	return nil
}

// checkAxes makes sure that keys with a value for each axis of the image have as many as it has.
func checkAxes(cfg *config.Config, dim int) error {
	for key, given := range map[string][]float64{"kirchhoff.antialias_spacing": cfg.Kirchhoff.AliasSpacing, "kirchhoff.aperture": cfg.Kirchhoff.Aperture} {
		if len(given) > dim-1 {
			return status.Usage(fmt.Errorf("%s: %v m has %d values, a 2-D image has 1 horizontal axis", key, given, len(given)))
		}
	}
	if n := len(cfg.Output.PSFSpacing); n > 0 && n != dim {
		return status.Usage(fmt.Errorf("output.psf_spacing: %s, the image has %d axes", readable.Count(n, "value"), dim))
	}
	return nil
}

// newAperture returns the aperture of [kirchhoff] for an image of dim axes.
func newAperture(cfg *config.Config, dim int) (a Aperture) {
	c := cfg.Kirchhoff
	if len(c.Aperture) == 0 {
		return a
	}
	a.Half = perAxis(c.Aperture, dim-1)
	for _, half := range a.Half {
		taper := half / 10
		if len(c.ApertureTaper) > 0 {
			taper = min(half, c.ApertureTaper[0])
		}
		a.Taper = append(a.Taper, taper)
	}
	a.Margin = slices.Max(a.Half) / 2
	if m := cfg.Traveltime.Margin; len(m) > 0 {
		a.Margin = m[0]
	}
	return a
}

// perAxis gives each of n axes its value, the last one of those given where there are fewer.
func perAxis(given []float64, n int) []float64 {
	out := make([]float64, n)
	for axis := range out {
		out[axis] = given[min(axis, len(given)-1)]
	}
	return out
}

// setAperture sets the aperture of an operator.
func (g *Geometry) setAperture(k *kirchhoff.Problem) {
	k.Aperture, k.ApertureTaper, k.Margin = g.Aperture.Half, g.Aperture.Taper, g.Aperture.Margin
}

// findWindows finds the windows of all places of the survey. Traveltimes depend on them,
// so they must not depend on how traces are dealt to ranks.
func (g *Geometry) findWindows() {
	k := &kirchhoff.Problem{Grid: g.Image, Positions: g.Places}
	g.setAperture(k)
	g.windows = k.Windows()
}

// findFarthest makes the function that finds the largest distances of a survey.
func findFarthest(image grid.Grid, places *survey.Positions) func() [2]float64 {
	return sync.OnceValue(func() (most [2]float64) {
		most[0], most[1] = kirchhoff.MaxDistance(image, places)
		return most
	})
}

// FindMissed returns the number of traces that count at no point of the image, and the
// number of the image's columns of points at which no trace counts.
func (g *Geometry) FindMissed() (traces, columns int) {
	k := &kirchhoff.Problem{Grid: g.Image, Positions: g.Places}
	g.setAperture(k)
	return k.Missed()
}

// TimesNeeded lists the places of the whole survey that some trace uses where it may count,
// and says how the given number of threads solve their traveltimes. Without an aperture there are no windows.
func (g *Geometry) TimesNeeded(threads int) ([]int, traveltime.Options) {
	k := &kirchhoff.Problem{Grid: g.Image, Positions: g.Places, AllWindows: g.windows, Threads: threads}
	g.setAperture(k)
	return k.TimesNeeded()
}

// AliasSpacing returns the distance, in m, between neighbouring traces along each
// horizontal axis, over which anti-aliasing smooths them. It is
// kirchhoff.antialias_spacing if that is set, or else is measured from the survey.
func (g *Geometry) AliasSpacing() []float64 {
	if g.spacing != nil {
		return g.spacing
	}
	return g.measured()
}

// RecordEnd is the time of the last sample of the traces, s.
func (g *Geometry) RecordEnd() float64 {
	return g.Survey.T0 + float64(g.Survey.NT-1)*g.Survey.DT
}

// DataShape is [ns, nr, nt] for a fixed spread, [ntrace, nt] otherwise; traces lie shot
// by shot.
func (g *Geometry) DataShape() []int {
	if s := g.Survey; s.Fixed && g.Shots.order == nil && g.Shots.Traces() == s.NumTraces() {
		return []int{s.NumSources(), s.NumReceivers(), s.NT}
	}
	return []int{g.Shots.Traces(), g.Survey.NT}
}

// Points is the number of image points that a share holds, Reached of those that it maps.
func (g *Geometry) Points(s *Share) int  { return (s.Own[1] - s.Own[0]) * g.Plane() }
func (g *Geometry) Reached(s *Share) int { return (s.Slab[1] - s.Slab[0]) * g.Plane() }

// Plane is the number of image points with one x.
func (g *Geometry) Plane() int { return g.Image.Len() / g.Image.Shape[0] }

// Pair is a trace and an image point, given by positions.
type Pair struct {
	Source, Receiver []float64 // m
	X                []float64 // m
}

// SamplePairs yields pairs of a trace and an image point. They are spread evenly over all
// traces and the image, by a sequence (Roberts 2018, R_d) that depends only on the problem.
// A pair is valid until the next one.
func (g *Geometry) SamplePairs() iter.Seq[Pair] {
	const pairs = 1 << 16
	image, s := g.Image, g.Survey
	numbers := image.Dim() + 1 // that make a pair
	root := 2.0                // of x^(numbers + 1) = x + 1, by repeated roots
	for range 60 {
		root = math.Pow(1+root, 1/float64(numbers+1))
	}
	return func(yield func(Pair) bool) {
		q := Pair{X: make([]float64, image.Dim())}
		for i := range pairs {
			draw := func(number, n int) int {
				_, f := math.Modf(0.5 + float64(i)*math.Pow(root, -float64(number)))
				return min(n-1, int(f*float64(n)))
			}
			for a, n := range image.Shape {
				q.X[a] = image.Coord(a, draw(a+1, n))
			}
			source, receiver := s.Pair(draw(numbers, s.NumTraces()))
			q.Source, q.Receiver = s.Source(source), s.Receiver(receiver)
			if !yield(q) {
				return
			}
		}
	}
}
