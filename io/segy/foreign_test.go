package segy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// What other programs write is told by its first bytes, whatever follows.
func TestForeignFiles(t *testing.T) {
	for begin, want := range map[string]string{
		"\x89HDF\r\n\x1a\n": "is an HDF5 file, not SEG-Y or SU", "\x1f\x8b\x08": "is compressed with gzip",
		"\x55\x3a\x01\x00": "is a SEG-2 file", "\x3a\x55\x00\x01": "is a SEG-2 file",
		"II*\x00": "is a TIFF picture", "MM\x00*": "is a TIFF picture", "\x89PNG\r\n\x1a\n": "is a PNG picture",
		"\xff\xd8\xff": "is a JPEG picture", "PK\x03\x04": "is a zip archive", "\x93NUMPY": "is a NumPy array",
	} {
		for _, name := range []string{"a.sgy", "a.su"} {
			for _, n := range []int{len(begin), 5000} {
				b := make([]byte, n)
				copy(b, begin)
				_, err := NewFile(name, bytes.NewReader(b), int64(n), Options{})
				var other *Foreign
				if !errors.As(err, &other) || !strings.HasPrefix(err.Error(), name+": "+want) {
					t.Errorf("%q, %d bytes: %v, want %s", begin, n, err, want)
				}
			}
		}
	}
	for text, want := range map[string]string{
		"1 2 3\n":                           `is a text file that begins with "1 2 3", not SEG-Y or SU`,
		strings.Repeat("# prose\r\n", 1000): `is a text file that begins with "# prose"`,
		"höhe\n":                            `is a text file that begins with "höhe"`,
	} {
		mustFail(t, []byte(text), Options{}, want)
	}
	// A textual header in ASCII is none.
	b := made(t, Spec{Major: 1, Samples: 10, Interval: 4000}, 3)
	copy(b, bytes.Repeat([]byte("just words of the client      "), 107)[:textBytes])
	if f, err := open(b, Options{}); err != nil || f.Fixed != 10 {
		t.Errorf("%v", err)
	}
	mustFail(t, b[:3199], Options{}, "is a text file")
	mustFail(t, []byte("C 1 CLIENT"), Options{}, "has 10 bytes, less than the 3600")
	if _, err := NewFile("a.su", bytes.NewReader(made(t, Spec{Major: 1, Samples: 10, Interval: 4000}, 3)), 4440, Options{}); err == nil || !strings.Contains(err.Error(), "looks like a SEG-Y file, not SU") {
		t.Errorf("SEG-Y called .su: %v", err)
	}
}

// What has no sample format may be SU or SEG-D.
func TestLookalikes(t *testing.T) {
	su := made(t, Spec{Kind: SU, Samples: 100, Interval: 4000}, 10)
	mustFail(t, su, Options{}, "looks like an SU file, not SEG-Y")
	if f, err := open(su, Options{Kind: SU}); err != nil || f.Fixed != 100 {
		t.Errorf("%v", err)
	}
	segd := make([]byte, 10000)
	copy(segd, "\x00\x01\x80\x58")
	mustFail(t, segd, Options{}, "looks like a SEG-D file, not SEG-Y")
	mustFail(t, make([]byte, 10000), Options{}, "byte 3225 (sample format code): is 0")
}

// Opening a pipe would wait for its writer for ever.
func TestNotPlainFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no pipes in folders here")
	}
	pipe := filepath.Join(t.TempDir(), "pipe.sgy")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.sgy")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "is not a regular file but a named pipe", link: "is not a regular file but a named pipe", t.TempDir(): "is a folder", "/dev/null": "is not a regular file but a device"} {
		if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), path+": "+want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// Records of text between the headers and the traces are found in revision 0 too,
// whether byte 3505 counts them or not; a number there that counts nothing is passed
// over.
func TestTextsOfRevision0(t *testing.T) {
	for name, c := range map[string]struct {
		texts  int64
		first  []byte
		others int
		note   bool
	}{
		"counted, ASCII":     {3, []byte("((SEG:Layout ver 1.0))\r\n"), 2, true},
		"counted, EBCDIC":    {3, encodeText([]string{"MORE"}), 2, true},
		"found by their end": {-1, []byte("((JUNK ver 1.0))"), 0, true},
		"not counted":        {0, []byte("((SEG:Layout ver 1.0)) <xml>"), 1, true},
		"none but a number":  {2, nil, 0, false},
		"none but -1":        {-1, nil, 0, false},
		"far too many":       {30000, nil, 0, false},
	} {
		b := put(made(t, Spec{Samples: 10, Interval: 4000}, 3), bigEndian, fileTexts, c.texts)
		var texts []byte
		for i := range c.others + 1 {
			text := bytes.Repeat([]byte{' '}, textBytes)
			switch {
			case i == 0:
				copy(text, c.first)
			case c.texts < 0:
				copy(text, "((SEG: EndText))")
			}
			if c.first != nil {
				texts = append(texts, text...)
			}
		}
		if c.texts < 0 && c.first != nil {
			end := bytes.Repeat([]byte{' '}, textBytes)
			copy(end, "((SEG: EndText))")
			texts = append(texts, end...)
		}
		f, err := open(bytes.Join([][]byte{b[:reelBytes], texts, b[reelBytes:]}, nil), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all, err := readAll(f)
		if err != nil || len(all) != 3 || all[2].Samples[1] != 17 {
			t.Errorf("%s: %d traces, %v", name, len(all), err)
		}
		if noted := strings.Contains(strings.Join(f.Notes, "\n"), "extended textual headers, which byte 3505 of revision 0"); noted != c.note {
			t.Errorf("%s: notes %q", name, f.Notes)
		}
	}
}

// Revision 2.1 shortened the number of header extensions to two bytes; a file of two
// that calls itself 2.0 is read all the same.
func TestExtraHeadersOfTwoBytes(t *testing.T) {
	b := made(t, Spec{Major: 2, Samples: 10, Interval: 4000}, 2)
	trace := len(b[reelBytes:]) / 2
	extended := bytes.Clone(b[:reelBytes])
	for i := range 2 {
		at := reelBytes + i*trace
		extended = append(extended, b[at:at+headerBytes]...)
		extended = append(extended, make([]byte, headerBytes)...)
		extended = append(extended, b[at+headerBytes:at+trace]...)
	}
	binary.BigEndian.PutUint16(extended[3506:], 1)
	f, err := open(extended, Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := readAll(f)
	if err != nil || len(all) != 2 || all[1].Samples[1] != 10 || len(f.Notes) != 1 || !strings.Contains(f.Notes[0], "taken as 1, the number of two bytes") {
		t.Errorf("%d traces, notes %q, %v", len(all), f.Notes, err)
	}
}

// A trace beyond the caller's limit is refused before its samples are given room.
func TestLongestTrace(t *testing.T) {
	f, err := open(made(t, Spec{Major: 1, Samples: 10, Interval: 4000}, 3), Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.MaxSamples = 9
	if _, err := readAll(f); !errors.Is(err, ErrTooLong) || !strings.Contains(err.Error(), "the limit 9") {
		t.Errorf("%v", err)
	}
}
