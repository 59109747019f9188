package h5

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestKind(t *testing.T) {
	for want, f := range map[string]rawFile{
		"survey":     {Datasets: []rawDataset{f8("sources", []int{1}, 1), f8("velocity", []int{1}, 1)}},
		"tables":     {Attrs: []rawAttr{text("format", FormatTables)}},
		"image":      {Datasets: []rawDataset{f8("reflectivity", []int{1}, 1)}},
		"model":      {Datasets: []rawDataset{f8("velocity", []int{1}, 1)}},
		"checkpoint": {Attrs: []rawAttr{text("format", "lsm-checkpoint")}},
		"unknown":    {Attrs: []rawAttr{text("format", "other")}, Datasets: []rawDataset{f8("sources", []int{1}, 1)}},
	} {
		path := filepath.Join(t.TempDir(), "a.h5")
		writeRaw(t, path, f)
		if got, err := Kind(path); err != nil || got != want {
			t.Errorf("kind %q (%v), want %q", got, err, want)
		}
	}
	if _, err := Kind(t.TempDir()); !errors.Is(err, ErrInput) {
		t.Errorf("a folder: error %v", err)
	}
}

func TestDescribe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	writeRaw(t, path, rawFile{
		Attrs:  []rawAttr{text("format", "other"), {Name: "odd", Type: "compound", Shape: []int{}, Data: make([]byte, 8)}},
		Groups: []string{"g", "g/h"},
		Loop:   "g/loop",
		Datasets: []rawDataset{
			with(rawDataset{Name: "g/v", Type: ">f4", Shape: []int{2, 2}, Data: bytesOf(be, []float32{3, -1, 2, float32(math.NaN())}),
				Chunk: []int{1, 2}, Filters: []string{"shuffle", "deflate"}}, num("dt", 2)),
			{Name: "text", Type: "S8", Shape: []int{}, Data: []byte("abcdefgh")},
			{Name: "unwritten", Type: "<i2", Shape: []int{5}},
		},
	})
	info, err := Describe(path, DescribeOptions{Range: true, Digest: true})
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Bytes != st.Size() || info.Format != "other" || info.Kind != "unknown" {
		t.Errorf("file: %+v", info)
	}
	if want := []Attr{{"format", "other"}, {"odd", "<compound of 2 members>"}}; !reflect.DeepEqual(info.Attrs, want) {
		t.Errorf("attributes %v, want %v", info.Attrs, want)
	}
	var names []string
	byName := map[string]Object{}
	for _, o := range info.Objects {
		names = append(names, o.Name+" "+o.Class)
		byName[o.Name] = o
	}
	// The loop is listed, not followed.
	if want := []string{"/g group", "/g/h group", "/g/loop group", "/g/v dataset", "/text dataset", "/unwritten dataset"}; !reflect.DeepEqual(names, want) {
		t.Errorf("objects %v, want %v", names, want)
	}
	v := byName["/g/v"]
	if !reflect.DeepEqual(v.Shape, []int{2, 2}) || v.Type != "big-endian float32" || !reflect.DeepEqual(v.Chunks, []int{1, 2}) ||
		!reflect.DeepEqual(v.Filters, []string{"shuffle (number 2)", "deflate (number 1)"}) ||
		!reflect.DeepEqual(v.Attrs, []Attr{{"dt", 2.0}}) || v.Fault != "" || v.NotFinite != 1 || *v.Min != -1 || *v.Max != 3 {
		t.Errorf("/g/v: %+v", v)
	}
	if x := byName["/text"]; x.Type != "string of 8 bytes" || x.Fault != "" {
		t.Errorf("/text: %+v", x)
	}
	if x := byName["/unwritten"]; !strings.Contains(x.Fault, "never written") || x.Type != "int16" {
		t.Errorf("/unwritten: %+v", x)
	}
	if _, err := json.Marshal(info); err != nil {
		t.Errorf("as JSON: %v", err)
	}
}

// What is written here carries digests that hold, on every dataset.
func TestDescribeOwnFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.h5")
	if err := WriteSurvey(path, testSurvey(), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	info, err := Describe(path, DescribeOptions{Digest: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range info.Objects {
		if o.Class == "dataset" && o.Digest != DigestMatches {
			t.Errorf("%s: digest %q, fault %q", o.Name, o.Digest, o.Fault)
		}
	}
	if info.Kind != "survey" || len(info.Objects) < 8 {
		t.Errorf("described as %+v", info)
	}
}

// Axes are labelled as h5py and xarray read them.
func TestAxesAreLabelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.h5")
	if err := WriteSurvey(path, testSurvey(), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	info, err := Describe(path, DescribeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	attrs := map[string]any{}
	for _, o := range info.Objects {
		for _, a := range o.Attrs {
			attrs[o.Name+"@"+a.Name] = a.Value
		}
	}
	for key, want := range map[string]any{
		"/data@DIMENSION_LABELS":    []string{"source", "receiver", "t"},
		"/data@DIMENSION_LIST":      "<sequence of any length>",
		"/sources@DIMENSION_LABELS": []string{"source", "coordinate"},
		"/coordinate@CLASS":         "DIMENSION_SCALE",
		"/coordinate@NAME":          "coordinate",
		"/t@CLASS":                  "DIMENSION_SCALE",
		"/t@NAME":                   "t",
		"/t@units":                  "s",
	} {
		if !reflect.DeepEqual(attrs[key], want) {
			t.Errorf("%s is %v, want %v", key, attrs[key], want)
		}
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.Dataset("/t")
	if err != nil {
		t.Fatal(err)
	}
	s := testSurvey()
	readsAs[float64](t, d, []float64{s.T0, s.T0 + s.DT, s.T0 + 2*s.DT, s.T0 + 3*s.DT})
}

// The public data beside the project, where it is there.
func TestSharedFiles(t *testing.T) {
	dir := os.Getenv("LSM_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.h5"))
	if err != nil || len(files) == 0 {
		t.Skipf("no files under %s (set LSM_SHARED)", dir)
	}
	for _, path := range files {
		info, err := Describe(path, DescribeOptions{Range: true})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, o := range info.Objects {
			if o.Fault != "" {
				t.Errorf("%s: %s: %s", path, o.Name, o.Fault)
			}
		}
	}
	if s, err := ReadSurvey(filepath.Join(dir, "data", "viking_survey.h5")); err != nil || s.NumTraces() != 480 || s.NT != 600 {
		t.Errorf("viking_survey.h5: %v", err) // four shots of 120 channels, data/README.md
	}
	if g, _, err := ReadModel(filepath.Join(dir, "data", "marmousi_model.h5")); err != nil || !reflect.DeepEqual(g.Shape, []int{941, 301}) {
		t.Errorf("marmousi_model.h5: %v %v", g, err)
	}
}
