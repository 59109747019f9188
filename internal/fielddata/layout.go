package fielddata

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// layout is how sources and receivers of a file lie to each other.
type layout struct {
	input              *input
	traces             int
	first              *record
	zero               [2]int // traces whose source, receiver is at (0, 0)
	both               int    // traces whose source and receiver are
	together           int    // traces whose source is at its receiver
	agree              int    // traces whose header has the offset that the positions have
	apart              int    // traces whose header has another one
	offset             [2]float64
	nearest            float64 // m, least distance of source and receiver
	records, positions bool    // field record numbers differ; any place differs from the first
}

// newLayout looks at the traces of a file: each file counts for itself.
func newLayout(in *input) *layout {
	l := &layout{input: in, nearest: math.Inf(1), offset: [2]float64{math.Inf(1), math.Inf(-1)}}
	for t := range in.kept {
		if l.first == nil {
			l.first = t
		}
		l.traces++
		zero := [2]bool{}
		for role, p := range t.place {
			if zero[role] = p[0] == 0 && p[1] == 0; zero[role] {
				l.zero[role]++
			}
			l.positions = l.positions || p != l.first.place[role]
		}
		if zero[source] && zero[receiver] {
			l.both++
		}
		d := t.distance()
		if d == 0 {
			l.together++
		}
		l.nearest = math.Min(l.nearest, d)
		l.offset[0], l.offset[1] = math.Min(l.offset[0], t.offset), math.Max(l.offset[1], t.offset)
		l.records = l.records || t.label[0] != l.first.label[0]
		switch {
		case math.Abs(math.Abs(t.offset)-d) <= math.Max(2, 0.02*d):
			l.agree++
		case t.offset != 0:
			l.apart++
		}
	}
	return l
}

// distance is the horizontal one of source and receiver, m.
func (t *record) distance() float64 {
	s, r := t.place[source], t.place[receiver]
	return math.Hypot(r[0]-s[0], r[1]-s[1])
}

// farOffset is more than any spread reaches, m.
const farOffset = 5e4

// judge refuses files whose headers do not have a source and a receiver for every
// trace: stacks, velocities, and what has its positions elsewhere.
func (l *layout) judge() error {
	if err := l.positive(true); err != nil {
		return err
	}
	s, mapping := &l.input.seen, l.input.opt.Mapping
	refuse := func(at int64, format string, args ...any) error {
		err := fmt.Errorf("%s: byte %d: %s", l.input.File.Path, l.first.at+at, fmt.Sprintf(format, args...))
		return status.Hint(status.Input(err), l.zeroOffset())
	}
	all := func(n int) bool { return n == l.traces }
	stack := l.input.File.Sorting == 4 || s.of(stackedTraces).hi > 1
	switch {
	case all(l.both):
		question := ""
		if stack || s.of(segy.CDPX).n > 0 {
			question = ": stacked?"
		}
		return refuse(73, "coordinates of source and receiver are 0 in all %d traces%s", l.traces, question)
	case mapping[segy.SourceX] == mapping[segy.ReceiverX] && mapping[segy.SourceY] == mapping[segy.ReceiverY]: // put at one place
	case all(l.zero[receiver]) && l.agree <= l.traces/2 && mapping.has(segy.ReceiverX, segy.ReceiverY):
		return refuse(81, "all receivers lie at 0, the sources of %d traces %.6g m and more from there: stacked?", l.traces, l.nearest)
	case all(l.zero[source]) && l.agree <= l.traces/2 && mapping.has(segy.SourceX, segy.SourceY) &&
		(stack || l.nearest > farOffset || l.records || s.of(segy.SourcePoint).varies()):
		return refuse(73, "all sources lie at 0, the receivers of %d traces %.6g m and more from there: stacked?", l.traces, l.nearest)
	case all(l.together) && l.apart > l.traces/2 && math.Max(-l.offset[0], l.offset[1]) > 2:
		return refuse(73, "source and receiver are at one place in all %d traces, but the headers (byte 37) have offsets of %s: gathers after migration?",
			l.traces, Between(l.offset[0], l.offset[1], "m"))
	case all(l.together) && stack:
		return refuse(73, "source and receiver are at one place in all %d traces, and %s says that these are sums: stacked?", l.traces, map[bool]string{true: "byte 3229", false: "header byte 33"}[l.input.File.Sorting == 4])
	case all(l.together) && l.traces > 1:
		l.input.found.warn("%s: source and receiver are at one place in all %d traces: they are taken as zero-offset traces", l.input.File.Path, l.traces)
	case l.both > 1:
		l.input.found.warn("%s: %d traces have all coordinates 0", l.input.File.Path, l.both)
	}
	return l.positive(false)
}

