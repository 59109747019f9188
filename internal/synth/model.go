package synth

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Case is one synthetic survey.
type Case struct {
	Name  string
	Title string // one line for people

	Grid         grid.Grid
	Velocity     []float64             // [Grid.Len()], m/s, the true one; of P waves along the symmetry axis
	Smooth       []float64             // [Grid.Len()], m/s, to migrate with
	Tilted       traveltime.Anisotropy // beside Velocity
	SmoothTilted traveltime.Anisotropy // beside Smooth
	Reflectivity []float32             // [Grid.Len()], what the image should show
	Surface      []float64             // [nx], z of the topography, m; nil: the top of the grid

	Interfaces []Interface // whose reflections the survey holds; nil: its traces are to be modelled

	Survey *survey.Survey // geometry, sampling and wavelet; Data is nil without Interfaces

	Options Options // with every default filled in
	Config  string  // TOML; names the files below
	Readme  string  // Markdown
}

// The files that the configuration of a Case speaks of.
const (
	SurveyFile       = "survey.h5"
	ModelFile        = "model.h5"        // the smooth velocity
	TrueModelFile    = "true-model.h5"   // the true velocity
	ReflectivityFile = "reflectivity.h5" // the true image
	ConfigFile       = "config.toml"
	ImageFile        = "image.h5"
)

// FromModel lays a survey over a velocity model of one's own: v is in m/s on
// g, [nx, nz] or [nx, ny, nz]. The open choices of opt follow from the size of the model
// and its least velocity. Beside v the model may be anisotropic. The model is not
// changed. A velocity that is not positive and finite, and sampling that would alias, are
// errors.
func FromModel(g grid.Grid, v []float64, a traveltime.Anisotropy, opt Options) (*Case, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	if opt.Shape != nil || opt.Spacing != nil {
		return nil, fmt.Errorf("synth: shape and spacing follow from the model and cannot be set")
	}
	slowest, err := checkModel(g, v)
	if err != nil {
		return nil, err
	}
	opt, err = opt.onModel(g, slowest)
	if err != nil {
		return nil, err
	}
	c := &Case{Name: "model", Title: "a survey over a given velocity model", Grid: g, Velocity: v, Tilted: a}
	c.Reflectivity = Reflectivity(g, v)
	return c, c.finish(opt, slowest)
}

func checkModel(g grid.Grid, v []float64) (slowest float64, err error) {
	if err := g.Validate(); err != nil {
		return 0, fmt.Errorf("synth: %w", err)
	}
	if len(v) != g.Len() {
		return 0, fmt.Errorf("synth: %d velocities for a grid of %d points (%v)", len(v), g.Len(), g.Shape)
	}
	slowest = math.Inf(1)
	for i, x := range v {
		if !(x > 0) || math.IsInf(x, 0) {
			p := make([]float64, g.Dim())
			g.Point(p, i)
			return 0, fmt.Errorf("synth: velocity at %v m is %g m/s, must be positive and finite", p, x)
		}
		slowest = math.Min(slowest, x)
	}
	return slowest, nil
}

// onModel fits a survey to the size of a model: in 2-D a streamer half as
// long as the model with 40 shots or so, in 3-D a fixed spread.
func (o Options) onModel(g grid.Grid, slowest float64) (Options, error) {
	if g.Shape[0] < 2 || g.Shape[g.Dim()-1] < 2 {
		return o, fmt.Errorf("synth: model of %v points is too small for a survey, need at least 2 along x and z", g.Shape)
	}
	lx, h := g.End(0)-g.Origin[0], g.Spacing[0]
	geometry, lines, receiverLines, shots := Streamer, 1, 1, 40.0
	if g.Dim() == 3 {
		geometry, lines, receiverLines, shots = Fixed, 5, 10, 5
	}
	o.Geometry, o.Lines, o.ReceiverLines = cmp.Or(o.Geometry, geometry), cmp.Or(o.Lines, lines), cmp.Or(o.ReceiverLines, receiverLines)
	share, margin := 0.5, 0.02 // of the model's length: the length of a spread, the distance before the first shot
	near := 1.0                // of the usual near offset
	switch o.Geometry {
	case Fixed:
		share = 0.98
	case Land:
		near = 0
	case Streamer:
		margin = 0.2 // room for part of a spread behind the first shot
	}
	o.Peak = cmp.Or(o.Peak, highestPeak(g, slowest, o.DT))
	// Receivers close enough for waves that arrive up to 30 degrees from the
	// vertical, but from 12 to 300 to the length of a model, and 20 in 3-D.
	want := math.Max(lx/300, math.Min(lx/12, slowest/(highest*o.Peak)))
	if g.Dim() == 3 {
		want = lx / 20
	}
	step := cmp.Or(o.ReceiverSpacing, h*math.Max(1, math.Round(want/h)))
	o.CableSpacing = cmp.Or(o.CableSpacing, 2*step)
	o.NearOffset = cmp.Or(o.NearOffset, near*math.Min(2*step, lx/10))
	channels := max(1, int(share*lx/step))
	o.ReceiverSpacing = cmp.Or(o.ReceiverSpacing, o.fit(Options{ReceiverSpacing: step}, g).ReceiverSpacing)
	step, o.Channels = o.ReceiverSpacing, cmp.Or(o.Channels, channels)

	// Shots on the receivers' lattice: neighbours then share receiver places.
	first := g.Origin[0] + step*math.Ceil(margin*lx/step)
	if o.Geometry == Streamer {
		first = math.Max(first, g.Origin[0]+o.NearOffset)
	}
	o.FirstShot = cmp.Or(o.FirstShot, first)
	room := g.End(0) - step*math.Floor(0.02*lx/step) - o.FirstShot
	apart := math.Round(room / shots / step)
	if o.Shots > 1 { // as far apart as that many fit
		apart = math.Floor(room/float64(o.Shots-1)/step + 1e-9)
	}
	o.ShotSpacing = cmp.Or(o.ShotSpacing, step*math.Max(1, apart))
	o.Shots = cmp.Or(o.Shots, max(1, int(room/o.ShotSpacing+1e-9)+1))
	return o, nil
}

