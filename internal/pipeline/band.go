package pipeline

import (
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Banded reports whether the image of a solve is brought into the wavelet's band. A column of one point has none.
func Banded(p *Plan) bool { return p.Config.Solver.Band && p.Image.Shape[p.Image.Dim()-1] > 1 }

// Pulse is that of solver.band: the recorded wavelet's band with zero phase.
func Pulse(p *Plan) imaging.Pulse {
	w := p.Inputs.Survey.Wavelet
	return imaging.ZeroPhase(w.Samples, w.DT, BandOf(w).High)
}

// VerticalTimes are the two-way times, in s, from the top of the image to the points of a slab of its first
// axis, straight down through the medium of one leg and up through that of the other: [column][depth].
// read returns the two media, of which the second counts for converted waves, with the values of slabs.
func VerticalTimes(p *Plan, slab [2]int, read func(slabs [2][2]int) (source, receiver traveltime.Medium, err error)) ([]float32, error) {
	z := p.Image.Dim() - 1
	nz, h := p.Image.Shape[z], p.Image.Spacing[z]
	times := make([]float32, (slab[1]-slab[0])*(p.Image.Len()/p.Image.Shape[0]))
	if p.Image.Domain == grid.Time {
		for i := range times {
			times[i] = float32(h * float64(i%nz))
		}
		return times, nil
	}
	var slabs [2][2]int
	for role, m := range media(p) {
		slabs[role] = m.Below(p.Image, slab)
	}
	source, receiver, err := read(slabs)
	if err != nil {
		return nil, err
	}
	legs := []traveltime.Medium{source, source}
	if legRole(p, survey.AtReceiver) == survey.AtReceiver {
		legs[1] = receiver
	}
	for _, m := range legs {
		v, t := m.On(p.Image, slab), 0.0
		for i := range times {
			if i%nz == 0 {
				t = 0
			} else {
				t += 0.5 * h * (1/v[i-1] + 1/v[i])
			}
			times[i] += float32(t)
		}
	}
	return times, nil
}
