package config

import (
	"sort"
	"strings"
)

// positions are the lines of the sections and keys of a TOML document. The
// parser does not tell where a key stands, so the source is scanned for it.
type positions struct {
	offset   map[[2]string]int // {section, key}, and {section, ""}: first mention
	newlines []int
}

// line is the line of a key, of its section if key is empty; 0 if not found.
func (p *positions) line(section, key string) int {
	at, ok := p.offset[[2]string{section, key}]
	if !ok {
		return 0
	}
	return 1 + sort.SearchInts(p.newlines, at)
}

// scanner walks over a document that the parser has already found to be valid,
// so it need not tell good syntax from bad; on anything else it may lose its
// way but always ends.
type scanner struct {
	src string
	at  int
	pos *positions
}

// scan finds the sections and keys of a valid document.
func scan(src string) *positions {
	s := &scanner{src: src, pos: &positions{offset: map[[2]string]int{}}}
	for i := range len(src) {
		if src[i] == '\n' {
			s.pos.newlines = append(s.pos.newlines, i)
		}
	}
	var header []string
	for {
		s.skip(" \t\r\n")
		start := s.at
		switch s.peek() {
		case 0:
			return s.pos
		case '#':
			s.line()
		case '[':
			s.skip("[ \t")
			header = s.key()
			s.record(header, start)
			s.line()
		default:
			s.pair(header)
		}
		if s.at == start {
			s.at++
		}
	}
}

// peek is the byte at hand, 0 at the end.
func (s *scanner) peek() byte {
	if s.at >= len(s.src) {
		return 0
	}
	return s.src[s.at]
}

func (s *scanner) skip(set string) {
	for s.at < len(s.src) && strings.IndexByte(set, s.src[s.at]) >= 0 {
		s.at++
	}
}

// line skips the rest of the line.
func (s *scanner) line() {
	for s.at < len(s.src) && s.src[s.at] != '\n' {
		s.at++
	}
}

func (s *scanner) record(path []string, at int) {
	for n := 1; n <= min(2, len(path)); n++ {
		var k [2]string
		copy(k[:], path[:n])
		if _, seen := s.pos.offset[k]; !seen {
			s.pos.offset[k] = at
		}
	}
}

// pair walks over `key = value`.
func (s *scanner) pair(header []string) {
	start := s.at
	path := append(header[:len(header):len(header)], s.key()...)
	s.record(path, start)
	s.skip(" \t=")
	// Below section and key nothing needs a line, so deeper tables are skipped.
	if s.peek() != '{' || len(path) >= 2 {
		s.value()
		return
	}
	s.at++
	for {
		s.skip(" \t\r\n,")
		switch s.peek() {
		case 0:
			return
		case '}':
			s.at++
			return
		case '#':
			s.line()
		default:
			before := s.at
			s.pair(path)
			if s.at == before {
				s.at++
			}
		}
	}
}

// key reads a key of one or more parts with dots between.
func (s *scanner) key() []string {
	var parts []string
	for {
		s.skip(" \t")
		start := s.at
		switch s.peek() {
		case '"', '\'':
			s.quoted()
			if v, ok := decodeValue(s.src[start:s.at]); ok {
				part, _ := v.(string)
				parts = append(parts, part)
			}
		default:
			for s.at < len(s.src) && strings.IndexByte(" \t\r\n.=]#\"',{}[", s.src[s.at]) < 0 {
				s.at++
			}
			parts = append(parts, s.src[start:s.at])
		}
		s.skip(" \t")
		if s.peek() != '.' {
			return parts
		}
		s.at++
	}
}

// value skips one value: to the end of its line, the comma or the brace of the
// table that it stands in.
func (s *scanner) value() {
	for depth := 0; s.at < len(s.src); {
		switch c := s.src[s.at]; c {
		case '"', '\'':
			s.quoted()
			continue
		case '#':
			s.line()
			continue
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return
			}
			depth--
		case ',', '\n':
			if depth == 0 {
				return
			}
		}
		s.at++
	}
}

// quoted skips a string of any of the four kinds.
func (s *scanner) quoted() {
	q := s.src[s.at : s.at+1]
	long := strings.Repeat(q, 3)
	if strings.HasPrefix(s.src[s.at:], long) {
		q = long
	}
	s.at += len(q)
	for s.at < len(s.src) {
		switch {
		case strings.HasPrefix(s.src[s.at:], q):
			s.at += len(q)
			// Up to two quotes may stand right before the closing three.
			for len(q) == 3 && s.at < len(s.src) && s.src[s.at] == q[0] {
				s.at++
			}
			return
		case s.src[s.at] == '\\' && q[0] == '"':
			s.at += 2
		default:
			s.at++
		}
	}
	s.at = len(s.src)
}
