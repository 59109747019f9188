package midpoint

import (
	"fmt"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
)

// WritePicks writes picks as text, a line each below one with the names.
func WritePicks(path string, picks []Pick, force bool) error {
	text := &strings.Builder{}
	text.WriteString("x_m,t_s,v_m_per_s,semblance,width_m_per_s,certainty\n")
	for _, p := range picks {
		fmt.Fprintf(text, "%.8g,%.6g,%.6g,%.3g,%.4g,%.3g\n", p.X, p.Time, p.Velocity, p.Semblance, p.Width, p.Certainty)
	}
	return plainfile.Write(path, []byte(text.String()), force)
}

// ReadPicks reads what WritePicks writes. A line may end after the velocity: its pick is certain, as by hand.
func ReadPicks(path string) (picks []Pick, err error) {
	rows, err := plainfile.ReadRows(path)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		v := r.Values
		if len(v) != 3 && len(v) != 6 {
			return nil, fmt.Errorf("%s: line %d has %d numbers, want x, time and velocity, or with semblance, width and certainty 6", path, r.Line, len(v))
		}
		p := Pick{X: v[0], Time: v[1], Velocity: v[2], Certainty: 1}
		if len(v) == 6 {
			p.Semblance, p.Width, p.Certainty = v[3], v[4], v[5]
		}
		if p.Time < 0 {
			return nil, fmt.Errorf("%s: line %d: time is %g s, must be at least 0", path, r.Line, p.Time)
		}
		if err := velocity.Plausible(p.Velocity, p.Velocity); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, r.Line, err)
		}
		if !(p.Certainty > 0 && p.Certainty <= 1) {
			return nil, fmt.Errorf("%s: line %d: certainty is %g, must be above 0 and at most 1", path, r.Line, p.Certainty)
		}
		picks = append(picks, p)
	}
	return picks, nil
}
