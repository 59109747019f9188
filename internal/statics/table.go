package statics

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Corrections are the static corrections of all places of a survey.
type Corrections struct {
	Source, Receiver []float64 // s, of each row of the survey's sources and receivers, added to recorded times

	// SourceZ and ReceiverZ are where the places are once the traces are corrected, m, such as a datum; nil: where
	// they were.
	SourceZ, ReceiverZ []float64
}

// Of is the correction of a trace, s.
func (c *Corrections) Of(s *survey.Survey, trace int) float64 {
	from, to := s.Pair(trace)
	return c.Source[from] + c.Receiver[to]
}

// Move puts places where they are once the traces are corrected. Depths and uphole times of sources that are moved
// are no longer theirs.
func (c *Corrections) Move(s *survey.Survey) {
	for _, role := range []struct {
		to *[]float64
		z  []float64
	}{{&s.Sources, c.SourceZ}, {&s.Receivers, c.ReceiverZ}} {
		if role.z == nil {
			continue
		}
		moved := append([]float64(nil), *role.to...)
		for i, z := range role.z {
			moved[(i+1)*s.Dim-1] = z
		}
		*role.to = moved
	}
	if c.SourceZ != nil {
		s.SourceDepth, s.UpholeTime = nil, nil
	}
}

// columns are the columns of a table of a survey of dim dimensions: x and z, or x, y and
// z, m.
func columns(dim int) []string {
	names := []string{"place", "number", "x", "y", "z", "static_ms", "new_z"}
	if dim == 2 {
		names = append(names[:3], names[4:]...)
	}
	return names
}

// Table writes the corrections as CSV: a line for each source and receiver, with its number, position in m,
// correction in ms and, in new_z, the z that it has afterwards.
func (c *Corrections) Table(s *survey.Survey) []byte {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	out.Write(columns(s.Dim))
	write := func(place string, positions, statics, moved []float64) {
		for i, t := range statics {
			line := []string{place, strconv.Itoa(i)}
			at := positions[i*s.Dim : (i+1)*s.Dim]
			for _, v := range at {
				line = append(line, strconv.FormatFloat(v, 'f', -1, 64))
			}
			z := at[s.Dim-1]
			if moved != nil {
				z = moved[i]
			}
			out.Write(append(line, strconv.FormatFloat(1e3*t, 'f', 4, 64), strconv.FormatFloat(z, 'f', -1, 64)))
		}
	}
	write("source", s.Sources, c.Source, c.SourceZ)
	write("receiver", s.Receivers, c.Receiver, c.ReceiverZ)
	out.Flush()
	return b.Bytes()
}

// near is how far apart, m, a place of a table and of the survey may be.
const near = 0.01

// ReadTable reads what Table writes, of the same survey: all its sources and receivers, each once.
func ReadTable(path string, s *survey.Survey) (c *Corrections, text []byte, err error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if text, err = io.ReadAll(plainfile.Text(f)); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	c, err = parseTable(text, s)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, text, nil
}

func parseTable(text []byte, s *survey.Survey) (*Corrections, error) {
	in := csv.NewReader(bytes.NewReader(text))
	names := columns(s.Dim)
	head, err := in.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if fmt.Sprint(head) != fmt.Sprint(names) {
		return nil, fmt.Errorf("its first line is %q, want %q: a table of lsm statics for a %d-D survey", head, names, s.Dim)
	}
	c := &Corrections{Source: missing(s.NumSources()), Receiver: missing(s.NumReceivers()), SourceZ: missing(s.NumSources()), ReceiverZ: missing(s.NumReceivers())}
	moved := [2]bool{}
	for {
		line, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		at, _ := in.FieldPos(0)
		role, err := c.read(line, s)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", at, err)
		}
		moved[role.number] = moved[role.number] || role.moved
	}
	for i, list := range [][]float64{c.Source, c.Receiver} {
		for k, v := range list {
			if math.IsNaN(v) {
				return nil, fmt.Errorf("has no line for %s %d of the survey's %s", places[i], k, readable.Count(len(list), places[i]))
			}
		}
	}
	if !moved[0] {
		c.SourceZ = nil
	}
	if !moved[1] {
		c.ReceiverZ = nil
	}
	return c, nil
}

var places = [2]string{"source", "receiver"}

// missing are n numbers that are not there yet.
func missing(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

// seen is the place that a line describes.
type seen struct {
	number int // of places
	moved  bool
}

// largest is the largest correction, s.
const largest = 10

// read takes a line of a table.
func (c *Corrections) read(line []string, s *survey.Survey) (seen, error) {
	to, z, positions, role := c.Source, c.SourceZ, s.Sources, seen{}
	switch line[0] {
	case places[0]:
	case places[1]:
		to, z, positions, role.number = c.Receiver, c.ReceiverZ, s.Receivers, 1
	default:
		return role, fmt.Errorf("place is %q, want source or receiver", line[0])
	}
	n, err := strconv.Atoi(line[1])
	if err != nil || n < 0 || n >= len(to) {
		return role, fmt.Errorf("%s %s: the survey has %s, 0 to %d", line[0], line[1], readable.Count(len(to), line[0]), len(to)-1)
	}
	var v []float64
	for i, text := range line[2:] {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || x-x != 0 {
			return role, fmt.Errorf("%s is %q, want a number", columns(s.Dim)[2+i], text)
		}
		v = append(v, x)
	}
	for a, x := range positions[n*s.Dim : (n+1)*s.Dim] {
		if math.Abs(x-v[a]) > near {
			return role, fmt.Errorf("%s %d has %s %g m, the survey's has %g m: the table is of another survey", line[0], n, columns(s.Dim)[2+a], v[a], x)
		}
	}
	static := v[s.Dim] / 1e3
	switch {
	case !math.IsNaN(to[n]):
		return role, fmt.Errorf("%s %d is there twice", line[0], n)
	case math.Abs(static) > largest:
		return role, fmt.Errorf("static_ms is %g, at most %g in magnitude", v[s.Dim], 1e3*float64(largest))
	}
	to[n], z[n] = static, v[s.Dim+1]
	role.moved = v[s.Dim+1] != v[s.Dim-1]
	return role, nil
}
