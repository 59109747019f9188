package config

import (
	"errors"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// positions finds the lines of the sections and keys of a valid TOML document.
type positions struct {
	source string
	meta   toml.MetaData
	doc    map[string]toml.Primitive
	asked  int
}

// mostAsked bounds the keys that a line is sought for: each takes time in proportion to
// the length of the document.
const mostAsked = 500

// locate parses the document, only for positions.
func locate(source string) *positions {
	p := &positions{source: source}
	p.meta, _ = toml.Decode(source, &p.doc)
	return p
}

// pin is a value that refuses to be decoded: only in such an error does the parser tell
// where a value stands.
type pin struct{}

func (*pin) UnmarshalTOML(any) error { return errors.New("here") }

// of is the line of a value, 0 where it is not known. A table without a header of its own has the
// line of its first key.
func (p *positions) of(v toml.Primitive) int {
	if p.asked++; p.asked > mostAsked {
		return 0
	}
	var here toml.ParseError
	if errors.As(p.meta.PrimitiveDecode(v, &pin{}), &here) && here.Position.Line > 0 {
		// Position.Line is the last one of a text of several lines.
		line, _ := place(p.source, here.Position.Start)
		return line
	}
	first := 0
	for _, inner := range p.table(v) {
		if line := p.of(inner); first == 0 || line < first {
			first = line
		}
	}
	return first
}

// table returns the keys of a table, nil if v is not a table.
func (p *positions) table(v toml.Primitive) (keys map[string]toml.Primitive) {
	if p.meta.PrimitiveDecode(v, &keys) != nil {
		return nil
	}
	return keys
}

// line is the line of a key, of its section if key is empty; 0 if it is not known.
func (p *positions) line(section, key string) int {
	v, ok := p.doc[section]
	if ok && key != "" {
		v, ok = p.table(v)[key]
	}
	if !ok {
		return 0
	}
	return p.of(v)
}

// place is the line and column, from 1 and in bytes, of an offset.
func place(source string, at int) (line, column int) {
	before := source[:at]
	return 1 + strings.Count(before, "\n"), at - strings.LastIndexByte(before, '\n')
}

// deepest limits the nesting of brackets or braces, and the parts of a key with dots. A
// configuration needs two of either. The parser's time grows with the square of the
// depth, and its stack with the depth.
const deepest = 16

// unstructured are the texts and comments of a document, in which brackets count for
// nothing.
var unstructured = regexp.MustCompile(`"""(?s:\\.|[^\\])*?"{3,5}|'''(?s:.*?)'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*`)

// tooDeep finds the first place in a TOML document that goes deeper than deepest: its
// offset in bytes, -1 if there is none. The document need not be valid.
func tooDeep(source string) int {
	source = unstructured.ReplaceAllStringFunc(source, func(s string) string { return strings.Repeat(" ", len(s)) })
	depth, dots := 0, 0
	for at, c := range []byte(source) {
		switch c {
		case '[', '{':
			depth, dots = depth+1, 0
		case ']', '}':
			depth, dots = max(0, depth-1), 0
		case '\n', '=', ',':
			dots = 0
		case '.':
			dots++
		}
		if depth > deepest || dots >= deepest {
			return at
		}
	}
	return -1
}
