package h5

import (
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func bytesOf(order binary.ByteOrder, v any) []byte {
	b, err := binary.Append(nil, order, v)
	if err != nil {
		panic(err)
	}
	return b
}

var le, be = binary.LittleEndian, binary.BigEndian

// The same six numbers in every type that can hold them.
func storedForms() map[string][]byte {
	forms := map[string][]byte{"<f2": bytesOf(le, []uint16{0, 0x3c00, 0x4000, 0x4200, 0x5640, 0x57f0})} // IEEE 754 binary16
	f8 := []float64{0, 1, 2, 3, 100, 127}
	add := func(typ string, order binary.ByteOrder, v any) { forms[typ] = bytesOf(order, v) }
	add("<f8", le, f8)
	add(">f8", be, f8)
	add("<f4", le, narrow[float32](f8))
	add(">f4", be, narrow[float32](f8))
	add("<i1", le, narrow[int8](f8))
	add("<u1", le, narrow[uint8](f8))
	add("<i2", le, narrow[int16](f8))
	add(">i2", be, narrow[int16](f8))
	add("<u2", le, narrow[uint16](f8))
	add(">u2", be, narrow[uint16](f8))
	add("<i4", le, narrow[int32](f8))
	add(">i4", be, narrow[int32](f8))
	add("<u4", le, narrow[uint32](f8))
	add(">u4", be, narrow[uint32](f8))
	add("<i8", le, narrow[int64](f8))
	add(">i8", be, narrow[int64](f8))
	add("<u8", le, narrow[uint64](f8))
	return forms
}

func narrow[T Number](v []float64) []T {
	out := make([]T, len(v))
	for i, x := range v {
		out[i] = T(x)
	}
	return out
}

func readsAs[T Number](t *testing.T, d *Dataset, want []float64) {
	t.Helper()
	got, err := Read[T](d)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	if !reflect.DeepEqual(got, narrow[T](want)) {
		t.Errorf("%s %s read as %T: %v, want %v", d.name, d.typ, got, got, want)
	}
}

func TestEveryNumericType(t *testing.T) {
	want := []float64{0, 1, 2, 3, 100, 127}
	for typ, data := range storedForms() {
		path := filepath.Join(t.TempDir(), "a.h5")
		writeRaw(t, path, rawFile{Datasets: []rawDataset{{Name: "v", Type: typ, Shape: []int{2, 3}, Data: data}}})
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := f.Dataset("/v")
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		readsAs[float32](t, d, want)
		readsAs[float64](t, d, want)
		readsAs[int8](t, d, want)
		readsAs[int16](t, d, want)
		readsAs[int32](t, d, want)
		readsAs[int64](t, d, want)
		readsAs[uint8](t, d, want)
		readsAs[uint16](t, d, want)
		readsAs[uint32](t, d, want)
		readsAs[uint64](t, d, want)
		f.Close()
	}
}

// A base-type name as it stands in messages.
func TestTypeNames(t *testing.T) {
	want := map[string]string{">f8": "big-endian float64", "<f2": "float16", ">i2": "big-endian int16", "<u1": "uint8", "<i8": "int64"}
	forms := storedForms()
	for typ, name := range want {
		path := filepath.Join(t.TempDir(), "a.h5")
		writeRaw(t, path, rawFile{Datasets: []rawDataset{{Name: "v", Type: typ, Shape: []int{6}, Data: forms[typ]}}})
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := f.Dataset("/v"); err != nil || d.typ.String() != name {
			t.Errorf("%s is called %q (%v), want %q", typ, d.typ, err, name)
		}
		f.Close()
	}
}

func TestNumbersThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		typ  string
		data []byte
		want string
	}{
		{"<f8", bytesOf(le, []float64{1, 2.5}), "holds 2.5, want whole numbers"},
		{"<f8", bytesOf(le, []float64{1, 3e9}), "too large for int32"},
		{"<f8", bytesOf(le, []float64{1, -3e9}), "too small for int32"},
		{"<f8", bytesOf(le, []float64{1, math.NaN()}), "holds NaN, want whole numbers"},
		{">f8", bytesOf(be, []float64{1, math.Inf(1)}), "too large for int32"},
		{"<i8", bytesOf(le, []int64{1, 1 << 31}), "too large for int32"},
		{">i8", bytesOf(be, []int64{1, -1 << 40}), "too small for int32"},
		{"<u8", bytesOf(le, []uint64{1, math.MaxUint64}), "too large for int32"},
	} {
		path := filepath.Join(t.TempDir(), "a.h5")
		writeRaw(t, path, rawFile{Datasets: []rawDataset{{Name: "v", Type: c.typ, Shape: []int{2}, Data: c.data}}})
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := f.Dataset("/v")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read[int32](d); err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, ErrInput) {
			t.Errorf("%s: error %v, want one with %q", c.typ, err, c.want)
		}
		f.Close()
	}
}

