package navigation

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// span is where a field lies in a record.
type span struct{ from, to int }

// spsLayout is where the fields of SPS records lie.
type spsLayout struct {
	name                       string
	line, point, index         span // of S and R records; all else is alike in both revisions
	static, depth              span
	record                     span // of X records
	source, shot, sourceIndex  span
	from, to, increment        span
	receiver, first, last, end span
}

// Layouts of the revisions: SPS 1 has texts for names of lines, SPS 2.1 numbers.
var (
	sps1 = &spsLayout{name: "SPS 1", line: span{2, 17}, point: span{18, 25}, index: span{26, 26}, static: span{29, 32}, depth: span{33, 36},
		record: span{8, 11}, source: span{14, 29}, shot: span{30, 37}, sourceIndex: span{38, 38},
		from: span{39, 42}, to: span{43, 46}, increment: span{47, 47}, receiver: span{48, 63}, first: span{64, 71}, last: span{72, 79}, end: span{80, 80}}
	sps2 = &spsLayout{name: "SPS 2.1", line: span{2, 11}, point: span{12, 21}, index: span{24, 24}, static: span{27, 30}, depth: span{31, 34},
		record: span{8, 15}, source: span{18, 27}, shot: span{28, 37}, sourceIndex: span{38, 38},
		from: span{39, 43}, to: span{44, 48}, increment: span{49, 49}, receiver: span{50, 59}, first: span{60, 69}, last: span{70, 79}, end: span{80, 80}}
)

// spsWidth is the length of a record.
const spsWidth = 80

// station names a point: its line, number and index.
type station struct {
	line  string
	point float64
	index int
}

func (s station) String() string { return fmt.Sprintf("line %s, point %g", s.line, s.point) }

// place is where a station is.
type place struct {
	values [5]float64 // x, y, elevation, depth in m, static in ms
	static bool       // whether there is one
}

// placed are the names of a place's values, behind "source_" or "receiver_".
var placed = [5]string{"x", "y", "elevation", "depth", "static"}

// spread is one relation record: channels of a field record and their receivers. With an
// increment of n, either every n-th channel counts, one for each receiver, or each receiver
// has n channels, its components: the last channel tells which.
type spread struct {
	source         station
	from, to, step int64 // channels
	components     bool  // each receiver has as many channels as the step
	line           string
	first, last    float64 // receivers
	index          int
	used           []bool // by channel
	asked          int
}

// SPS is a set of source, receiver and relation files.
type SPS struct {
	Key [2]string // header words of the field record and the channel

	layout  *spsLayout
	factor  float64 // m
	places  [2]map[station]place
	spreads map[int64][]*spread
	records int
	scaled  bool // the files give the factor
}

// ReadSPS reads SPS files: points of sources and receivers and relations, in any order. unit
// is the length of 1 in m where the files give no factor; 0 for metres.
func ReadSPS(paths []string, key [2]string, unit float64) (*SPS, error) {
	s := &SPS{Key: key, factor: 1, places: [2]map[station]place{{}, {}}, spreads: map[int64][]*spread{}}
	for _, path := range paths {
		if err := lines(path, s.header); err != nil {
			return nil, err
		}
	}
	if s.layout == nil {
		return nil, &Error{paths[0], 0, errors.New("no record H00 says which revision of SPS this is, want SPS001 or SPS 2.1")}
	}
	if unit != 0 && s.scaled && math.Abs(s.factor-unit) > 1e-6 {
		return nil, &Error{paths[0], 0, fmt.Errorf("record H201 says that 1 is %g m, --units that it is %g m", s.factor, unit)}
	}
	if unit != 0 {
		s.factor = unit
	}
	for _, path := range paths {
		if err := lines(path, s.read); err != nil {
			return nil, err
		}
	}
	for _, part := range []struct {
		n    int
		what string
	}{{len(s.places[0]), "source points (S)"}, {len(s.places[1]), "receiver points (R)"}, {s.records, "relations (X)"}} {
		if part.n == 0 {
			return nil, &Error{strings.Join(paths, ", "), 0, fmt.Errorf("no %s: --sps takes the files of sources, receivers and relations", part.what)}
		}
	}
	return s, nil
}

