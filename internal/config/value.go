package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// check holds a decoded TOML value against the field and returns it in the
// field's own type (a path still as a string). If the value does not fit, found
// says what it is, else it is empty.
func (f *Field) check(v any) (typed any, found string) {
	switch f.Type {
	case "text":
		s, ok := v.(string)
		if !ok || !slices.Contains(f.Choices, s) {
			return nil, describe(v)
		}
		return s, ""
	case "path":
		s, ok := v.(string)
		if !ok || s == "" && f.Required {
			return nil, describe(v)
		}
		if strings.ContainsFunc(s, isControl) {
			return nil, describe(v) + " with control characters"
		}
		if !utf8.ValidString(s) {
			return nil, describe(v) + " that is not UTF-8"
		}
		return s, ""
	case "bool":
		b, ok := v.(bool)
		if !ok {
			return nil, describe(v)
		}
		return b, ""
	case "integer":
		n, ok := f.integer(v)
		if !ok {
			return nil, describe(v)
		}
		return n, ""
	case "number":
		x, ok := f.number(v)
		if !ok {
			return nil, describe(v)
		}
		return x, ""
	}
	return f.checkList(v)
}

func (f *Field) checkList(v any) (typed any, found string) {
	if _, isNumber := f.number(v); isNumber && f.scalar {
		v = []any{v}
	}
	list, ok := v.([]any)
	if !ok {
		return nil, describe(v)
	}
	if f.Lengths != nil && !slices.Contains(f.Lengths, len(list)) {
		return nil, describe(v)
	}
	ints, floats := []int{}, []float64{}
	for i, e := range list {
		var ok bool
		if f.Type == "integers" {
			var n int
			n, ok = f.integer(e)
			ints = append(ints, n)
		} else {
			var x float64
			x, ok = f.number(e)
			floats = append(floats, x)
		}
		if !ok {
			return nil, describe(e) + " as value " + strconv.Itoa(i+1)
		}
	}
	if f.Type == "integers" {
		return ints, ""
	}
	return floats, ""
}

// number accepts integers and floats in range; NaN and infinities never.
func (f *Field) number(v any) (float64, bool) {
	var x float64
	switch v := v.(type) {
	case int64:
		x = float64(v)
	case float64:
		x = v
	default:
		return 0, false
	}
	if math.IsNaN(x) || math.IsInf(x, 0) || !f.limits.contains(x) {
		return 0, false
	}
	return x + 0, true // -0 becomes 0
}

// integer accepts integers, and floats without a fraction, in range.
func (f *Field) integer(v any) (int, bool) {
	x, ok := f.number(v)
	// From 2^53 on a float64 no longer tells neighbouring integers apart.
	if !ok || x != math.Trunc(x) || math.Abs(x) >= 1<<53 {
		return 0, false
	}
	return int(x), true
}

// parse reads a value from text typed at a prompt or written in a tag: TOML, or
// for texts and paths the bare words, or for lists the values without brackets.
func (f *Field) parse(text string) (typed any, found string) {
	v, ok := decodeValue(text)
	switch f.Type {
	case "text", "path":
		if s, isText := v.(string); ok && isText {
			return f.check(s)
		}
		return f.check(text)
	case "integers", "numbers":
		if !ok && strings.Contains(text, ",") {
			v, ok = decodeValue("[" + text + "]")
		}
		if _, number := f.number(v); ok && number {
			v = []any{v} // brackets may be left out
		}
	}
	if strings.TrimSpace(text) == "" {
		return nil, "nothing"
	}
	if !ok {
		return nil, clip(text)
	}
	return f.check(v)
}

// decodeValue reads one TOML value.
func decodeValue(text string) (any, bool) {
	if tooDeep(text) >= 0 {
		return nil, false
	}
	doc := map[string]any{}
	if _, err := toml.Decode("v = "+text, &doc); err != nil || len(doc) != 1 {
		return nil, false
	}
	v, ok := doc["v"]
	return v, ok
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// want says in words what the field accepts.
func (f *Field) want() string {
	var s string
	switch f.Type {
	case "text":
		quoted := make([]string, len(f.Choices))
		for i, c := range f.Choices {
			quoted[i] = quote(c)
		}
		return "one of " + strings.Join(quoted, ", ")
	case "path":
		return "a path in quotes"
	case "bool":
		return "true or false"
	case "integer":
		s = "a whole number"
	case "number":
		s = "a number"
	case "integers":
		s = "a list of " + lengths(f.Lengths) + "whole numbers"
	case "numbers":
		s = "a list of " + lengths(f.Lengths) + "numbers"
	}
	if f.Range != "" {
		switch {
		case f.Type == "integers", f.Type == "numbers":
			s += ", each"
		case strings.HasSuffix(f.Range, "more"):
			s += ","
		}
		s += " " + f.Range
	}
	if f.Unit != "" {
		s += ", in " + f.Unit
	}
	return s
}

// lengths says "2 ", "0 or 2 ", "0, 2 or 3 ", and nothing where any will do.
func lengths(n []int) string {
	if n == nil {
		return ""
	}
	words := make([]string, len(n))
	for i, v := range n {
		words[i] = strconv.Itoa(v)
	}
	if len(words) == 1 {
		return words[0] + " "
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last] + " "
}

// describe shows a decoded value and, where it is not plain to see, its type.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		return "the text " + clip(quote(v))
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "a list of tables"
	case []any:
		if len(v) == 1 {
			return "the list " + clip(encode(v)) + " of 1 value"
		}
		return fmt.Sprintf("the list %s of %s", clip(encode(v)), readable.Count(len(v), "value"))
	case time.Time:
		return "a date or time"
	}
	return clip(encode(v))
}

// oneLine takes out what would break a line or confuse a terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// clip keeps a part of a message on one short line.
func clip(s string) string {
	s = oneLine(s)
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return s
}
