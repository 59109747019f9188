package condition

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Arrivals returns the time, s, of the first arrival of every trace of the survey in a velocity model,
// and the model as a step names it, so that the step can be made again. model is "" where the step
// names none.
type Arrivals func(model string) (times []float64, named string, err error)

// arrival silences what comes before the first arrival of each trace, and DELAY s after it: offsets
// alone do not say when that is, as in a borehole.
type arrival struct {
	delay, taper float64
	model        string
	times        []float64 // of each trace of the survey
}

func parseArrival(values string) (step, error) {
	parts := strings.SplitN(values, ",", 3)
	m := &arrival{taper: 0.02}
	for i, to := range []*float64{&m.delay, &m.taper} {
		if i >= len(parts) {
			break
		}
		v, err := strconv.ParseFloat(parts[i], 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, fmt.Errorf("%q is not a number of seconds", parts[i])
		}
		*to = v
	}
	if m.taper < 0 {
		return nil, fmt.Errorf("the taper is %g s, must be at least 0", m.taper)
	}
	if len(parts) > 2 {
		m.model = parts[2]
	}
	return m, nil
}

// prepare computes the arrivals.
func (m *arrival) prepare(first Arrivals) (err error) {
	if first == nil {
		return errors.New("nothing computes first arrivals here")
	}
	m.times, m.model, err = first(m.model)
	return err
}

// text is the step with its model, so that a survey's history needs no flag.
func (m *arrival) text() string {
	return fmt.Sprintf("mute=arrival,%g,%g,%s", m.delay, m.taper, m.model)
}

func (m *arrival) apply(g *Gather) error {
	by := mute{side: "top", taper: m.taper}
	for i, n := range g.Traces {
		edges := []float64{math.Inf(-1), m.times[n] + m.delay}
		for k := range g.trace(i) {
			g.trace(i)[k] *= float32(by.weight(g.T0+float64(k)*g.DT, edges))
		}
	}
	return nil
}