// header takes the revision and the unit of lengths from the header records.
func (s *SPS) header(line string) error {
	switch {
	case strings.HasPrefix(line, "H00"):
		var layout *spsLayout
		switch text := strings.ToUpper(strings.ReplaceAll(columns(line, 33, longestLine), " ", "")); {
		case strings.Contains(text, "2.1"):
			layout = sps2
		case strings.HasPrefix(text, "SPS001"), strings.HasPrefix(text, "SPS1"):
			layout = sps1
		default:
			return fmt.Errorf("the revision is %q, want SPS001 or SPS 2.1", columns(line, 33, longestLine))
		}
		if s.layout != nil && s.layout != layout {
			return fmt.Errorf("is %s, a file before is %s", layout.name, s.layout.name)
		}
		s.layout = layout
	case strings.HasPrefix(line, "H201"):
		text, _, _ := strings.Cut(columns(line, 33, longestLine), ";")
		if text = strings.TrimSpace(text); text == "" {
			return nil
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 1e-3 && v < 1e3) {
			return fmt.Errorf("the factor to metres is %q, want a number above 0", text)
		}
		if s.scaled && v != s.factor {
			return fmt.Errorf("the factor to metres is %g, in a file before %g", v, s.factor)
		}
		s.factor, s.scaled = v, true
	}
	return nil
}

func (s *SPS) read(line string) error {
	line = strings.TrimRight(line, " \t\r;")
	if line == "" || line[0] == 'H' {
		return nil
	}
	if len(line) > spsWidth {
		return fmt.Errorf("has %d columns, records of SPS have %d", len(line), spsWidth)
	}
	switch line[0] {
	case 'S':
		return s.point(line, 0)
	case 'R':
		return s.point(line, 1)
	case 'X':
		return s.relation(line)
	}
	return fmt.Errorf("begins with %q, want H, S, R or X", line[:1])
}

// point reads a record S or R. A point that is repeated with other positions is an error;
// points without positions, such as those that were skipped, are left out.
func (s *SPS) point(line string, role int) error {
	r, l := reader{record: line}, s.layout
	at := station{lineName(columns(line, l.line.from, l.line.to)), r.need(l.point.from, l.point.to, "point number"), s.indexOf(&r, l.index)}
	var p place
	if columns(line, 47, 55) == "" && columns(line, 56, 65) == "" {
		return r.err
	}
	p.values[0] = r.need(47, 55, "easting") * s.factor
	p.values[1] = r.need(56, 65, "northing") * s.factor
	v, _ := r.may(66, 71, "elevation")
	p.values[2] = v * s.factor
	v, _ = r.may(l.depth.from, l.depth.to, "depth")
	p.values[3] = v * s.factor
	p.values[4], p.static = r.may(l.static.from, l.static.to, "static correction")
	if r.err != nil {
		return r.err
	}
	if before, there := s.places[role][at]; there && before != p {
		return fmt.Errorf("%s is there before, elsewhere", at)
	}
	s.places[role][at] = p
	return nil
}

// indexOf is the index of a point, 1 where it is blank.
func (s *SPS) indexOf(r *reader, at span) int {
	v, given := r.may(at.from, at.to, "index")
	if !given {
		return 1
	}
	return int(v)
}

// lineName makes names of lines that are equal numbers equal texts.
func lineName(text string) string {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return text
}

func (s *SPS) relation(line string) error {
	r, l := reader{record: line}, s.layout
	record := r.whole(l.record.from, l.record.to, "field record")
	x := &spread{
		source: station{lineName(columns(line, l.source.from, l.source.to)), r.need(l.shot.from, l.shot.to, "source point"), s.indexOf(&r, l.sourceIndex)},
		from:   r.whole(l.from.from, l.from.to, "from channel"), to: r.whole(l.to.from, l.to.to, "to channel"), step: 1,
		line:  lineName(columns(line, l.receiver.from, l.receiver.to)),
		first: r.need(l.first.from, l.first.to, "from receiver"), last: r.need(l.last.from, l.last.to, "to receiver"),
		index: s.indexOf(&r, l.end),
	}
	if v, given := r.may(l.increment.from, l.increment.to, "channel increment"); given {
		x.step = int64(v)
	}
	switch {
	case r.err != nil:
		return r.err
	case x.step < 1:
		return fmt.Errorf("the channel increment is %d, want 1 to 9", x.step)
	case x.from < 0 || x.to < x.from || (x.to-x.from)%x.step != 0 && (x.to-x.from+1)%x.step != 0:
		return fmt.Errorf("channels %d to %d by %d are none", x.from, x.to, x.step)
	}
	x.components = (x.to-x.from)%x.step != 0
	if x.receivers() == 1 && x.first != x.last {
		return fmt.Errorf("channels %d to %d have receivers %g to %g, want one", x.from, x.to, x.first, x.last)
	}
	for _, before := range s.spreads[record] {
		if before.source != x.source {
			return fmt.Errorf("field record %d has two sources, %s and %s", record, before.source, x.source)
		}
		if x.overlaps(before) {
			return fmt.Errorf("channels %d to %d of field record %d are there before", max(x.from, before.from), min(x.to, before.to), record)
		}
	}
	s.spreads[record] = append(s.spreads[record], x)
	s.records++
	return nil
}

