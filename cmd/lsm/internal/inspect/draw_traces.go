package inspect

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/picture"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// tracePick says which traces of a survey are drawn.
type tracePick struct {
	by             string // "shot", "receiver", "cmp" or "offset"
	shot, receiver int
	cmp, offset    float64
}

func (p *tracePick) define(fl *pflag.FlagSet) {
	fl.IntVar(&p.shot, "shot", 0, "`row` of /sources whose gather to draw")
	fl.IntVar(&p.receiver, "receiver", 0, "`row` of /receivers whose gather to draw")
	fl.Float64Var(&p.cmp, "cmp", 0, "`x` in m: draw the gather of the midpoint nearest to it (2-D)")
	fl.Float64Var(&p.offset, "offset", 0, "`h` in m: draw the section of the offset nearest to it (2-D)")
}

// complete finds out which traces the flags choose.
func (p *tracePick) complete(fl *pflag.FlagSet) error {
	p.by = "shot"
	var given []string
	for _, name := range []string{"shot", "receiver", "cmp", "offset"} {
		if fl.Changed(name) {
			p.by, given = name, append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return status.Usage(fmt.Errorf("plot: give %s or %s, not both", given[0], given[1]))
	}
	return nil
}

// loadTraces reads the traces that were picked.
func (d *drawing) loadTraces(file string) (*item, error) {
	r, err := OpenTraces(file, "--velocity draws a model that it carries")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := r.Survey()
	traces, it, err := d.pick.find(file, s)
	if err != nil {
		return nil, err
	}
	d.used = append(d.used, d.pick.by)
	it.title = filepath.Base(file) + ": " + it.title
	it.times = picture.Times{NT: s.NT, DT: s.DT, T0: s.T0}
	it.values, err = readTraces(r, traces, nil)
	return it, err
}

// find lists the traces in the order in which they are drawn, and says what they are.
func (p *tracePick) find(file string, s *survey.Survey) (traces []int32, it *item, err error) {
	it = &item{across: "offset"}
	offset := func(i int) float64 { return offsetOf(s, i) }
	where := offset
	switch p.by {
	case "receiver":
		if p.receiver < 0 || p.receiver >= s.NumReceivers() {
			return nil, nil, status.Usage(fmt.Errorf("plot: receiver %d: %s has receivers 0 to %d", p.receiver, file, s.NumReceivers()-1))
		}
		it.title = fmt.Sprintf("receiver %d", p.receiver)
		traces = tracesWhere(s, func(i int) bool { _, r := s.Pair(i); return r == p.receiver })
	case "cmp", "offset":
		if s.Dim != 2 {
			return nil, nil, status.Usage(fmt.Errorf("plot: --%s: %s is 3-D, gathers of midpoints and offsets are drawn of 2-D surveys", p.by, file))
		}
		middle := func(i int) float64 { return midpointOf(s, i) }
		if p.by == "cmp" {
			at, within := nearestValue(s, middle, p.cmp)
			it.title = fmt.Sprintf("midpoint %s m", readable.Length(at))
			traces = tracesWhere(s, func(i int) bool { return math.Abs(middle(i)-at) <= within })
			break
		}
		size := func(i int) float64 { return math.Abs(offset(i)) }
		at, within := nearestValue(s, size, math.Abs(p.offset))
		it.title, it.across, where = fmt.Sprintf("offset %s m", readable.Length(at)), "midpoint", middle
		traces = tracesWhere(s, func(i int) bool { return math.Abs(size(i)-at) <= within })
	default:
		if p.shot < 0 || p.shot >= s.NumSources() {
			return nil, nil, status.Usage(fmt.Errorf("plot: shot %d: %s has sources 0 to %d", p.shot, file, s.NumSources()-1))
		}
		it.title = fmt.Sprintf("shot %d", p.shot)
		traces, it.at = shotTraces(s, p.shot)
	}
	if len(traces) == 0 {
		return nil, nil, status.Input(fmt.Errorf("%s: no trace belongs to %s", file, it.title))
	}
	if p.by != "shot" && s.Dim == 2 {
		it.at = along(traces, where)
	}
	return traces, it, nil
}

// shotTraces lists the traces of a shot; in 2-D sorted by their signed offset in
// metres, which in 3-D is nil.
func shotTraces(s *survey.Survey, shot int) (traces []int32, offset []float64) {
	traces = tracesWhere(s, func(i int) bool { src, _ := s.Pair(i); return src == shot })
	if s.Dim != 2 {
		return traces, nil
	}
	return traces, along(traces, func(i int) float64 { return offsetOf(s, i) })
}

// tracesWhere lists the traces that have a property.
func tracesWhere(s *survey.Survey, has func(i int) bool) (traces []int32) {
	for i := range s.NumTraces() {
		if has(i) {
			traces = append(traces, int32(i))
		}
	}
	return traces
}

// along sorts traces by a distance and returns it.
func along(traces []int32, distance func(i int) float64) (at []float64) {
	slices.SortStableFunc(traces, func(p, q int32) int { return cmp.Compare(distance(int(p)), distance(int(q))) })
	for _, i := range traces {
		at = append(at, distance(int(i)))
	}
	return at
}

// offsetOf is a trace's signed offset along x, m.
func offsetOf(s *survey.Survey, i int) float64 {
	src, rec := s.Pair(i)
	return s.Receiver(rec)[0] - s.Source(src)[0]
}

// midpointOf is the x of a trace's midpoint, m.
func midpointOf(s *survey.Survey, i int) float64 {
	src, rec := s.Pair(i)
	return (s.Receiver(rec)[0] + s.Source(src)[0]) / 2
}

// nearestValue is the value of a trace that is nearest to the requested one, and half the usual
// distance between neighbouring values: values within it count as the same.
func nearestValue(s *survey.Survey, of func(i int) float64, asked float64) (at, within float64) {
	values := make([]float64, s.NumTraces())
	for i := range values {
		values[i] = of(i)
	}
	slices.Sort(values)
	at = values[0]
	var steps []float64
	for i, v := range values {
		if math.Abs(v-asked) < math.Abs(at-asked) {
			at = v
		}
		if i > 0 && v-values[i-1] > 1e-3 {
			steps = append(steps, v-values[i-1])
		}
	}
	if len(steps) == 0 {
		return at, 1e-3
	}
	slices.Sort(steps)
	return at, steps[len(steps)/2] / 2
}
