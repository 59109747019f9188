package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"testing"

	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// An edit spoils one thing of a file to be.
type edit func(h hdf)

// with writes a file of some kind with edits.
func with(path string, of func() hdf, edits ...edit) func(t *testing.T) {
	return func(t *testing.T) {
		h := of()
		for _, e := range edits {
			e(h)
		}
		h.write(t, path)
	}
}

func drop(name string) edit { return func(h hdf) { delete(h.sets, name) } }

func set(name string, data any, shape ...int) edit {
	return func(h hdf) { h.sets[name] = dataset{shape, data, h.sets[name].attrs} }
}

// poke puts a value at element i of a dataset.
func poke(name string, i int, value float64) edit {
	return func(h hdf) {
		switch v := h.sets[name].data.(type) {
		case []float32:
			v[i] = float32(value)
		case []float64:
			v[i] = value
		case []int32:
			v[i] = int32(value)
		}
	}
}

// attr sets an attribute of a dataset, or of the root ("/"); nil removes it.
func attr(object, name string, value any) edit {
	return func(h hdf) {
		attrs := h.attrs
		if object != "/" {
			attrs = h.sets[object].attrs
		}
		if attrs[name] = value; value == nil {
			delete(attrs, name)
		}
	}
}

// remove, folder, text and cut spoil a file as a whole.
func remove(path string) func(t *testing.T) {
	return func(t *testing.T) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func folder(path string) func(t *testing.T) {
	return func(t *testing.T) {
		os.Remove(path)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func text(path, content string) func(t *testing.T) {
	return func(t *testing.T) { put(t, path, content) }
}

// cut shortens a file to n bytes; below zero, by so many.
func cut(path string, n int64) func(t *testing.T) {
	return func(t *testing.T) {
		if n < 0 {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			n += info.Size()
		}
		if err := os.Truncate(path, n); err != nil {
			t.Fatal(err)
		}
	}
}

// flip changes one bit of a dataset of floats, as a bad disk does.
func flip(path, name string) func(t *testing.T) {
	return func(t *testing.T) {
		f, err := h5.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		d, err := f.Dataset(name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := h5.Read[float64](d)
		if err != nil {
			t.Fatal(err)
		}
		var raw []byte
		for _, x := range v {
			if d.Type() == "float32" {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(x)))
			} else {
				raw = append(raw, float64Bytes(x)...)
			}
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(content, raw)
		if at < 0 {
			t.Fatalf("%s: %s is not stored as it reads", path, name)
		}
		content[at+len(raw)/2] ^= 4
		put(t, path, string(content))
	}
}

// both spoils two things.
func both(a, b func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { a(t); b(t) }
}