// finish derives what every case derives in the same way from its model: the
// smooth velocity, sampling, geometry, configuration.
func (c *Case) finish(opt Options, slowest float64) error {
	g := c.Grid
	last := g.Dim() - 1
	cell := math.Min(g.Spacing[last], g.End(last)-g.Origin[last])
	d := Options{SourceDepth: cell, ReceiverDepth: cell, Lines: 1, ReceiverLines: 1}
	if c.Surface != nil {
		d.SourceDepth, d.ReceiverDepth = 0, 0
	}
	opt = opt.over(d)
	if opt.DT == 0 {
		opt.DT = niceInterval(opt.Peak)
	}
	if opt.Smoothing == 0 {
		// Half the dominant wavelength: keeps the trend, loses the reflectors.
		opt.Smoothing = math.Round(0.5 * stat.Mean(c.Velocity, nil) / opt.Peak)
	}
	if err := checkSampling(g, slowest, opt.Peak, opt.DT); err != nil {
		return err
	}
	c.Smooth = Smooth(g, c.Velocity, opt.Smoothing)
	c.SmoothTilted = smoothTilted(g, c.Tilted, opt.Smoothing)
	s, err := lay(g, c.Surface, opt)
	if err != nil {
		return err
	}
	if opt.NT == 0 {
		n := c.samples(s, opt)
		if n > mostSamples {
			return fmt.Errorf("synth: dt of %g s makes %.3g samples a trace, at most %d", opt.DT, n, mostSamples)
		}
		opt.NT = int(n)
	}
	s.NT, s.DT = opt.NT, opt.DT
	s.Wavelet = Ricker(opt.Peak, opt.DT)
	if err := s.Validate(); err != nil {
		return fmt.Errorf("synth: %w", err)
	}
	if n := len(s.Wavelet.Samples); s.NT < n {
		return fmt.Errorf("synth: traces have %d samples, must be at least the wavelet's %d", s.NT, n)
	}
	c.Survey, c.Options = s, opt
	if c.Interfaces != nil && !opt.GeometryOnly {
		s.Data = reflections(s, c.Interfaces, c.Velocity[0], opt.Peak)
	}
	c.describe()
	return nil
}

// mostSamples of a trace without a requested length.
const mostSamples = 1_000_000

// samples is a record long enough for the slowest column's deepest point at
// the largest offset, by the hyperbola through its vertical time, and a
// wavelet's tail; rounded up to a multiple of 25.
func (c *Case) samples(s *survey.Survey, opt Options) float64 {
	g := c.Grid
	nz := g.Shape[g.Dim()-1]
	vertical := 0.0
	for at := 0; at < len(c.Smooth); at += nz {
		t := 0.0
		for _, v := range c.Smooth[at : at+nz] {
			t += 2 * g.Spacing[g.Dim()-1] / v
		}
		vertical = math.Max(vertical, t)
	}
	far := 0.0
	for i := range s.NumTraces() {
		a, b := s.Pair(i)
		far = math.Max(far, floats.Distance(s.Source(a), s.Receiver(b), 2))
	}
	record := math.Hypot(vertical, far/stat.Mean(c.Smooth, nil)) + 1.5/opt.Peak
	return 25 * math.Ceil(record/opt.DT/25)
}
