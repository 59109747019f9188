package config

import "strings"

// deepest is how many brackets or braces may stand inside each other, and how many parts
// a key with dots may have. A configuration needs two of either; the time that the parser
// takes grows with the square, and its stack with the depth.
const deepest = 16

// tooDeep finds the first place in a TOML document that goes deeper than deepest: its
// offset in bytes, -1 if there is none. The document need not be valid.
func tooDeep(source string) int {
	depth, dots := 0, 0
	s := &scanner{src: source}
	for s.at < len(source) {
		switch source[s.at] {
		case '"', '\'':
			s.quoted()
			continue
		case '#':
			s.line()
			continue
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
			return s.at
		}
		s.at++
	}
	return -1
}

// place is the line and column, from 1 and in bytes, of an offset.
func place(source string, at int) (line, column int) {
	before := source[:at]
	return 1 + strings.Count(before, "\n"), at - strings.LastIndexByte(before, '\n')
}
