package navigation

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
)

// mostKeys bounds the columns of a key.
const mostKeys = 4

// Table is a CSV table of numbers, one row for each key.
type Table struct {
	path    string
	keys    []string
	names   []string // columns of numbers
	lengths []bool   // whether they are in m
	rows    map[[mostKeys]int64]*row
	order   [][mostKeys]int64
}

type row struct {
	values []float64 // NaN where blank
	used   bool
}

// ReadTable reads a CSV file whose first line names its columns. words are the header words
// that may be keys; key says which are, without it all columns that are words. The others must
// be among names. unit is the length of 1 in m, 0 for metres; statics are in ms.
func ReadTable(path string, key, words, names []string, unit float64) (*Table, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	defer f.Close()
	text := bufio.NewReader(plainfile.Text(f))
	in := csv.NewReader(text)
	in.Comment, in.Comma, in.ReuseRecord = '#', separator(text), true
	in.TrimLeadingSpace = in.Comma != '\t' // which it would trim too
	t := &Table{path: path, rows: map[[mostKeys]int64]*row{}}
	for {
		record, err := in.Read()
		switch {
		case errors.Is(err, io.EOF) && len(t.rows) == 0:
			return nil, &Error{path, 0, errors.New("has no rows of numbers")}
		case errors.Is(err, io.EOF):
			return t, nil
		case err != nil:
			return nil, &Error{path, 0, err}
		case t.names == nil:
			err = t.header(record, key, words, names)
		default:
			err = t.add(record, unit)
		}
		if err != nil {
			line, _ := in.FieldPos(0)
			return nil, &Error{path, line, err}
		}
	}
}

// separator is what stands between the columns of a table: commas, or where its first line has
// none, semicolons or tabs.
func separator(text *bufio.Reader) rune {
	begin, _ := text.Peek(text.Size()) // a shorter text is no fault
	for line := range strings.Lines(string(begin)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for _, comma := range ",;\t" {
			if strings.ContainsRune(line, comma) {
				return comma
			}
		}
		break
	}
	return ','
}

// header takes the names of the columns.
func (t *Table) header(record, key, words, names []string) error {
	for _, text := range record {
		name := strings.ToLower(strings.TrimSpace(text))
		if slices.Contains(t.names, name) {
			return fmt.Errorf("column %q is there twice", name)
		}
		isKey := slices.Contains(key, name) || key == nil && slices.Contains(words, name)
		switch {
		case isKey:
			t.keys = append(t.keys, name)
		case !slices.Contains(names, name):
			return fmt.Errorf("column %q is unknown, want a header word (%s) or one of %s", name, strings.Join(words, ", "), strings.Join(names, ", "))
		}
		t.names = append(t.names, name)
		t.lengths = append(t.lengths, !strings.HasSuffix(name, "_static"))
	}
	for _, name := range key {
		if !slices.Contains(t.keys, name) {
			return fmt.Errorf("there is no column %q, which --key names", name)
		}
	}
	switch {
	case len(t.keys) == 0:
		return fmt.Errorf("no column is a header word: %s", strings.Join(words, ", "))
	case len(t.keys) > mostKeys:
		return fmt.Errorf("%d columns are keys, at most %d", len(t.keys), mostKeys)
	case len(t.keys) == len(t.names):
		return errors.New("no column holds a position or a static correction")
	}
	return nil
}

// add takes a row.
func (t *Table) add(record []string, unit float64) error {
	var key [mostKeys]int64
	r := &row{}
	k := 0
	for i, text := range record {
		text = strings.TrimSpace(text)
		if slices.Contains(t.keys, t.names[i]) {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || v != math.Trunc(v) || !(math.Abs(v) <= math.MaxInt32) {
				return fmt.Errorf("column %s: %q is no whole number of a header", t.names[i], text)
			}
			key[k] = int64(v)
			k++
			continue
		}
		v := math.NaN()
		if text != "" {
			var err error
			if v, err = strconv.ParseFloat(text, 64); err != nil || !(math.Abs(v) <= farthest) {
				return fmt.Errorf("column %s: %q is no number of at most %g", t.names[i], text, farthest)
			}
			if t.lengths[i] && unit != 0 {
				v *= unit
			}
		}
		r.values = append(r.values, v)
	}
	if t.rows[key] != nil {
		return fmt.Errorf("%s is there before", t.keyText(key))
	}
	if err := t.wholePlaces(r.values); err != nil {
		return err
	}
	t.rows[key] = r
	t.order = append(t.order, key)
	return nil
}

func (t *Table) keyText(key [mostKeys]int64) string {
	var parts []string
	for k, name := range t.keys {
		parts = append(parts, fmt.Sprintf("%s %d", name, key[k]))
	}
	return strings.Join(parts, ", ")
}

// Find looks up the row of a trace.
func (t *Table) Find(get func(word string) int64) (Values, string) {
	var key [mostKeys]int64
	for k, name := range t.keys {
		key[k] = get(name)
	}
	r := t.rows[key]
	if r == nil {
		return nil, fmt.Sprintf("%s is not in %s", t.keyText(key), t.path)
	}
	r.used = true
	v := Values{}
	for i, name := range t.Names() {
		if r.values[i] == r.values[i] {
			v[name] = r.values[i]
		}
	}
	return v, ""
}

// Unused lists rows that no trace has.
func (t *Table) Unused(most int) (list []string, n int) {
	for _, key := range t.order {
		if t.rows[key].used {
			continue
		}
		if n++; len(list) < most {
			list = append(list, t.keyText(key))
		}
	}
	return list, n
}

// About says what was read.
func (t *Table) About() string {
	return fmt.Sprintf("%s: %d rows by %s with %s", t.path, len(t.rows), strings.Join(t.keys, ", "), strings.Join(t.Names(), ", "))
}

// Names lists what Find gives.
func (t *Table) Names() (list []string) {
	for _, name := range t.names {
		if !slices.Contains(t.keys, name) {
			list = append(list, name)
		}
	}
	return list
}