// A float64 beyond float32 becomes an infinity, never a clipped number.
func TestFloatOverflowIsInfinite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	writeRaw(t, path, rawFile{Datasets: []rawDataset{{Name: "v", Type: ">f8", Shape: []int{3}, Data: bytesOf(be, []float64{1e300, -1e300, math.NaN()})}}})
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.Dataset("/v")
	if err != nil {
		t.Fatal(err)
	}
	v, err := Read[float32](d)
	if err != nil {
		t.Fatal(err)
	}
	if !math.IsInf(float64(v[0]), 1) || !math.IsInf(float64(v[1]), -1) || v[2] == v[2] {
		t.Errorf("read %v, want +Inf -Inf NaN", v)
	}
}

func TestEveryLayout(t *testing.T) {
	v := make([]float64, 7*5*6)
	for i := range v {
		v[i] = float64(i * i % 97)
	}
	i4 := bytesOf(be, narrow[int32](v))
	for name, d := range map[string]rawDataset{
		"contiguous":                 {Type: ">i4"},
		"compact":                    {Type: ">i4", Compact: true},
		"chunked":                    {Type: ">i4", Chunk: []int{2, 5, 4}},
		"deflate":                    {Type: ">i4", Chunk: []int{3, 2, 6}, Filters: []string{"deflate"}},
		"shuffle deflate fletcher32": {Type: ">i4", Chunk: []int{7, 5, 6}, Filters: []string{"shuffle", "deflate", "fletcher32"}},
		"szip":                       {Type: ">i4", Chunk: []int{7, 5, 6}, Filters: []string{"szip"}},
		"nbit":                       {Type: ">i4", Chunk: []int{7, 1, 6}, Filters: []string{"nbit"}},
		"scaleoffset":                {Type: ">i4", Chunk: []int{7, 1, 6}, Filters: []string{"scaleoffset"}},
	} {
		for _, file := range []rawFile{{}, {UserBlock: 1024}, {Latest: true}} {
			d.Name, d.Shape, d.Data = "v", []int{7, 5, 6}, i4
			file.Datasets = []rawDataset{d}
			path := filepath.Join(t.TempDir(), "a.h5")
			writeRaw(t, path, file)
			f, err := Open(path)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			set, err := f.Dataset("/v")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			readsAs[float32](t, set, v)
			if sum, _, err := f.digests("/v"); err != nil || sum != digestOf("/v int32 7,5,6\n", bytesOf(le, narrow[int32](v)))+" int32 7,5,6" {
				t.Errorf("%s: digest %s, %v", name, sum, err)
			}
			f.Close()
		}
	}
}

