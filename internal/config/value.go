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
	"github.com/dustin/go-humanize/english"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// check holds a decoded TOML value against the field and returns it in the
// field's own type (a path still as a string). If the value does not fit, found says what it is;
// otherwise found is empty.
func (f *Field) check(v any) (typed any, found string) {
	s, ok := v.(string)
	if n, isWhole := v.(int64); isWhole && f.Type == "text" { // 3 stands for "3"
		s, ok = strconv.FormatInt(n, 10), true
	}
	if b, isBool := v.(bool); isBool && f.truth[1] != "" {
		s, ok = f.truth[0], true
		if b {
			s = f.truth[1]
		}
	}
	switch f.Type {
	case "text":
		typed, ok = s, ok && slices.Contains(f.Choices, s)
	case "path":
		switch {
		case strings.ContainsFunc(s, isControl):
			return nil, describe(v) + " with control characters"
		case !utf8.ValidString(s):
			return nil, describe(v) + " that is not UTF-8"
		}
		typed, ok = s, ok && (s != "" || !f.Required)
	case "bool":
		typed, ok = v.(bool)
	case "integer":
		typed, ok = f.integer(v)
	case "number":
		typed, ok = f.number(v)
	case "integers":
		return checkList(f, v, f.integer)
	case "numbers":
		return checkList(f, v, f.number)
	}
	if !ok {
		return nil, describe(v)
	}
	return typed, ""
}

// checkList is check for a list, whose values read gives in their own type.
func checkList[T any](f *Field, v any, read func(any) (T, bool)) (typed any, found string) {
	if _, isNumber := f.number(v); isNumber && f.scalar {
		v = []any{v}
	}
	list, ok := v.([]any)
	if !ok || f.Lengths != nil && !slices.Contains(f.Lengths, len(list)) {
		return nil, describe(v)
	}
	values := make([]T, len(list))
	for i, e := range list {
		if values[i], ok = read(e); !ok {
			return nil, describe(e) + " as value " + strconv.Itoa(i+1)
		}
	}
	return values, ""
}

// number accepts integers and floats in range; NaN and infinities never.
func (f *Field) number(v any) (float64, bool) {
	x, ok := v.(float64)
	if n, whole := v.(int64); whole {
		x, ok = float64(n), true
	}
	if !ok || math.IsNaN(x) || math.IsInf(x, 0) || x < f.lowest || x > f.highest || x == f.lowest && f.above {
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
		_, isText := v.(string)
		if _, isWhole := v.(int64); isWhole && f.Type == "text" {
			isText = true
		}
		if _, isBool := v.(bool); ok && (isText || isBool && f.truth[1] != "") {
			return f.check(v)
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

// kinds say in words what a field of each type accepts; %s are the lengths of a list.
var kinds = map[string]string{
	"path": "a path in quotes", "bool": "true or false", "integer": "a whole number", "number": "a number",
	"integers": "a list of %swhole numbers", "numbers": "a list of %snumbers",
}

// want says in words what the field accepts.
func (f *Field) want() string {
	if f.Type == "text" {
		return "one of " + strings.Join(f.quoted(f.Choices), ", ")
	}
	s := kinds[f.Type]
	isList := strings.Contains(s, "%s")
	if isList {
		lengths := ""
		if f.Lengths != nil {
			lengths = english.WordSeries(strings.Fields(strings.Trim(fmt.Sprint(f.Lengths), "[]")), "or") + " "
		}
		s = fmt.Sprintf(s, lengths)
	}
	switch {
	case f.Range != "" && isList:
		s += ", each"
	case strings.HasSuffix(f.Range, "more"):
		s += ","
	}
	if f.Range != "" {
		s += " " + f.Range
	}
	if f.Unit != "" {
		s += ", in " + f.Unit
	}
	return s
}

// describe shows a decoded value and, where it is not plain to see, its type.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		return "the text " + clip(Quote(v))
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
