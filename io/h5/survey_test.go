package h5

import (
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func num(name string, v float64) rawAttr {
	return rawAttr{Name: name, Type: "<f8", Shape: []int{}, Data: bytesOf(le, v)}
}

func text(name, v string) rawAttr {
	return rawAttr{Name: name, Type: "vlen", Shape: []int{}, Text: v}
}

func f8(name string, shape []int, v ...float64) rawDataset {
	return rawDataset{Name: name, Type: "<f8", Shape: shape, Data: bytesOf(le, v)}
}

func with(d rawDataset, attrs ...rawAttr) rawDataset {
	d.Attrs = attrs
	return d
}

// rawSurvey is a survey as another program might write it: [ntrace, nt] data
// of big-endian integers, indices of two types, no format.
func rawSurvey() rawFile {
	return rawFile{Datasets: []rawDataset{
		f8("sources", []int{2, 2}, 0, 1, 50, 1),
		f8("receivers", []int{2, 2}, 10, 0, 20, 0),
		with(rawDataset{Name: "data", Type: ">i2", Shape: []int{3, 2}, Data: bytesOf(be, []int16{1, -2, 3, -4, 5, -6})}, num("dt", 0.002)),
		{Name: "source_index", Type: "<i8", Shape: []int{3}, Data: bytesOf(le, []int64{1, 0, 1})},
		f8("receiver_index", []int{3}, 0, 1, 1),
		with(rawDataset{Name: "wavelet", Type: "<f4", Shape: []int{2}, Data: bytesOf(le, []float32{1, -1})},
			num("dt", 0.002), rawAttr{Name: "zero", Type: ">i4", Shape: []int{1}, Data: bytesOf(be, int32(1))}),
	}}
}

func TestForeignSurvey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.h5")
	writeRaw(t, path, rawSurvey())
	s, err := ReadSurvey(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s.Data, []float32{1, -2, 3, -4, 5, -6}) || s.Fixed || s.T0 != 0 || s.DT != 0.002 || s.Wavelet.Zero != 1 ||
		!reflect.DeepEqual(s.SourceIndex, []int32{1, 0, 1}) || !reflect.DeepEqual(s.ReceiverIndex, []int32{0, 1, 1}) {
		t.Errorf("read %+v", s)
	}
}