func TestRefusedDatasets(t *testing.T) {
	raw := filepath.Join(t.TempDir(), "raw.bin")
	for _, c := range []struct {
		d    rawDataset
		want string
	}{
		{rawDataset{Type: "S8", Shape: []int{2}, Data: make([]byte, 16)}, "string of 8 bytes"},
		{rawDataset{Type: "vlen", Shape: []int{1}}, "string of any length"},
		{rawDataset{Type: "compound", Shape: []int{1}, Data: make([]byte, 8)}, "compound of 2 members"},
		{rawDataset{Type: "enum", Shape: []int{1}, Data: make([]byte, 1)}, "enum of 2 values"},
		{rawDataset{Type: "reference", Shape: []int{1}}, "reference"},
		{rawDataset{Type: "opaque", Shape: []int{1}, Data: make([]byte, 3)}, "opaque of 3 bytes"},
		{rawDataset{Type: "bitfield", Shape: []int{1}, Data: make([]byte, 1)}, "bitfield of 8 bits"},
		{rawDataset{Type: "sequence", Shape: []int{1}}, "sequence of any length"},
		{rawDataset{Type: "array", Shape: []int{1}, Data: make([]byte, 8)}, "array type"},
		{rawDataset{Type: "<f4", Shape: []int{3}}, "never written"},
		{rawDataset{Type: "<f4", Shape: []int{1 << 60}, Chunk: []int{4}}, "more than any file holds"},
		{rawDataset{Type: "<f4", Shape: []int{1 << 40, 1 << 40}, Chunk: []int{4, 4}}, "more than any file holds"},
		{rawDataset{Type: "<f4", Shape: []int{1 << 50}, Chunk: []int{4}}, "never written"},
		{rawDataset{Type: "<f4", Shape: []int{2}, Data: make([]byte, 8), External: raw}, "external files"},
		{rawDataset{Type: "<f4", Shape: []int{2}, Data: make([]byte, 8), Chunk: []int{2}, Filters: []string{"unknown"}}, "number 32001"},
	} {
		path := filepath.Join(t.TempDir(), "a.h5")
		c.d.Name = "v"
		writeRaw(t, path, rawFile{Datasets: []rawDataset{c.d}})
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Dataset("/v")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path+": /v: ") || !errors.Is(err, ErrInput) {
			t.Errorf("error %v, want one with %q that names file and dataset", err, c.want)
		}
		f.Close()
	}
}

func TestEmptyAndScalarDatasets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	writeRaw(t, path, rawFile{Datasets: []rawDataset{
		{Name: "none", Type: "<f4", Shape: nil},
		{Name: "zero", Type: "<f4", Shape: []int{0, 3}},
		{Name: "one", Type: "<f4", Shape: []int{}, Data: bytesOf(le, float32(7))},
	}})
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, want := range map[string][]float64{"/none": {}, "/zero": {}, "/one": {7}} {
		d, err := f.Dataset(name)
		if err != nil {
			t.Fatal(err)
		}
		readsAs[float64](t, d, want)
	}
}

// A pass over a chunked dataset reads whole rows of chunks, however large, and so
// decompresses each chunk once.
func TestStepsEndWithChunks(t *testing.T) {
	shape := []int{150, 100, 200}
	for name, c := range map[string]struct {
		chunk     []int
		row, step int // elements of a row of chunks, and of a step
	}{
		"one chunk":       {shape, 150 * 100 * 200, 150 * 100 * 200},
		"along the first": {[]int{1, 100, 200}, 100 * 200, 104 * 100 * 200}, // as many as 8 MiB hold
		"across":          {[]int{150, 10, 30}, 150 * 100 * 210, 150 * 100 * 200},
	} {
		path := filepath.Join(t.TempDir(), "a.h5")
		writeRaw(t, path, rawFile{Datasets: []rawDataset{
			{Name: "v", Type: "<f4", Shape: shape, Data: make([]byte, 4*150*100*200), Chunk: c.chunk, Filters: []string{"deflate"}},
		}})
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := f.Dataset("/v")
		if err != nil {
			t.Fatal(err)
		}
		if row, _ := d.chunkRow(); row != 4*c.row {
			t.Errorf("%s: a row of chunks has %d bytes, want %d", name, row, 4*c.row)
		}
		if got := d.step(); got != c.step {
			t.Errorf("%s: steps of %d elements, want %d", name, got, c.step)
		}
		f.Close()
	}
}
