package h5

import (
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
)

func list(name string, v ...float64) rawAttr {
	return rawAttr{Name: name, Type: "<f8", Shape: []int{len(v)}, Data: bytesOf(le, v)}
}

func wantInput(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrInput) {
		t.Errorf("%s: error %v, want one of class ErrInput with %q", name, err, want)
	}
}

func TestBrokenModels(t *testing.T) {
	o, h := list("origin", 5, 0), list("spacing", 10, 2)
	ones := []float64{1, 1, 1, 1, 1, 1}
	for _, c := range []struct {
		name string
		d    rawDataset
		want string
	}{
		{"other name", f8("v", []int{2}, 1, 2), "/velocity: is missing (the file holds /v)"},
		{"1-D", with(f8("velocity", []int{6}, ones...), o, h), "/velocity: has shape [6], want [nx, nz] or [nx, ny, nz]"},
		{"scalar", with(f8("velocity", []int{}, 1), o, h), "/velocity: has shape [] (scalar), want"},
		{"empty", with(f8("velocity", []int{0, 3}), o, h), "/velocity: has shape [0, 3], want"},
		{"no origin", with(f8("velocity", []int{2, 3}, ones...), h), "/velocity@origin: attribute is missing"},
		{"no spacing", with(f8("velocity", []int{2, 3}, ones...), o), "/velocity@spacing: attribute is missing"},
		{"3-D origin", with(f8("velocity", []int{2, 3}, ones...), list("origin", 0, 0, 0), h), "/velocity@origin: attribute has 3 values, want 2 numbers (x z)"},
		{"spacing 0", with(f8("velocity", []int{2, 3}, ones...), o, list("spacing", 0, 1)), "spacing along x is 0 m"},
		{"zero", with(f8("velocity", []int{2, 3}, 1, 1, 1, 1, 1, 0), o, h), "/velocity: is 0 m/s at point [1, 2] at (15, 4) m, must be positive"},
		{"negative", with(f8("velocity", []int{2, 3}, 1, -3, 1, 1, 1, 0), o, h), "/velocity: is -3 m/s at point [0, 1] at (5, 2) m"},
		{"NaN", with(f8("velocity", []int{2, 3}, math.NaN(), 1, 1, 1, 1, 1), o, h), "/velocity: is NaN m/s at point [0, 0]"},
		{"infinite", with(f8("velocity", []int{2, 3}, 1, 1, 1, 1, math.Inf(1), 1), o, h), "/velocity: is +Inf m/s at point [1, 1]"},
	} {
		path := filepath.Join(t.TempDir(), "m.h5")
		writeRaw(t, path, rawFile{Datasets: []rawDataset{c.d}})
		_, _, err := ReadModel(path)
		wantInput(t, c.name, err, c.want)
	}
}

