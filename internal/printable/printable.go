// Package printable keeps texts of unknown origin from commanding a terminal: names of
// files, attributes, messages of libraries. Everything that the program prints passes
// through it once, where it is written.
package printable

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is s with every control character but line feed and tab, every mark that turns
// the direction of writing, and every byte that is not UTF-8 written out: \u001b, \xff.
// The result is its own Text, and what is valid JSON stays so.
func Text(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unprintable(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// unprintable reports whether a terminal may do more with r than show it.
func unprintable(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return true
	}
	return unicode.Is(unicode.Bidi_Control, r)
}

// Writer applies Text to its input and writes the result to w. A character must not be cut in two by
// the caller.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ w io.Writer }

func (p writer) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.w, Text(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
