package provenance

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

func full() Record {
	return Record{
		Command: "run", Version: "v1.2.0", Commit: "abc+changes", GoVersion: "go1.24.1", HDF5Version: "1.10.8",
		Host: "node17", Started: time.Date(2026, 3, 1, 12, 30, 5, 0, time.UTC), Ranks: 48, Threads: 16,
		Engine: "cuda", ISA: "avx512", Tables: "coarse", Device: "H200", Communicator: "nccl 2.27", MPI: "Open MPI 4.1.4", Reason: "stopped_iterations",
		Inputs: []Input{{"survey", "a/s.h5", "00ff"}, {"velocity", "m.h5", "11ee"}},
	}
}

// The record survives a file, in which attributes come back ordered by name.
func TestRecordThroughFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "i.h5")
	im := &h5.Image{
		Grid: grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{1, 1}, Shape: []int{1, 2}},
		Data: []float32{1, 2}, Attrs: full().Attrs(),
	}
	if err := h5.WriteImage(path, im, h5.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := h5.ReadImage(path)
	if err != nil {
		t.Fatal(err)
	}
	if r := FromAttrs(got.Attrs); !reflect.DeepEqual(r, full()) {
		t.Errorf("read %+v\nwrote %+v", r, full())
	}
}

func TestEmptyFieldsAreLeftOut(t *testing.T) {
	if got := (Record{}).Attrs(); len(got) != 1 || got[0].Name != "program" {
		t.Errorf("attributes of an empty record: %v", got)
	}
}

func TestForeignAttributesArePassedOver(t *testing.T) {
	r := FromAttrs([]h5.Attr{{Name: "ranks", Value: "four"}, {Name: "host", Value: int64(3)}, {Name: "input_survey", Value: 1.5}, {Name: "mine", Value: "x"}})
	if !reflect.DeepEqual(r, Record{}) {
		t.Errorf("got %+v, want an empty record", r)
	}
}

func TestNewKnowsItself(t *testing.T) {
	r := New("run")
	if r.Command != "run" || r.GoVersion == "" || r.HDF5Version == "" || r.HDF5Version == "unknown" || r.Started.IsZero() {
		t.Errorf("incomplete: %+v", r)
	}
}

func TestStamp(t *testing.T) {
	for want, settings := range map[string][]debug.BuildSetting{
		"c0ffee-dirty": {{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "c0ffee"}},
		"c0ffee":       {{Key: "vcs.revision", Value: "c0ffee"}, {Key: "vcs.modified", Value: "false"}},
		"0123456789ab": {{Key: "vcs.revision", Value: "0123456789abcdef"}},
		"":             {{Key: "vcs.modified", Value: "true"}},
	} {
		if got := stamp(&debug.BuildInfo{Settings: settings}); got != want {
			t.Errorf("%v is stamped %q, want %q", settings, got, want)
		}
	}
}

func TestHash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	// FIPS 180-2, appendix B.3: one million letters a: many pieces.
	const want = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
	if err := os.WriteFile(path, bytes.Repeat([]byte("a"), 1_000_000), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := Hash("survey", path)
	if err != nil || in != (Input{"survey", path, want}) {
		t.Errorf("got %+v, %v, want %s", in, err, want)
	}
	if _, err := Hash("survey", path+"x"); err == nil {
		t.Error("a missing file was hashed")
	}
}
