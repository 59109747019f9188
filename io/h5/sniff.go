package h5

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
)

var signature = []byte("\x89HDF\r\n\x1a\n")

// Sniff looks at a path without the library and says in plain words why it cannot be
// an HDF5 file; nil where it may be one.
func Sniff(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return inputError(path, "", "no such file%w", hidden{err})
	case err != nil:
		return resourceError(path, "", cause(err))
	case plainfile.Check(info) != nil:
		return inputError(path, "", "%w, want an HDF5 file", plainfile.Check(info))
	case info.Size() == 0:
		return inputError(path, "", "is empty")
	}
	f, err := plainfile.Open(path)
	if err != nil {
		return resourceError(path, "", cause(err))
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return resourceError(path, "", cause(err))
	}
	head = head[:n]
	if bytes.HasPrefix(head, signature) {
		return nil
	}
	// A user block may stand before the signature, which then lies at 512 bytes
	// times a power of two.
	mark := make([]byte, len(signature))
	for at := int64(512); at < info.Size(); at *= 2 {
		if _, err := f.ReadAt(mark, at); err == nil && bytes.Equal(mark, signature) {
			return nil
		}
	}
	return inputError(path, "", "is not an HDF5 file but %s", looksLike(head))
}

func looksLike(head []byte) string {
	for _, k := range []struct{ magic, name string }{
		{"\x93NUMPY", "a NumPy array"},
		{"PK\x03\x04", "a zip archive (or NumPy .npz)"},
		{"CDF", "a classic netCDF file"},
		{"\x1f\x8b", "gzip-compressed"},
		{"MATLAB 5.0", "a MATLAB file before version 7.3"},
		{"\xc3\x40\xf1", "perhaps SEG-Y"}, // "C 1" of its first card, in EBCDIC
		{"C 1 ", "perhaps SEG-Y"},
	} {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return k.name
		}
	}
	text := head
	for cut := 1; cut < utf8.UTFMax && len(text) > 256 && !utf8.Valid(text); cut++ {
		text = text[:len(text)-1] // the piece may end inside a character
	}
	if utf8.Valid(text) && bytes.IndexFunc(text, control) < 0 {
		line, _, _ := bytes.Cut(text, []byte("\n"))
		if len(line) > 40 {
			line = append(line[:40:40], "..."...)
		}
		return fmt.Sprintf("a text file that begins with %q", line)
	}
	return fmt.Sprintf("begins with bytes % x", head[:min(8, len(head))])
}

func control(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }

// cause drops the path that the os package puts before its reason: ours stands
// there already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// hidden keeps an error in the chain without its text.
type hidden struct{ error }

func (hidden) Error() string   { return "" }
func (h hidden) Unwrap() error { return h.error }
