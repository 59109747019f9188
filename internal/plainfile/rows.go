package plainfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Row is a line of a text of numbers.
type Row struct {
	Line   int // from 1
	Values []float64
}

// longestText bounds what is read of a text of numbers, bytes.
const longestText = 1 << 25

// ReadRows reads a text of finite numbers, a row a line. Blanks, tabs, commas or semicolons separate
// numbers. "#" and "%" begin comments. Lines before the first row that begin with a word are headings.
// A byte order mark and the line ends of any system are passed over.
//
// Commas inside numbers are decimal ones if blanks, tabs or semicolons separate the numbers and no
// number has a point. Commas that may also separate thousands are refused.
func ReadRows(path string) (rows []Row, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(Text(f), longestText+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > longestText:
		return nil, fmt.Errorf("%s: has more than %d bytes, which is no text of a few numbers", path, longestText)
	case bytes.IndexByte(text, 0) >= 0:
		return nil, fmt.Errorf("%s: holds a zero byte: this is no text", path)
	}
	t := &numbers{path: path, lines: strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text)), "\n")}
	for i, line := range t.lines {
		if at := strings.IndexAny(line, "#%"); at >= 0 {
			line = line[:at]
		}
		t.lines[i] = strings.TrimSpace(line)
	}
	t.passHeadings()
	if err := t.findCommas(); err != nil {
		return nil, err
	}
	for i := t.first; i < len(t.lines); i++ {
		v, err := t.row(i)
		if err != nil {
			return nil, err
		}
		if v != nil {
			rows = append(rows, Row{Line: i + 1, Values: v})
		}
	}
	if rows == nil {
		return nil, fmt.Errorf("%s: holds no number", path)
	}
	return rows, nil
}

// numbers is a text of numbers, as it is read.
type numbers struct {
	path    string
	lines   []string // without comments and blanks around
	first   int      // line, from 0, behind the headings
	decimal bool     // commas are decimal
}

// passHeadings passes over lines that begin with a word.
func (t *numbers) passHeadings() {
	for ; t.first < len(t.lines); t.first++ {
		begin := strings.FieldsFunc(t.lines[t.first], separates)
		if len(begin) == 0 {
			continue
		}
		if _, err := strconv.ParseFloat(begin[0], 64); err == nil || numeric.MatchString(begin[0]) {
			return
		}
	}
}

var (
	numeric   = regexp.MustCompile(`^[+-]?\.?\d`)
	inside    = regexp.MustCompile(`\d,\d`)
	thousands = regexp.MustCompile(`^[+-]?[1-9]\d{0,2}(,\d{3})+$`)
)

// findCommas finds out what commas mean.
func (t *numbers) findCommas() error {
	commas, decimals, groups, apart, line := 0, 0, 0, false, 0
	for i := t.first; i < len(t.lines); i++ {
		words := strings.FieldsFunc(t.lines[i], func(r rune) bool { return separates(r) && r != ',' })
		apart = apart || len(words) > 1
		for _, word := range words {
			n := strings.Count(word, ",")
			commas += n
			if n == 1 && inside.MatchString(word) && !strings.Contains(word, ".") {
				decimals++
			}
			if thousands.MatchString(word) {
				groups, line = groups+n, i+1
			}
		}
		if strings.Contains(t.lines[i], ".") {
			return nil // which is decimal, so that commas are not
		}
	}
	t.decimal = apart && commas > 0 && decimals == commas
	if t.decimal && groups == commas {
		return fmt.Errorf("%s: line %d: %q has commas that may be decimal or between thousands: write points", t.path, line, t.lines[line-1])
	}
	return nil
}

// row reads the numbers of a line; nil for none.
func (t *numbers) row(i int) (v []float64, err error) {
	separator := separates
	if t.decimal {
		separator = func(r rune) bool { return separates(r) && r != ',' }
	}
	for _, word := range strings.FieldsFunc(t.lines[i], separator) {
		text := word
		if t.decimal {
			text = strings.Replace(word, ",", ".", 1)
		}
		x, err := strconv.ParseFloat(text, 64)
		switch {
		case errors.Is(err, strconv.ErrRange) || err == nil && x-x != 0 || math.Abs(x) > math.MaxFloat32:
			return nil, fmt.Errorf("%s: line %d: %q is not finite", t.path, i+1, word)
		case err != nil || strings.ContainsAny(word, "xXpP_"):
			return nil, fmt.Errorf("%s: line %d: %q is no number", t.path, i+1, word)
		}
		v = append(v, x)
	}
	return v, nil
}

// separates says whether a character may separate numbers.
func separates(r rune) bool { return r == ' ' || r == '\t' || r == ',' || r == ';' }
