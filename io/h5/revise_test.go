package h5

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// TestRevise changes attributes of the root; everything else stays, and all digests match.
func TestRevise(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.h5")
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{3, 2}}
	image := &Image{Grid: g, Data: []float32{1, 2, 3, 4, 5, 6}}
	if err := WriteImage(path, image, WriteOptions{Attrs: []Attr{{"note", "kept"}, {"ranks", int64(3)}, {"m_old", "gone"}}}); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(path), "other.h5")
	for _, out := range []string{other, path} {
		if err := Revise(path, out, "m_", []Attr{{"m_title", "new"}}, false); err != nil {
			t.Fatal(err)
		}
		d, err := Describe(out, DescribeOptions{Digest: true})
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]any{}
		for _, a := range d.Attrs {
			have[a.Name] = a.Value
		}
		if have["m_title"] != "new" || have["m_old"] != nil || have["note"] != "kept" || have["ranks"] != int64(3) || have["format"] != FormatImage {
			t.Errorf("%s: attributes %v", out, have)
		}
		if text, _ := have[sealAttr].(string); !strings.Contains(text, " note ") || !strings.Contains(text, " m_title") || !strings.Contains(text, " /image") || strings.Contains(text, "m_old") {
			t.Errorf("%s: sealed are %s", out, text)
		}
		for _, o := range d.Objects {
			if o.Class == "dataset" && o.Digest != DigestMatches {
				t.Errorf("%s: %s: digest %s", out, o.Name, o.Digest)
			}
		}
		if im, err := ReadImage(out); err != nil || im.Data[5] != 6 {
			t.Errorf("%s: %v %v", out, im, err)
		}
	}
	if err := Revise(path, other, "m_", nil, false); !errors.Is(err, ErrOutput) {
		t.Errorf("over a file that is there: %v", err)
	}
	// A number that has changed is not sealed in, and the file stays as it is.
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, littleEndian([]float32{1, 2, 3, 4, 5, 6}))
	if at < 0 {
		t.Fatal("the image is not stored as it is")
	}
	b[at] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Revise(path, path, "m_", nil, true); !errors.Is(err, ErrInput) {
		t.Errorf("a damaged file: %v", err)
	}
	if now, _ := os.ReadFile(path); !bytes.Equal(now, b) {
		t.Error("the damaged file has changed")
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
