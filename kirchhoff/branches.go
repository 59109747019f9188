package kirchhoff

import (
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Waves that come to a point by several ways, as traced rays do, have a branch for each
// (traveltime.Turned). Engines hold a table for each branch of a place, as if they were as many
// places, and sum a trace over every pairing of a branch of its source with one of its receiver.

// pairing is a branch of sources together with one of receivers.
type pairing struct {
	source, receiver int
	// phase is 1 where the waves of one of them have turned by a quarter of a period, which makes the
	// trace that of the turned wavelet. minus says that those of both have, which is half a period.
	phase int
	minus bool
}

// branches is the number of branches of a place.
func (p *Problem) branches() int { return len(traveltime.Turned(p.Times)) }

// several reports whether places have several branches.
func (p *Problem) several() bool { return p.branches() > 1 }

// phases is the number of versions of a trace that pairings read: one of the wavelet and, where waves may
// have turned, one of the turned wavelet.
func (p *Problem) phases() int { return min(2, p.branches()) }

// pairings lists all, those with minus last.
func (p *Problem) pairings() (list []pairing) {
	var minus []pairing
	turned := traveltime.Turned(p.Times)
	for s, a := range turned {
		for r, b := range turned {
			k := pairing{source: s, receiver: r, minus: a && b}
			if a != b {
				k.phase = 1
			}
			if k.minus {
				minus = append(minus, k)
			} else {
				list = append(list, k)
			}
		}
	}
	return append(list, minus...)
}

// table is the number of the table of a branch of a place, of tables of all places of p.
func table(p *survey.Positions, place, branch int) int { return branch*p.Len() + place }

// turnedTaps are the taps for traces of waves that have turned by a quarter of a period: −H of
// Taps, H the Hilbert transform with H cos = sin. They hold no lag beyond a record.
func (p *Problem) turnedTaps() survey.Wavelet {
	turn := impulse(p, func(w float64) complex128 {
		if w == 0 {
			return 0
		}
		return 1i
	})
	return trimWavelet(survey.Wavelet{Samples: convolveImpulse(turn, p.Taps(), 1-p.NT, p.NT-1), Zero: p.NT - 1, DT: p.DT})
}

// responsesOf returns the responses of both phases, or of one.
func responsesOf(p *Problem) []response {
	list := []response{responseOf(p)}
	if p.phases() > 1 {
		turned := p.turnedTaps()
		list = append(list, response{turned.Samples, turned.Zero})
	}
	return list
}