// Every fault is told with file, dataset or attribute, what was found and what
// is wanted.
func TestBrokenSurveys(t *testing.T) {
	set := func(f *rawFile, d rawDataset) {
		for i := range f.Datasets {
			if f.Datasets[i].Name == d.Name {
				if d.Attrs == nil {
					d.Attrs = f.Datasets[i].Attrs
				}
				f.Datasets[i] = d
				return
			}
		}
		f.Datasets = append(f.Datasets, d)
	}
	drop := func(f *rawFile, name string) {
		f.Datasets = slices.DeleteFunc(f.Datasets, func(d rawDataset) bool { return d.Name == name })
	}
	data := func(shape []int, v ...float64) rawDataset { return f8("data", shape, v...) }
	for _, c := range []struct {
		name  string
		spoil func(f *rawFile)
		want  string
	}{
		{"image", func(f *rawFile) { f.Attrs = []rawAttr{text("format", "lsm-image")} }, `@format: is "lsm-image", want "lsm-survey"`},
		{"newer", func(f *rawFile) { f.Attrs = []rawAttr{num("format_version", 2)} }, "@format_version: is 2, this program reads 1 to 1"},
		{"fractional version", func(f *rawFile) { f.Attrs = []rawAttr{num("format_version", 1.5)} }, "want a whole number"},
		{"numeric format", func(f *rawFile) { f.Attrs = []rawAttr{num("format", 1)} }, "@format: attribute is not one text"},
		{"no sources", func(f *rawFile) { drop(f, "sources") }, "/sources: is missing (the file holds /data, /receiver_index"},
		{"no receivers", func(f *rawFile) { drop(f, "receivers") }, "/receivers: is missing"},
		{"no data", func(f *rawFile) { drop(f, "data") }, "/data: is missing, and so is the root attribute nt"},
		{"no wavelet", func(f *rawFile) { drop(f, "wavelet") }, "/wavelet: is missing"},
		{"no source_index", func(f *rawFile) { drop(f, "source_index") }, "/source_index: is missing"},
		{"no receiver_index", func(f *rawFile) { drop(f, "receiver_index") }, "/receiver_index: is missing"},
		{"1-D sources", func(f *rawFile) { set(f, f8("sources", []int{4}, 0, 1, 2, 3)) }, "/sources: has shape [4], want [n, 2]"},
		{"1 column", func(f *rawFile) { set(f, f8("sources", []int{2, 1}, 0, 1)) }, "/sources: has shape [2, 1], want [n, 2]"},
		{"no rows", func(f *rawFile) { set(f, f8("sources", []int{0, 2})) }, "/sources: has shape [0, 2], want [n, 2]"},
		{"mixed dims", func(f *rawFile) { set(f, f8("receivers", []int{1, 3}, 0, 1, 2)) }, "/receivers: has shape [1, 3], want [n, 2] like /sources"},
		{"1-D data", func(f *rawFile) { set(f, data([]int{6}, 1, 2, 3, 4, 5, 6)) }, "/data: has shape [6], want [ns, nr, nt] or [ntrace, nt]"},
		{"no samples", func(f *rawFile) { set(f, data([]int{3, 0})) }, "/data: has shape [3, 0]"},
		{"4-D data", func(f *rawFile) { set(f, data([]int{1, 1, 1, 2}, 1, 2)) }, "/data: has shape [1, 1, 1, 2]"},
		{"3-D with index", func(f *rawFile) { set(f, data([]int{2, 2, 2}, 1, 2, 3, 4, 5, 6, 7, 8)) }, "/source_index and /receiver_index must not be there"},
		{"3-D of other size", func(f *rawFile) {
			drop(f, "source_index")
			drop(f, "receiver_index")
			set(f, data([]int{2, 3, 1}, 1, 2, 3, 4, 5, 6))
		}, "/data: has shape [2, 3, 1], want [ns, nr, nt] = [2, 2, 1]"},
		{"no dt", func(f *rawFile) { set(f, with(data([]int{3, 2}, 1, 2, 3, 4, 5, 6), num("t0", 0))) }, "/data@dt: attribute is missing"},
		{"text dt", func(f *rawFile) { set(f, with(data([]int{3, 2}, 1, 2, 3, 4, 5, 6), text("dt", "0.002"))) }, "/data@dt: attribute is text, want one number"},
		{"two dt", func(f *rawFile) {
			set(f, with(data([]int{3, 2}, 1, 2, 3, 4, 5, 6), rawAttr{Name: "dt", Type: "<f4", Shape: []int{2}, Data: make([]byte, 8)}))
		}, "/data@dt: attribute has 2 values, want one number"},
		{"empty dt", func(f *rawFile) {
			set(f, with(data([]int{3, 2}, 1, 2, 3, 4, 5, 6), rawAttr{Name: "dt", Type: "<f4"}))
		}, "/data@dt: attribute has 0 values, want one number"},
		{"compound dt", func(f *rawFile) {
			set(f, with(data([]int{3, 2}, 1, 2, 3, 4, 5, 6), rawAttr{Name: "dt", Type: "compound", Shape: []int{}, Data: make([]byte, 8)}))
		}, "/data@dt: attribute is of type compound of 2 members, want one number"},
		{"negative dt", func(f *rawFile) { set(f, with(data([]int{3, 2}, 1, 2, 3, 4, 5, 6), num("dt", -1))) }, "dt is -1 s, must be positive"},
		{"NaN", func(f *rawFile) { set(f, data([]int{3, 2}, 1, 2, 3, 4, 5, math.NaN())) }, "trace 2 has NaN at sample 1"},
		{"beyond float32", func(f *rawFile) { set(f, data([]int{3, 2}, 1, 2, 1e99, 4, 5, 6)) }, "trace 1 has +Inf at sample 0"},
		{"short index", func(f *rawFile) { set(f, f8("source_index", []int{2}, 0, 1)) }, "/source_index: has shape [2], want [ntrace] = [3]"},
		{"index beyond", func(f *rawFile) { set(f, f8("source_index", []int{3}, 0, 1, 2)) }, "source_index of trace 2 is 2, must be in [0, 1]"},
		{"index negative", func(f *rawFile) { set(f, f8("receiver_index", []int{3}, 0, -1, 1)) }, "receiver_index of trace 1 is -1"},
		{"index fraction", func(f *rawFile) { set(f, f8("receiver_index", []int{3}, 0, 0.5, 1)) }, "/receiver_index: holds 0.5, want whole numbers"},
		{"index text", func(f *rawFile) {
			set(f, rawDataset{Name: "source_index", Type: "S8", Shape: []int{3}, Data: make([]byte, 24)})
		}, "/source_index: holds elements of type string of 8 bytes"},
		{"short weight", func(f *rawFile) { set(f, f8("weight", []int{2}, 0, 1)) }, "/weight: has shape [2], want [ntrace] = [3]"},
		{"2-D weight of a list", func(f *rawFile) { set(f, f8("weight", []int{2, 2}, 0, 1, 1, 1)) }, "/weight: has shape [2, 2], want [ntrace] = [3]"},
		{"negative weight", func(f *rawFile) { set(f, f8("weight", []int{3}, 0, 1, -0.5)) }, "weight of trace 2 is -0.5, must be finite and at least 0"},
		{"weight not a number", func(f *rawFile) { set(f, f8("weight", []int{3}, 0, math.NaN(), 1)) }, "weight of trace 1 is NaN"},
		{"weight beyond float32", func(f *rawFile) { set(f, f8("weight", []int{3}, 1e99, 1, 1)) }, "weight of trace 0 is +Inf"},
		{"2-D wavelet", func(f *rawFile) { set(f, f8("wavelet", []int{1, 2}, 1, 2)) }, "/wavelet: has shape [1, 2], want [nw]"},
		{"no zero", func(f *rawFile) { set(f, with(f8("wavelet", []int{1}, 1), num("dt", 0.002))) }, "/wavelet@zero: attribute is missing"},
		{"zero beyond", func(f *rawFile) { set(f, with(f8("wavelet", []int{1}, 1), num("dt", 0.002), num("zero", 1))) }, "zero is sample 1, must be in [0, 0]"},
		{"zero fraction", func(f *rawFile) { set(f, with(f8("wavelet", []int{1}, 1), num("dt", 0.002), num("zero", 0.5))) }, "/wavelet@zero: attribute is 0.5, want a whole number"},
		{"other dt", func(f *rawFile) { set(f, with(f8("wavelet", []int{1}, 1), num("dt", 0.004), num("zero", 0))) }, "wavelet: dt is 0.004 s"},
		{"huge nt", func(f *rawFile) {
			drop(f, "data")
			f.Attrs = []rawAttr{num("nt", 1e15), num("dt", 0.002)}
		}, "@nt: traces have 1000000000000000 samples"},
		{"group as data", func(f *rawFile) {
			drop(f, "data")
			f.Groups = []string{"data"}
		}, "/data: cannot be opened as a dataset: not a dataset"},
	} {
		f := rawSurvey()
		c.spoil(&f)
		path := filepath.Join(t.TempDir(), "s.h5")
		writeRaw(t, path, f)
		_, err := ReadSurvey(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path) || !errors.Is(err, ErrInput) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestReadSomeTraces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.h5")
	s := testSurvey()
	if err := WriteSurvey(path, s, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	r, err := OpenSurvey(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for first := range s.NumTraces() {
		for n := range s.NumTraces() - first + 1 {
			got := make([]float32, n*s.NT)
			if err := r.ReadTraces(got, first, n); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, s.Data[first*s.NT:(first+n)*s.NT]) {
				t.Errorf("traces [%d, %d): %v", first, first+n, got)
			}
		}
	}
	list := []int32{4, 5, 1, 2, 3, 3, 0}
	got := make([]float32, len(list)*s.NT)
	if err := r.ReadTraceList(got, list); err != nil {
		t.Fatal(err)
	}
	for i, tr := range list {
		if !slices.Equal(got[i*s.NT:(i+1)*s.NT], s.Data[int(tr)*s.NT:int(tr+1)*s.NT]) {
			t.Errorf("place %d of the list, trace %d: %v", i, tr, got[i*s.NT:(i+1)*s.NT])
		}
	}
}

// A streamed trace that is not finite is named by its number in the file.
func TestReadTracesRefusesNaN(t *testing.T) {
	f := rawSurvey()
	f.Datasets[2] = with(f8("data", []int{3, 2}, 1, 2, 3, 4, math.NaN(), 6), num("dt", 0.002))
	path := filepath.Join(t.TempDir(), "s.h5")
	writeRaw(t, path, f)
	r, err := OpenSurvey(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.ReadTraces(make([]float32, 2), 1, 1); err != nil {
		t.Errorf("a sound trace: %v", err)
	}
	if err := r.ReadTraces(make([]float32, 4), 1, 2); err == nil || !strings.Contains(err.Error(), "/data: trace 2 has NaN at sample 0") {
		t.Errorf("error %v, want trace 2, sample 0", err)
	}
}

func TestStreamedSurvey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.h5")
	s := testSurvey()
	w, err := CreateSurvey(path, s, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, first := range []int{4, 0, 2} {
		if err := w.WriteTraces(s.Data[first*s.NT:(first+2)*s.NT], first); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadSurvey(path); err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("read %+v (%v), wrote %+v", got, err, s)
	}
}