// overlaps reports whether two records have a channel in common.
func (x *spread) overlaps(y *spread) bool {
	for channel := max(x.from, y.from); channel <= min(x.to, y.to); channel++ {
		if x.has(channel) && y.has(channel) {
			return true
		}
	}
	return false
}

// has reports whether a channel is one of the record's.
func (x *spread) has(channel int64) bool {
	return channel >= x.from && channel <= x.to && (x.components || (channel-x.from)%x.step == 0)
}

// apart is the step between channels that count.
func (x *spread) apart() int64 {
	if x.components {
		return 1
	}
	return x.step
}

// channels is how many channels the record has, receivers how many receivers.
func (x *spread) channels() int64  { return (x.to-x.from)/x.apart() + 1 }
func (x *spread) receivers() int64 { return (x.to-x.from)/x.step + 1 }

// receiver is the station of a channel.
func (x *spread) receiver(channel int64) station {
	k, n := (channel-x.from)/x.step, x.receivers()-1
	point := x.first
	if n > 0 {
		point += (x.last - x.first) * float64(k) / float64(n)
	}
	return station{x.line, math.Round(point*100) / 100, x.index}
}

// Find looks up the relation of a field record and channel, and the two points.
func (s *SPS) Find(get func(word string) int64) (Values, string) {
	record, channel := get(s.Key[0]), get(s.Key[1])
	for _, x := range s.spreads[record] {
		if !x.has(channel) {
			continue
		}
		if x.used == nil {
			x.used = make([]bool, x.channels())
		}
		if k := (channel - x.from) / x.apart(); !x.used[k] {
			x.used[k] = true
			x.asked++
		}
		v := Values{}
		for role, at := range [2]station{x.source, x.receiver(channel)} {
			p, ok := s.places[role][at]
			if !ok {
				return nil, fmt.Sprintf("%s has no position in the SPS files", [2]string{"source ", "receiver "}[role]+at.String())
			}
			for i, name := range placed {
				if i < 4 || p.static {
					v[[2]string{"source_", "receiver_"}[role]+name] = p.values[i]
				}
			}
		}
		return v, ""
	}
	if s.spreads[record] == nil {
		return nil, fmt.Sprintf("field record %d is not in the SPS relations", record)
	}
	return nil, fmt.Sprintf("channel %d of field record %d is not in the SPS relations", channel, record)
}

// Unused lists channels of relations that no trace has.
func (s *SPS) Unused(most int) (list []string, n int) {
	for _, record := range slices.Sorted(maps.Keys(s.spreads)) {
		for _, x := range s.spreads[record] {
			n += int(x.channels()) - x.asked
			for k := int64(0); k < x.channels() && len(list) < most; k++ {
				if x.used == nil || !x.used[k] {
					list = append(list, fmt.Sprintf("field record %d, channel %d", record, x.from+k*x.apart()))
				}
			}
		}
	}
	return list, n
}

// About says what was read.
func (s *SPS) About() string {
	unit := ""
	if s.factor != 1 {
		unit = fmt.Sprintf(", lengths times %.10g m", s.factor)
	}
	return fmt.Sprintf("%s: %d source points, %d receiver points, %d relations of %d field records%s", s.layout.name, len(s.places[0]), len(s.places[1]), s.records, len(s.spreads), unit)
}

// Names lists what Find gives.
func (s *SPS) Names() (list []string) {
	for _, role := range []string{"source_", "receiver_"} {
		for _, name := range placed {
			list = append(list, role+name)
		}
	}
	return list
}
