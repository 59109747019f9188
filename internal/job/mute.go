package job

import (
	"math"
	"sort"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// mute is the mute of [data]: samples before a time that depends on the offset alone
// count for nothing.
type mute struct {
	offsets, times []float64 // of its corners, m and s; none: no mute
	taper          float64   // s
	t0, dt         float64   // of the traces, s
}

func newMute(d config.Data, s *survey.Survey) mute {
	return mute{d.MuteOffsets, d.MuteTimes, d.MuteTaper, s.T0, s.DT}
}

func (m mute) on() bool { return len(m.offsets) > 0 }

// time is that before which samples of an offset count for nothing, s: linear between
// the corners, constant beyond them.
func (m mute) time(offset float64) float64 {
	k := sort.SearchFloat64s(m.offsets, offset)
	switch k {
	case 0:
		return m.times[0]
	case len(m.offsets):
		return m.times[k-1]
	}
	f := (offset - m.offsets[k-1]) / (m.offsets[k] - m.offsets[k-1])
	return (1-f)*m.times[k-1] + f*m.times[k]
}

// fill sets w to weight times those of a trace's samples: 0 before the mute's time,
// then rising as a cosine over the taper.
func (m mute) fill(w []float32, offset, weight float64) {
	if !m.on() {
		for n := range w {
			w[n] = float32(weight)
		}
		return
	}
	start := m.time(offset)
	for n := range w {
		w[n] = float32(weight * rise(m.t0+float64(n)*m.dt-start, m.taper, 1e-6*m.dt))
	}
}

// silent is how many of nt samples of an offset count for nothing.
func (m mute) silent(offset float64, nt int) int {
	if !m.on() {
		return 0
	}
	start := m.time(offset)
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