// fewSamples is how many a trace needs before its sign tells anything.
const fewSamples = 16

// positive refuses files whose samples are never negative: traces oscillate about 0.
// With velocities alone it looks for numbers that are velocities by their size.
func (l *layout) positive(velocities bool) error {
	s := &l.input.seen
	if l.input.opt.KeepPositive || s.all < fewSamples*int64(s.traces) || s.all == 0 || s.least < 0 || 2*s.zeros > s.all {
		return nil
	}
	looks := ""
	for _, unit := range []struct {
		name   string
		lo, hi float32
	}{{"km/s", 0.2, 12}, {"m/s", 200, 12000}, {"ft/s", 600, 40000}} {
		if looks == "" && s.zeros == 0 && s.least >= unit.lo && s.most <= unit.hi {
			looks = fmt.Sprintf("looks like velocities in %s, not traces", unit.name)
		}
	}
	if looks == "" {
		if velocities {
			return nil
		}
		looks = "looks like no traces, which oscillate about 0"
	}
	err := fmt.Errorf("%s: %s: no sample of %d traces is negative, they are %.6g to %.6g", l.input.File.Path, looks, s.traces, s.least, s.most)
	return status.Hint(status.Input(err), "lsm import --model makes a velocity model of it; --keep-positive takes the samples as traces")
}

// has reports whether the mapping reads any of the quantities.
func (m Mapping) has(quantities ...segy.Field) bool {
	return slices.ContainsFunc(quantities, func(q segy.Field) bool { _, ok := m[q]; return ok })
}

// zeroOffset is the hint for a stack: the flags that take its traces as zero-offset
// traces, and where the headers have positions.
func (l *layout) zeroOffset() string {
	flags := func(x, y string) string {
		return fmt.Sprintf("--header source_x=%s --header source_y=%s --header receiver_x=%[1]s --header receiver_y=%[2]s", x, y)
	}
	gathers := ""
	if l.offset[0] != l.offset[1] {
		gathers = fmt.Sprintf("; the headers (byte 37) have offsets of %s: in gathers every trace's header needs the positions of its source and receiver", Between(l.offset[0], l.offset[1], "m"))
	}
	lone := ""
	for role, name := range roles {
		if l.zero[role] == l.traces && l.both < l.traces {
			lone = fmt.Sprintf("; --header %s_x=none --header %s_y=none says that the %ss really lie at 0", name, name, name)
		}
	}
	const threeD = "; --3d keeps both coordinates"
	x, y, inline, crossline, cdp := l.input.seen.of(segy.CDPX), l.input.seen.of(segy.CDPY), l.input.seen.of(segy.Inline), l.input.seen.of(segy.Crossline), l.input.seen.of(segy.CDP)
	switch {
	case x.n+y.n > 0 && (x.varies() || y.varies() || l.traces == 1):
		return fmt.Sprintf("%s takes them as zero-offset traces at their CDPs, x %s, y %s, with the scalar %d of byte 71 (181:4:0.1 and 185:4:0.1 would scale by 0.1 instead)%s%s%s", flags("181:4", "185:4"),
			Between(x.lo, x.hi, "m"), Between(y.lo, y.hi, "m"), l.input.seen.scalar, threeD, lone, gathers)
	case l.zero[source] < l.traces && l.positions:
		return flags("73:4", "77:4") + " takes them as zero-offset traces where the sources are" + threeD + lone + gathers
	case l.zero[receiver] < l.traces && l.positions:
		return flags("81:4", "85:4") + " takes them as zero-offset traces where the receivers are" + threeD + lone + gathers
	case inline.varies() || crossline.varies():
		return fmt.Sprintf("%s takes them as zero-offset traces at their crossline (%s) and inline (%s) numbers, 25 m apart: put the right distances%s%s",
			flags("193:4:25", "189:4:25"), Between(crossline.lo, crossline.hi, ""), Between(inline.lo, inline.hi, ""), threeD, gathers)
	case cdp.varies():
		return fmt.Sprintf("%s takes them as zero-offset traces at their CDP numbers (%s), 25 m apart: put the right distance%s",
			flags("21:4:25", "none"), Between(cdp.lo, cdp.hi, ""), gathers)
	}
	return "--header source_x=BYTE:LENGTH and the like say where else they lie; bytes 181 to 196 (CDP, inline, crossline) and 21 (CDP number) do not vary" + gathers
}
