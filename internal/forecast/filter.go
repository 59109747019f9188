package forecast

import (
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
)

const filterKey = "kirchhoff.wavelet_filter"

// FilterText says that recorded traces, or those of a program that does not tell how it made them,
// want another kirchhoff.wavelet_filter; "" where the traces' own settings tell.
func FilterText(p *plan.Plan) string {
	if slices.ContainsFunc(p.Found.Made, func(s config.Setting) bool { return s.Key == filterKey }) {
		return "" // see config.Differences
	}
	three := p.Image.Dim() == 3
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

// FilterFits reports whether the traces are, as far as is known, of the kirchhoff.wavelet_filter of the run.
func FilterFits(p *plan.Plan) bool {
	for _, s := range p.Found.Made {
		if s.Key == filterKey {
			return len(p.Config.Differences([]config.Setting{s})) == 0
		}
	}
	return FilterText(p) == ""
}
