package picture

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// A picture tells what drew it from what, and is the same picture.
func TestOrigin(t *testing.T) {
	f, err := Image(grid2(3, 4), make([]float32, 12), Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "p.png")
	var plain, marked bytes.Buffer
	if err := f.Encode(&plain); err != nil {
		t.Fatal(err)
	}
	f.Software, f.Source = "lsm plot", "Bilder/größe.h5\nb.h5"
	if err := f.Encode(&marked); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(marked.Bytes()))
	if err != nil {
		t.Fatalf("the texts spoil the file: %v", err)
	}
	var again bytes.Buffer
	if err := png.Encode(&again, img); err != nil || !bytes.Equal(again.Bytes(), plain.Bytes()) {
		t.Errorf("the texts change the picture: %v", err)
	}
	for _, c := range []struct {
		name             string
		file             []byte
		software, source string
	}{
		{"marked", marked.Bytes(), f.Software, f.Source},
		{"plain", plain.Bytes(), "", ""},
		{"cut short", marked.Bytes()[:pngHead+20], "", ""},
		{"a length beyond the file", append(bytes.Clone(marked.Bytes()[:pngHead]), "\xff\xff\xff\xffiTXtSoftware\x00\x00\x00\x00\x00x"...), "", ""},
		{"no picture", []byte("Software lsm plot"), "", ""},
		{"empty", nil, "", ""},
	} {
		if err := os.WriteFile(path, c.file, 0o644); err != nil {
			t.Fatal(err)
		}
		if software, source := Origin(path); software != c.software || source != c.source {
			t.Errorf("%s: %q of %q, want %q of %q", c.name, software, source, c.software, c.source)
		}
	}
	for _, no := range []string{filepath.Dir(path), path + "none"} {
		if software, source := Origin(no); software != "" || source != "" {
			t.Errorf("%s: %q of %q", no, software, source)
		}
	}
}