func TestModelInsideSurvey(t *testing.T) {
	f := rawSurvey()
	f.Attrs = []rawAttr{text("format", FormatSurvey), list("origin", 1, 2), list("spacing", 3, 4)}
	f.Datasets = append(f.Datasets, f8("velocity", []int{1, 2}, 1500, 1600))
	path := filepath.Join(t.TempDir(), "s.h5")
	writeRaw(t, path, f)
	g, v, err := ReadModel(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(v, []float64{1500, 1600}) || g.Origin[1] != 2 || g.Spacing[0] != 3 {
		t.Errorf("read %v %v", g, v)
	}
	if _, err := ReadSurvey(path); err != nil {
		t.Errorf("the survey around it: %v", err)
	}
}

func TestReflectivityFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.h5")
	writeRaw(t, path, rawFile{Datasets: []rawDataset{
		with(rawDataset{Name: "reflectivity", Type: ">i2", Shape: []int{1, 2}, Data: bytesOf(be, []int16{-1, 1})}, list("origin", 0, 0), list("spacing", 1, 1)),
	}})
	im, err := ReadImage(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(im.Data, []float32{-1, 1}) || im.ResidualNorm != nil || im.Config != "" {
		t.Errorf("read %+v", im)
	}
}

func TestBrokenImages(t *testing.T) {
	good := with(f8("image", []int{1, 2}, 1, 2), list("origin", 0, 0), list("spacing", 1, 1))
	bad := good
	bad.Data = bytesOf(le, []float64{1, math.NaN()})
	for _, c := range []struct {
		name string
		f    rawFile
		want string
	}{
		{"model", rawFile{Attrs: []rawAttr{text("format", FormatModel)}}, `is "lsm-model", want "lsm-image"`},
		{"nothing", rawFile{}, "/image: is missing (the file holds nothing)"},
		{"NaN", rawFile{Datasets: []rawDataset{bad}}, "/image: is NaN at point [0, 1] at (0, 1) m"},
		{"history shape", rawFile{Groups: []string{"history"}, Datasets: []rawDataset{good, f8("history/residual_norm", []int{1, 1}, 1)}}, "/history/residual_norm: has shape [1, 1], want [iterations + 1]"},
		{"config number", rawFile{Datasets: []rawDataset{good, f8("config", []int{}, 1)}}, "/config: holds 1 elements of type float64, want one text"},
	} {
		path := filepath.Join(t.TempDir(), "i.h5")
		writeRaw(t, path, c.f)
		_, err := ReadImage(path)
		wantInput(t, c.name, err, c.want)
	}
}

// Texts of every kind that HDF5 has are read, padding removed.
func TestTextForms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	writeRaw(t, path, rawFile{
		Attrs: []rawAttr{
			{Name: "null", Type: "S8", Shape: []int{}, Data: []byte("abc\x00\x00\x00\x00\x00")},
			{Name: "full", Type: "S8", Shape: []int{}, Data: []byte("abcdefgh")},
			{Name: "space", Type: "A8", Shape: []int{1}, Data: []byte("abc     ")},
			{Name: "utf8", Type: "U8", Shape: []int{}, Data: []byte("\xc3\xbc\x00xxxxx")},
			{Name: "broken", Type: "U8", Shape: []int{}, Data: []byte("\xff\x00xxxxxx")},
			text("any", "größer"), text("none", ""),
		},
		Datasets: []rawDataset{{Name: "config", Type: "S8", Shape: []int{}, Data: []byte("a = 1\n\x00\x00")}},
	})
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, want := range map[string]string{"null": "abc", "full": "abcdefgh", "space": "abc", "utf8": "ü", "broken": "\uFFFD", "any": "größer", "none": ""} {
		if got, err := f.Attrs().Text(name); err != nil || got != want {
			t.Errorf("%s: %q (%v), want %q", name, got, err, want)
		}
	}
	if got, err := f.Text("/config"); err != nil || got != "a = 1\n" {
		t.Errorf("dataset: %q (%v)", got, err)
	}
}

func tableFile(spoil func(byName map[string]*rawDataset)) rawFile {
	o, h := list("origin", 0, 0), list("spacing", 1, 1)
	sets := map[string]*rawDataset{}
	names := []string{"source_time", "receiver_time", "source_amplitude", "receiver_gradient"}
	for _, d := range []rawDataset{
		with(f8("source_time", []int{2, 1, 2}, 0, 1, 2, 3), o, h),
		with(f8("receiver_time", []int{1, 1, 2}, 4, 5), o, h),
		f8("source_amplitude", []int{2, 1, 2}, 1, 1, 1, 1),
		f8("receiver_gradient", []int{1, 2, 1, 2}, 1, 2, 3, -4),
	} {
		sets[d.Name] = &d
	}
	spoil(sets)
	var f rawFile
	for _, n := range names {
		if sets[n] != nil {
			f.Datasets = append(f.Datasets, *sets[n])
		}
	}
	return f
}

