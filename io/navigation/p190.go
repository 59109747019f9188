package navigation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shot is what a P1/90 file says about one shot point.
type shot struct {
	x, y   float64 // of the source, m
	groups map[int64]*group
	twice  bool // groups of several streamers have one number
}

// group is a receiver group of a streamer.
type group struct {
	x, y, depth float64 // m
	deep        bool    // the depth is given
	streamer    byte
	used        bool
}

// P190 is a UKOOA P1/90 file: source (S) and receiver group (R) records. Other records
// (vessel, tail buoy, echo sounder and so on) are passed over.
type P190 struct {
	Key [2]string // header words of the shot point and the channel

	path   string
	unit   float64 // m
	shots  map[int64]*shot
	last   *shot
	groups int
}

// ReadP190 reads a P1/90 file. unit is the length of 1 in m; 0 for metres. Where groups of
// several streamers have one number, channels count them in the order of the file.
func ReadP190(path string, key [2]string, unit float64) (*P190, error) {
	p := &P190{Key: key, path: path, unit: unit, shots: map[int64]*shot{}}
	if unit == 0 {
		p.unit = 1
	}
	if err := lines(path, p.read); err != nil {
		return nil, err
	}
	switch {
	case len(p.shots) == 0:
		return nil, &Error{path, 0, errors.New("no source record (S): this is no P1/90 file of sources and receivers")}
	case p.groups == 0:
		return nil, &Error{path, 0, errors.New("no receiver group record (R): the file has no receivers")}
	}
	return p, nil
}

func (p *P190) read(line string) error {
	line = strings.TrimRight(line, " \t\r")
	if line == "" {
		return nil
	}
	switch line[0] {
	case 'S':
		return p.readShot(line)
	case 'R':
		return p.readGroups(line)
	case 'H', 'G', 'Q', 'A', 'T', 'C', 'V', 'E', 'Z', 'N', 'X':
		return nil
	}
	if strings.HasPrefix(line, "EOF") {
		return nil
	}
	return fmt.Errorf("begins with %q, want a record of P1/90: H, S, R, ...", line[:1])
}

// readShot reads the centre of source of a shot point.
func (p *P190) readShot(line string) error {
	r := reader{record: line}
	n := r.whole(20, 25, "point number")
	s := &shot{x: r.need(47, 55, "easting") * p.unit, y: r.need(56, 64, "northing") * p.unit, groups: map[int64]*group{}}
	if r.err != nil {
		return r.err
	}
	if before := p.shots[n]; before != nil {
		return fmt.Errorf("point %d is there before: import one line at a time", n)
	}
	p.shots[n], p.last = s, s
	return nil
}

// readGroups reads up to three receiver groups of a shot: number, easting, northing and depth
// in 26 columns each; the streamer is in column 80.
func (p *P190) readGroups(line string) error {
	if p.last == nil {
		return errors.New("receiver groups stand before any source")
	}
	streamer := byte(' ')
	if len(line) >= 80 {
		streamer = line[79]
	}
	for k := range 3 {
		at := 2 + 26*k
		if columns(line, at, at+25) == "" {
			continue
		}
		r := reader{record: line}
		n := r.whole(at, at+3, "receiver group")
		g := &group{x: r.need(at+4, at+12, "easting") * p.unit, y: r.need(at+13, at+21, "northing") * p.unit, streamer: streamer}
		g.depth, g.deep = r.may(at+22, at+25, "cable depth")
		if g.depth *= p.unit; r.err != nil {
			return r.err
		}
		if before := p.last.groups[n]; before != nil && before.streamer == streamer {
			return fmt.Errorf("receiver group %d is there before", n)
		} else if before != nil || p.last.twice {
			p.last.renumber(g)
		} else {
			p.last.groups[n] = g
		}
		p.groups++
	}
	return nil
}

// renumber adds a group of another streamer whose number is taken: from then on channels count
// the groups of the shot.
func (s *shot) renumber(g *group) {
	if !s.twice {
		s.twice = true
		counted := map[int64]*group{}
		for i, n := range slices.Sorted(maps.Keys(s.groups)) {
			counted[int64(i+1)] = s.groups[n]
		}
		s.groups = counted
	}
	s.groups[int64(len(s.groups)+1)] = g
}

// Find looks up a shot point and a channel.
func (p *P190) Find(get func(word string) int64) (Values, string) {
	point, channel := get(p.Key[0]), get(p.Key[1])
	s := p.shots[point]
	if s == nil {
		return nil, fmt.Sprintf("shot point %d is not in %s", point, p.path)
	}
	g := s.groups[channel]
	if g == nil {
		return nil, fmt.Sprintf("channel %d of shot point %d is not in %s", channel, point, p.path)
	}
	g.used = true
	v := Values{"source_x": s.x, "source_y": s.y, "receiver_x": g.x, "receiver_y": g.y}
	if g.deep {
		v["receiver_elevation"], v["receiver_depth"] = 0, g.depth
	}
	return v, ""
}

// Unused lists receiver groups that no trace has.
func (p *P190) Unused(most int) (list []string, n int) {
	for _, point := range slices.Sorted(maps.Keys(p.shots)) {
		s := p.shots[point]
		for _, channel := range slices.Sorted(maps.Keys(s.groups)) {
			if s.groups[channel].used {
				continue
			}
			if n++; len(list) < most {
				list = append(list, fmt.Sprintf("shot point %d, channel %d", point, channel))
			}
		}
	}
	return list, n
}

// About says what was read.
func (p *P190) About() string {
	return fmt.Sprintf("%s: P1/90, %d shot points, %d receiver groups", p.path, len(p.shots), p.groups)
}

// Names lists what Find gives.
func (p *P190) Names() []string {
	return []string{"source_x", "source_y", "receiver_x", "receiver_y", "receiver_elevation", "receiver_depth"}
}
