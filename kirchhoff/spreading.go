package kirchhoff

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// spread is the spreading that p's fields are to bring.
func spread(p *Problem) traveltime.Spreading {
	if !p.Dynamic || p.Amplitude != nil {
		return traveltime.NoSpreading
	}
	return p.Spreading
}

// takeoff reports whether p's fields are to bring take-off angles.
func takeoff(p *Problem) bool { return p.Dynamic && p.TakeoffLimit != nil }

// checkRays returns the first fault in the settings of p for its rays.
func checkRays(p *Problem) error {
	if t := p.TakeoffLimit; t != nil && (len(t) != 2 || !(t[0] >= 0) || !(t[1] > 0) || t[0] > t[1] || t[1] > 180) {
		return fmt.Errorf("kirchhoff: take-off limit is %v degrees, must be start and cut with 0 <= start <= cut <= 180", t)
	}
	if spread(p) == traveltime.PointSpreading && p.Grid.Dim() != 2 {
		return fmt.Errorf("kirchhoff: spreading of point sources in 2-D media, but the image has %d axes", p.Grid.Dim())
	}
	if (spread(p) != traveltime.NoSpreading || takeoff(p)) && !traveltime.Spreads(p.Times) {
		return fmt.Errorf("kirchhoff: traveltimes (%s) do not know how their rays spread and leave", p.Times.Name())
	}
	return nil
}

// askRays adds to the options of p's times what its weights need. Traced rays bring their own gradients,
// since there are none of times that end anywhere; of several branches the spreading says where they are.
func askRays(p *Problem, opt traveltime.Options) traveltime.Options {
	opt.Spreading, opt.Takeoff = spread(p), takeoff(p)
	opt.Gradient = traveltime.Traced(p.Times) && (p.Directed() || p.Antialias != nil)
	if p.several() && opt.Spreading == traveltime.NoSpreading {
		opt.Spreading = traveltime.RaySpreading
	}
	return opt
}

// HostAmplitudes returns a function that computes the part of an arrival's weights that a card does
// not compute itself, at the points of the window of a place. These are amplitudes with all tapers,
// but if slownesses are equal without the tapers of angles at the image point. It returns nil if the
// card computes all weights. The function may be called concurrently.
func HostAmplitudes(p *Problem) func(place int, window traveltime.Window, b traveltime.Branch) ([]float64, error) {
	if !p.Dynamic || p.Amplitude == nil && spread(p) == traveltime.NoSpreading && !takeoff(p) && !hostTapers(p) {
		return nil
	}
	w := newWeights(p)
	return func(place int, window traveltime.Window, b traveltime.Branch) ([]float64, error) {
		take := func() []float64 { return make([]float64, len(b.Time)) }
		if !hostTapers(p) {
			amp := take()
			return amp, w.spreading(amp, place, window, b)
		}
		s := newSlowness(p, take)
		err := w.fillFrom(&s, place, window, b)
		return s.amp, err
	}
}
