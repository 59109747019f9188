package pipeline

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/config"
)

const filterKey = "kirchhoff.wavelet_filter"

// FilterText says that recorded traces, or those of a program that does not tell how it made them,
// want another kirchhoff.wavelet_filter; "" where the traces' own settings tell.
func FilterText(p *Plan) string {
	if slices.ContainsFunc(p.Found.Made, func(s config.Setting) bool { return s.Key == filterKey }) {
		return "" // see config.Differences
	}
	three := p.Geometry.Image.Dim() == 3
	switch p.Config.Kirchhoff.WaveletFilter {
	case "off":
		if three {
			return filterKey + ` = "off": the derivative is missing, and the image of a reflector is turned by 90 degrees; recorded traces want "on"`
		}
		return filterKey + ` = "off": the half derivative is missing, and the image of a reflector is turned by 45 degrees; recorded traces want "on"`
	case "pylops":
		if three {
			return filterKey + ` = "pylops": it turns the polarity in 3-D, so that an increase of impedance is negative; recorded traces want "on"`
		}
		return filterKey + ` = "pylops": it wraps around the wavelet's ends, which changes the pulse; recorded traces want "on"`
	}
	return ""
}

// UndampedText says that a solve of recorded traces, or of those of a program that does not tell how it made them, has
// nothing to hold its iterations back; "" where it has. On surveys of make bench-wave images without damping get worse after
// eight iterations, or after four without band and weights by coherence (bench/wave/run.py --tried).
func UndampedText(p *Plan) string {
	s, most := p.Config.Solver, 3
	if s.Band && Coherent(p.Config.Data, p.Need) {
		most = 8
	}
	switch {
	case len(p.Found.Made) > 0, p.Need != NeedTraces && p.Need != NeedPlanning:
	case s.Damping > 0, s.Regularization != "none", s.Iterations <= most:
	case s.Method == "cg", s.Method == "cgls":
		return fmt.Sprintf("solver.damping = 0 with %d iterations: those after %d make the image of recorded traces worse; want 0.2, or at most %[2]d iterations", s.Iterations, most)
	}
	return ""
}

// filterFits reports whether the traces are, as far as is known, of the kirchhoff.wavelet_filter of the run.
func filterFits(p *Plan) bool {
	for _, s := range p.Found.Made {
		if s.Key == filterKey {
			return len(p.Config.Differences([]config.Setting{s})) == 0
		}
	}
	return FilterText(p) == ""
}
