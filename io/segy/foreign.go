package segy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// Foreign is a file of another format, told by its first bytes.
type Foreign struct {
	Format string // one of the Format… names below
	Begins string // beginning of a text, "" for all else
}

// Names of other formats, as messages have them.
const (
	FormatHDF5 = "an HDF5 file"
	FormatSEG2 = "a SEG-2 file"
	FormatText = "a text file"
	FormatGzip = "compressed with gzip"
	FormatTIFF = "a TIFF picture"
	FormatPNG  = "a PNG picture"
	FormatJPEG = "a JPEG picture"
	FormatZip  = "a zip archive"
	FormatSEGY = "a SEG-Y file" // where SU was expected
	FormatSU   = "an SU file"   // where SEG-Y was expected
	FormatSEGD = "a SEG-D file"
)

// Error says what the file is.
func (e *Foreign) Error() string {
	what := e.Format
	if e.Begins != "" {
		what += fmt.Sprintf(" that begins with %q", e.Begins)
	}
	switch e.Format {
	case FormatSEGY:
		return "looks like " + what + ", not SU"
	case FormatSU, FormatSEGD:
		return "looks like " + what + ", not SEG-Y"
	}
	return "is " + what + ", not SEG-Y or SU"
}

// magics are the first bytes of formats that traces may be confused with.
var magics = []struct{ bytes, format string }{
	{"\x89HDF\r\n\x1a\n", FormatHDF5},
	{"\x1f\x8b", FormatGzip},
	{"\x55\x3a\x01\x00", FormatSEG2}, {"\x3a\x55\x00\x01", FormatSEG2}, // Pullan (1990): block identifier, revision 1
	{"II*\x00", FormatTIFF}, {"MM\x00*", FormatTIFF}, {"II+\x00", FormatTIFF}, {"MM\x00+", FormatTIFF},
	{"\x89PNG\r\n\x1a\n", FormatPNG},
	{"\xff\xd8\xff", FormatJPEG},
	{"PK\x03\x04", FormatZip},
	{"BZh", "compressed with bzip2"},
	{"\xfd7zXZ\x00", "compressed with xz"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd"},
	{"CDF\x01", "a classic netCDF file"}, {"CDF\x02", "a classic netCDF file"},
	{"\x93NUMPY", "a NumPy array"},
	{"MATLAB 5.0", "a MATLAB file"},
	{"%PDF-", "a PDF document"},
}

// foreign tells a file that is neither SEG-Y nor SU by its first bytes; nil for one
// that may be.
func foreign(head []byte) *Foreign {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.bytes)) {
			return &Foreign{Format: m.format}
		}
	}
	// The first bytes of a SEG-Y file may be a text in ASCII, but the binary header
	// behind it is not.
	if len(head) == 0 || cardImage(head) || bytes.ContainsFunc(head[:min(len(head), reelBytes)], notText) {
		return nil
	}
	line := strings.TrimSpace(string(head))
	line, _, _ = strings.Cut(line, "\n")
	if line = strings.TrimSpace(line); len(line) > 40 {
		line = strings.ToValidUTF8(line[:40], "") + "..."
	}
	return &Foreign{Format: FormatText, Begins: line}
}

// lookalike is for a file without a sample format: one that is SU throughout, or begins
// with a format code of SEG-D (bytes 3 and 4 of its first general header).
func (f *File) lookalike() *Foreign {
	for _, o := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
		if n := TraceSamples.Int(f.Reel, o); n > 1 && f.Size%(headerBytes+4*n) == 0 {
			return &Foreign{Format: FormatSU}
		}
	}
	switch binary.BigEndian.Uint16(f.Reel[2:]) {
	case 0x8015, 0x8022, 0x8024, 0x8036, 0x8038, 0x8042, 0x8044, 0x8048, 0x8058:
		return &Foreign{Format: FormatSEGD}
	}
	return nil
}

// notText tells the characters that no text has; bytes that are no UTF-8 are among
// them.
func notText(r rune) bool {
	return r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' || r == 0x7F || r == '\uFFFD'
}

// cardImage reports whether a file begins like a textual header, "C 1" or "C01", in
// ASCII or EBCDIC: one that is cut short inside it.
func cardImage(head []byte) bool {
	for _, begin := range []string{"C 1", "C01", "\xc3\x40\xf1", "\xc3\xf0\xf1", "C1 ", "\xc3\xf1\x40"} {
		if bytes.HasPrefix(head, []byte(begin)) {
			return true
		}
	}
	return false
}