func TestBrokenTables(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(d map[string]*rawDataset)
		want  string
	}{
		{"no times", func(d map[string]*rawDataset) { d["source_time"] = nil }, "/source_time: is missing"},
		{"no receivers", func(d map[string]*rawDataset) { d["receiver_time"] = nil }, "/receiver_time: is missing"},
		{"2-D", func(d map[string]*rawDataset) { d["source_time"].Shape = []int{2, 2} }, "/source_time: has shape [2, 2], want [n, nx, nz] or [n, nx, ny, nz]"},
		{"other origin", func(d map[string]*rawDataset) {
			d["receiver_time"].Attrs = []rawAttr{list("origin", 0, 1), list("spacing", 1, 1)}
		}, "/receiver_time: lies on a grid of 1×2 points, 1×1 m from (0, 1), /source_time on one of 1×2 points, 1×1 m from (0, 0)"},
		{"amplitude rows", func(d map[string]*rawDataset) {
			d["source_amplitude"].Shape, d["source_amplitude"].Data = []int{1, 1, 2}, make([]byte, 16)
		}, "/source_amplitude: has shape [1, 1, 2], want like /source_time = [2, 1, 2]"},
		{"gradient shape", func(d map[string]*rawDataset) { d["receiver_gradient"].Shape = []int{1, 1, 1, 4} }, "/receiver_gradient: has shape [1, 1, 1, 4], want [n, dim, nx, (ny,) nz] = [1, 2, 1, 2]"},
		{"negative", func(d map[string]*rawDataset) { d["source_time"].Data = bytesOf(le, []float64{0, 1, 2, -3}) }, "/source_time: row 1 is -3 at point [0, 1] at (0, 1) m, must be finite and not negative"},
		{"NaN", func(d map[string]*rawDataset) { d["receiver_time"].Data = bytesOf(le, []float64{math.NaN(), 1}) }, "/receiver_time: row 0 is NaN"},
		{"infinite gradient", func(d map[string]*rawDataset) {
			d["receiver_gradient"].Data = bytesOf(le, []float64{1, 2, 3, math.Inf(-1)})
		}, "/receiver_gradient: row 0 is -Inf at point [0, 1]"},
	} {
		path := filepath.Join(t.TempDir(), "t.h5")
		writeRaw(t, path, tableFile(c.spoil))
		wantInput(t, c.name, readTables(path), c.want)
	}
	path := filepath.Join(t.TempDir(), "t.h5")
	writeRaw(t, path, tableFile(func(map[string]*rawDataset) {}))
	tab, err := OpenTables(path)
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	if err := readTables(path); err != nil {
		t.Errorf("a sound file: %v", err)
	}
	wantInput(t, "row beyond", tab.ReadRow(make([]float64, 2), survey.AtReceiver, Time, 1), "/receiver_time: has 1 rows, asked for row 1")
	wantInput(t, "absent", tab.ReadRow(make([]float64, 2), survey.AtReceiver, Amplitude, 0), "/receiver_amplitude: is missing")
}

// Units that an attribute states are those that count; others than the reader's are an
// error where there is no converting.
func TestUnits(t *testing.T) {
	model := func(units string) string {
		attrs := []rawAttr{list("origin", 0, 0), list("spacing", 1, 1)}
		if units != "" {
			attrs = append(attrs, text("units", units))
		}
		d := with(f8("velocity", []int{1, 2}, 2, 3), attrs...)
		path := filepath.Join(t.TempDir(), "m.h5")
		writeRaw(t, path, rawFile{Datasets: []rawDataset{d}})
		return path
	}
	for _, c := range []struct {
		has, want string
		first     float64
		fault     string
	}{
		{"", "", 2, ""}, {"", "km/s", 2000, ""}, {"km/s", "", 2000, ""}, {"km/s", "km/s", 2000, ""},
		{"m/s", "m/s", 2, ""}, {"rods", "m/s", 2, ""}, {"", "ft/s", 0.6096, ""},
		{"km/s", "m/s", 0, `/velocity@units: is "km/s", but m/s is requested`},
		{"rods", "", 0, `/velocity@units: is "rods", want m/s, km/s or ft/s`},
	} {
		_, v, err := ReadModelIn(model(c.has), c.want)
		if c.fault != "" {
			wantInput(t, c.has, err, c.fault)
		} else if err != nil || math.Abs(v[0]-c.first) > 1e-12 {
			t.Errorf("%q read as %q: %v, %v, want %g first", c.has, c.want, v, err, c.first)
		}
	}
	for _, name := range []string{"sources", "receivers"} {
		f := rawSurvey()
		for i, d := range f.Datasets {
			if d.Name == name {
				f.Datasets[i] = with(d, text("units", "km"))
			}
		}
		path := filepath.Join(t.TempDir(), "s.h5")
		writeRaw(t, path, f)
		_, err := ReadSurvey(path)
		wantInput(t, name, err, "/"+name+`@units: is "km", want "m"`)
	}
}
