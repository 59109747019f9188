package navigation

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
)

// Values are numbers about a trace, by the names that lsm import has for them: positions,
// elevations and depths in m ("source_x", "receiver_elevation", ...), statics in ms
// ("source_static").
type Values map[string]float64

// Source finds numbers of traces.
type Source interface {
	// Find returns what the files say about the trace whose header has the given numbers; get
	// reads one by its name, such as "fldr". missing says what the files lack, "" for nothing.
	Find(get func(word string) int64) (v Values, missing string)
	// Unused lists records that no trace has asked for, at most so many, and how many there are.
	Unused(most int) (list []string, n int)
	// About says in one line what was read.
	About() string
	// Names lists the numbers that the source gives.
	Names() []string
}

// Error is what is wrong with a file.
type Error struct {
	Path string
	Line int // from 1; 0 for the whole file
	Err  error
}

// Error names file and line.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s: line %d: %v", e.Path, e.Line, e.Err)
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// farthest bounds coordinates, m.
const farthest = 1e9

// longestLine bounds a line of a file, bytes.
const longestLine = 1 << 16

// lines calls do for every line of a text file, without its end.
func lines(path string, do func(line string) error) error {
	f, err := plainfile.Open(path)
	if err != nil {
		return openError(path, err)
	}
	defer f.Close()
	s := bufio.NewScanner(plainfile.Text(f))
	s.Buffer(nil, longestLine)
	n := 0
	for s.Scan() {
		n++
		if strings.ContainsRune(s.Text(), 0) {
			return &Error{path, n, errors.New("holds a zero byte: this is no text")}
		}
		if err := do(s.Text()); err != nil {
			return &Error{path, n, err}
		}
	}
	if err := s.Err(); err != nil {
		return &Error{path, n + 1, err}
	}
	return nil
}

func openError(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		err = errors.New("no such file")
	}
	return &Error{path, 0, plainfile.Cause(err)}
}

// columns are those of a record from one to another, counted from 1, without blanks around.
// They are empty where the record ends before.
func columns(record string, from, to int) string {
	if len(record) < from {
		return ""
	}
	return strings.TrimSpace(record[from-1 : min(to, len(record))])
}

// number reads a number in columns of a record; given is false where they are blank.
func number(record string, from, to int, name string) (v float64, given bool, err error) {
	text := columns(record, from, to)
	if text == "" {
		return 0, false, nil
	}
	v, err = strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(v) <= farthest) || strings.ContainsAny(text, "xXpP_") {
		return 0, false, fmt.Errorf("columns %d to %d, %s: %q is no number of at most %g", from, to, name, text, farthest)
	}
	return v, true, nil
}

// reader reads the fields of a record; the first fault stays.
type reader struct {
	record string
	err    error
}

// need is a number that must be there.
func (r *reader) need(from, to int, name string) float64 {
	v, given := r.may(from, to, name)
	if !given && r.err == nil {
		r.err = fmt.Errorf("columns %d to %d, %s: blank", from, to, name)
	}
	return v
}

// may is a number that may be blank.
func (r *reader) may(from, to int, name string) (float64, bool) {
	v, given, err := number(r.record, from, to, name)
	if r.err == nil {
		r.err = err
	}
	return v, given
}

// whole is a whole number that must be there.
func (r *reader) whole(from, to int, name string) int64 {
	v := r.need(from, to, name)
	if v != math.Trunc(v) && r.err == nil {
		r.err = fmt.Errorf("columns %d to %d, %s: %g is no whole number", from, to, name, v)
	}
	return int64(v)
}
