package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// much is the share of the data's energy above which what is unexplained needs a cause.
const much = 0.25

// suspectPoints speaks up where much of the data stays unexplained and iterations are
// not what is missing.
func (r *Run) suspectPoints(v *verdict) {
	h := r.Image.ResidualNorm
	n := len(h) - 1
	first, last := h[0], h[n]
	if n < 1 || !isNorm(first) || !isNorm(last) || first == 0 {
		return
	}
	left := last / first * (last / first)
	later := left // after as many iterations again that gain as the last one did
	if fall := last / h[n-1]; fall < 1 && provenance.FromAttrs(r.Image.Attrs).Reason != string(solver.Matched) {
		later = left * math.Pow(fall, 2*float64(n))
	}
	if !(later > much) {
		return
	}
	if v.Mood == "good" {
		v.Mood = "fair"
	}
	if left < 1 {
		v.Headline += ", with " + percent(left) + " of the data's energy unexplained"
	}
	v.Points = append(v.Points, "More iterations alone will not change that: operator and data do not fit each other. Find the cause before you trust the image.")
	if r.startsWithAdjoint() && n > 1 && isNorm(h[1]) {
		after := h[1] / first * (h[1] / first)
		point := fmt.Sprintf("Compare it with the adjoint: plain migration, scaled to fit, leaves %s unexplained, and the %s after it brought that to %s.",
			percent(after), readable.Count(n-1, "iteration"), percent(left))
		if after-left < much*after {
			point += " The least-squares image explains little more than the adjoint does."
		}
		v.Points = append(v.Points, point)
	}
	v.Points = append(v.Points, r.suspects()...)
}

// startsWithAdjoint reports whether the first iterate is the adjoint image times a
// factor.
func (r *Run) startsWithAdjoint() bool {
	if r.Config == nil {
		return false
	}
	s := r.Config.Solver
	return slices.Contains([]string{"cg", "cgls", "lsqr"}, s.Method) && s.Preconditioner == "none" && !s.Start.IsSet() &&
		r.Config.Image.Gathers == "none"
}

// suspects are the usual causes of a high residual, with what the run says of each.
func (r *Run) suspects() []string {
	wavelet := "Suspect the wavelet: its band, its polarity and its time zero must be those of the data."
	amplitudes := "Suspect the amplitudes: how they fall with time and offset must be that of the operator."
	velocity := "Suspect the velocity: where it is wrong by a few per cent, traces of different offsets ask for different images."
	extent := "Suspect the image's extent: what is reflected beyond its grid, or lies outside kirchhoff.dip_limit and kirchhoff.opening_limit where they are set, stays unexplained."
	other := "Suspect what is no reflection: direct, refracted and surface waves, and noise."
	if c := r.Config; c != nil {
		if c.Kirchhoff.Dynamic {
			amplitudes += " With kirchhoff.dynamic = true the operator spreads as waves do: gain and trace balancing must be undone."
		} else {
			amplitudes += " With kirchhoff.dynamic = false it does not spread: data that fall with time need gain, or kirchhoff.dynamic = true."
		}
		if c.Data.Weights == "none" {
			amplitudes += " data.weights = \"rms\" keeps single strong traces from ruling."
		}
		if text := r.velocityText(); text != "" {
			velocity += " It is " + text + "."
		}
		if c.Image.Gathers == "none" {
			velocity += " image.gathers = \"offset\" shows it: events that are not flat."
		}
		if len(c.Data.MuteTimes) == 0 {
			other += " No mute is set (data.mute_offsets, data.mute_times): the image is asked to explain them too."
		} else {
			other += " Look in the gathers below whether the mute takes them all."
		}
	}
	if r.anglesEnd() {
		l := r.ClassLimits
		extent += fmt.Sprintf(" Opening angles below %.6g and above %.6g degrees are in no class (image.gather_ends).", l[0], l[len(l)-1])
	}
	return []string{wavelet, amplitudes, velocity, extent, other}
}
