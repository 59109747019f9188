package plan

import (
	"math"
	"sort"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Mute is the mute of [data]: samples before a time that depends on the offset alone
// count for nothing.
type Mute struct {
	corners polyline // times, s, by offset, m; none: no mute
	taper   float64  // s
	t0, dt  float64  // of the traces, s
}

func newMute(d config.Data, s *survey.Survey) Mute {
	return Mute{polyline{d.MuteOffsets, d.MuteTimes}, d.MuteTaper, s.T0, s.DT}
}

// On reports whether there is one.
func (m Mute) On() bool { return len(m.corners.x) > 0 }

// Fill sets w to weight times those of a trace's samples: 0 before the mute's time,
// then rising as a cosine over the taper.
func (m Mute) Fill(w []float32, offset, weight float64) {
	if !m.On() {
		for n := range w {
			w[n] = float32(weight)
		}
		return
	}
	start := m.corners.value(offset)
	for n := range w {
		w[n] = float32(weight * rise(m.t0+float64(n)*m.dt-start, m.taper, 1e-6*m.dt))
	}
}

// Silent is how many of nt samples of an offset count for nothing.
func (m Mute) Silent(offset float64, nt int) int {
	if !m.On() {
		return 0
	}
	start := m.corners.value(offset)
	return sort.Search(nt, func(n int) bool { return rise(m.t0+float64(n)*m.dt-start, m.taper, 1e-6*m.dt) > 0 })
}

// rise is 0 below x = 0 and 1 from x = taper on, ½(1 − cos(πx/taper)) between. It
// takes an x within slack of 0 for 0.
func rise(x, taper, slack float64) float64 {
	switch {
	case x < -slack:
		return 0
	case x >= taper-slack:
		return 1
	case x <= 0:
		return 0
	}
	return 0.5 - 0.5*math.Cos(math.Pi*x/taper)
}
