package segy

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/encoding/charmap"
)

// textBytes is the size of a textual header: 40 lines of 80 columns (section 4).
const (
	textBytes   = 3200
	textColumns = 80
	textRows    = textBytes / textColumns
)

// decodeText reads a textual header in EBCDIC or ASCII, whichever makes more
// letters, digits and blanks of it. Lines end without blanks; what neither code
// prints is a blank.
func decodeText(raw []byte) string {
	score := func(table func(byte) byte) (n int) {
		for _, b := range raw {
			c := table(b)
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
				n++
			}
		}
		return n
	}
	table := fromEBCDIC
	if score(fromASCII) >= score(fromEBCDIC) {
		table = fromASCII
	}
	var lines []string
	for row := range slices.Chunk(raw, textColumns) {
		line := bytes.Clone(row)
		for i, b := range line {
			line[i] = table(b)
		}
		lines = append(lines, strings.TrimRight(string(line), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// textual reports whether a record of a file is a text rather than a trace header
// and samples: its first line is printable, in ASCII or in EBCDIC.
func textual(raw []byte) bool {
	ascii, other := true, true
	for _, b := range raw[:textColumns] {
		ascii = ascii && (b == ' ' || fromASCII(b) != ' ' || b == '\n' || b == '\r' || b == '\t')
		other = other && (b == 0x40 || fromEBCDIC(b) != ' ' || b == 0x15 || b == 0x25 || b == 0x0D) // blank and ends of lines
	}
	return ascii || other
}

// fromASCII is the character of a code, a blank for what is not printable.
func fromASCII(b byte) byte {
	if b < ' ' || b > '~' {
		return ' '
	}
	return b
}

// fromEBCDIC is fromASCII for EBCDIC, IBM code page 037.
func fromEBCDIC(b byte) byte {
	r := charmap.CodePage037.DecodeByte(b)
	if r > '~' {
		return ' '
	}
	return fromASCII(byte(r))
}

// encodeText makes a textual header in EBCDIC: at most 40 lines, which get their
// "C 1 " to "C40 ", of at most 76 characters; what EBCDIC lacks becomes a blank.
func encodeText(lines []string) []byte {
	raw := bytes.Repeat([]byte{0x40}, textBytes) // blanks
	for row := range textRows {
		line := fmt.Sprintf("C%2d ", row+1)
		if row < len(lines) {
			line += lines[row]
		}
		for col := range min(textColumns, len(line)) {
			if code, ok := charmap.CodePage037.EncodeRune(rune(line[col])); ok && line[col] < 0x7F && line[col] >= ' ' {
				raw[row*textColumns+col] = code
			}
		}
	}
	return raw
}
