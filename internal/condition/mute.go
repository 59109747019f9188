package condition

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// mute silences samples by picks of offset and time.
type mute struct {
	side  string // "top", "bottom" or "inside"
	picks []pick // top and bottom: ascending offsets; inside: the corners in order
	taper float64
	sign  bool // offsets have signs

	from string // file of the picks, "" where they are written in the step
}

func (m mute) file() string { return m.from }

type pick struct{ offset, time float64 }

func parseMute(values string, s *survey.Survey) (step, error) {
	if rest, ok := strings.CutPrefix(values, "arrival,"); ok {
		return parseArrival(rest)
	}
	parts := strings.Split(values, ",")
	if len(parts) < 2 || len(parts) > 3 {
		return nil, fmt.Errorf("it has %d parts", len(parts))
	}
	m := mute{side: parts[0], taper: 0.02}
	if m.side != "top" && m.side != "bottom" && m.side != "inside" {
		return nil, fmt.Errorf("%q is not one of top, bottom, inside, arrival", m.side)
	}
	if len(parts) == 3 {
		v, err := numbers(parts[2], 1, 1)
		if err != nil {
			return nil, err
		}
		if m.taper = v[0]; m.taper < 0 {
			return nil, fmt.Errorf("the taper is %g s, must be at least 0", m.taper)
		}
	}
	var err error
	if m.picks, err = writtenPicks(parts[1]); err != nil {
		if m.picks, err = readPicks(parts[1]); err != nil {
			return nil, err
		}
		m.from = parts[1]
	}
	m.sign = s.Dim == 2 && slices.ContainsFunc(m.picks, func(p pick) bool { return p.offset < 0 })
	least := 1
	if m.side == "inside" {
		least = 3
	} else {
		slices.SortStableFunc(m.picks, func(a, b pick) int { return cmp.Compare(a.offset, b.offset) })
		for i := 1; i < len(m.picks); i++ {
			if m.picks[i].offset == m.picks[i-1].offset {
				return nil, fmt.Errorf("%s has two times at %g m", parts[1], m.picks[i].offset)
			}
		}
	}
	if len(m.picks) < least {
		return nil, fmt.Errorf("%s has %d picks, want at least %d", parts[1], len(m.picks), least)
	}
	return m, nil
}

// text is the step with its picks, so that a survey's history needs no other file.
func (m mute) text() string {
	var picks []string
	for _, p := range m.picks {
		picks = append(picks, fmt.Sprintf("%g:%g", p.offset, p.time))
	}
	return fmt.Sprintf("mute=%s,%s,%g", m.side, strings.Join(picks, ";"), m.taper)
}

// writtenPicks reads picks as text writes them.
func writtenPicks(text string) (picks []pick, err error) {
	for _, pair := range strings.Split(text, ";") {
		h, t, _ := strings.Cut(pair, ":")
		var p pick
		if p.offset, err = strconv.ParseFloat(h, 64); err != nil {
			return nil, err
		}
		if p.time, err = strconv.ParseFloat(t, 64); err != nil {
			return nil, err
		}
		if p.offset-p.offset != 0 || p.time-p.time != 0 {
			return nil, fmt.Errorf("%q is not finite", pair)
		}
		picks = append(picks, p)
	}
	return picks, nil
}

// readPicks reads a text of an offset and a time a line, see [plainfile.ReadRows].
func readPicks(path string) (picks []pick, err error) {
	rows, err := plainfile.ReadRows(path)
	if err != nil {
		var system *fs.PathError
		if errors.As(err, &system) {
			return nil, fmt.Errorf("%s: %w", path, plainfile.Cause(err))
		}
		return nil, err
	}
	for _, row := range rows {
		if len(row.Values) != 2 {
			return nil, fmt.Errorf("%s: line %d has %d numbers, want offset and time", path, row.Line, len(row.Values))
		}
		picks = append(picks, pick{row.Values[0], row.Values[1]})
	}
	return picks, nil
}

func (m mute) apply(g *Gather) error {
	for i, h := range g.Offset {
		if !m.sign {
			h = math.Abs(h)
		}
		edges := m.edges(h)
		for k := range g.trace(i) {
			g.trace(i)[k] *= float32(m.weight(g.T0+float64(k)*g.DT, edges))
		}
	}
	return nil
}

// edges are the times at an offset where the mute begins and ends in turn, ascending.
func (m mute) edges(h float64) (times []float64) {
	p := m.picks
	if m.side == "inside" {
		for i, a := range p {
			b := p[(i+1)%len(p)]
			if (a.offset <= h) != (b.offset <= h) {
				times = append(times, a.time+(h-a.offset)/(b.offset-a.offset)*(b.time-a.time))
			}
		}
		slices.Sort(times)
		return times
	}
	at := 0.0
	switch i := slices.IndexFunc(p, func(q pick) bool { return q.offset >= h }); {
	case i < 0:
		at = p[len(p)-1].time
	case i == 0:
		at = p[0].time
	default:
		a, b := p[i-1], p[i]
		at = a.time + (h-a.offset)/(b.offset-a.offset)*(b.time-a.time)
	}
	if m.side == "top" {
		return []float64{math.Inf(-1), at}
	}
	return []float64{at, math.Inf(1)}
}

// weight rises from 0 at an edge to 1 one taper outside, as a cosine.
func (m mute) weight(t float64, edges []float64) float64 {
	w := 1.0
	for i := 0; i+1 < len(edges); i += 2 {
		out := max(edges[i]-t, t-edges[i+1]) // seconds outside
		switch {
		case out < 0 || m.taper == 0 && out == 0:
			return 0
		case out < m.taper:
			w *= rise(out / m.taper)
		}
	}
	return w
}
