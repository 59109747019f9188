package h5

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/sniff"
)

// fuzzReaders gives whole files to all readers in a child process, because a
// fault inside libhdf5 is not ours and would end the search. Search with
// -fuzzminimizetime 1x: making interesting files smaller takes all the time
// otherwise.
func fuzzReaders(f *testing.F, seed func(path string)) {
	path := filepath.Join(f.TempDir(), "seed.h5")
	seed(path)
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<20 {
			return
		}
		path := filepath.Join(t.TempDir(), "a.h5")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		limit := patience
		if flag.Lookup("test.fuzzworker").Value.String() == "true" {
			limit = 700 * time.Millisecond // the search takes a second without an answer for a fault
		}
		judgeChild(t, path, limit)
	})
}

func FuzzReadSurvey(f *testing.F) {
	fuzzReaders(f, func(path string) { writeRaw(f, path, rawSurvey()) })
}

func FuzzReadModel(f *testing.F) {
	fuzzReaders(f, func(path string) {
		if err := WriteModel(path, testGrid(), make([]float32, testGrid().Len()), WriteOptions{}); err != nil {
			f.Fatal(err)
		}
	})
}

func FuzzReadImage(f *testing.F) {
	fuzzReaders(f, func(path string) {
		im := &Image{Grid: testGrid(), Data: make([]float32, testGrid().Len()), ResidualNorm: []float64{1}, GradientNorm: []float64{1}, Config: "a = 1\n"}
		if err := WriteImage(path, im, WriteOptions{}); err != nil {
			f.Fatal(err)
		}
	})
}

func FuzzOpenTables(f *testing.F) {
	fuzzReaders(f, func(path string) {
		writeRaw(f, path, tableFile(func(map[string]*rawDataset) {}))
	})
}

// The look at what is not HDF5 is all our own and runs here.
func FuzzSniff(f *testing.F) {
	for _, s := range []string{"", "text\n", "\xc3\x40\xf1", sniff.Signature, strings.Repeat("ü", 300)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		err := Sniff(path)
		if has := strings.Contains(string(b), sniff.Signature); err == nil && !has {
			t.Errorf("taken for HDF5 without a signature: %q", b)
		}
		if strings.HasPrefix(string(b), sniff.Signature) && err != nil {
			t.Errorf("refused with a signature in front: %v", err)
		}
	})
}
