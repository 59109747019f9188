package segy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
)

// made is a file of n traces with samples that every format holds exactly.
func made(t testing.TB, spec Spec, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, spec)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		fields := map[Field]int64{SequenceLine: int64(i + 1), TraceID: 1, SourceX: int64(-100 * i), Delay: -8}
		if err := w.Write(fields, samplesOf(i, spec.Samples)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func samplesOf(trace, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32((7*trace + 3*i) % 100)
	}
	return v
}

func open(b []byte, opt Options) (*File, error) {
	return NewFile("test.sgy", bytes.NewReader(b), int64(len(b)), opt)
}

// readAll reads all traces; the samples of each are its own.
func readAll(f *File) (all []Trace, err error) {
	r := f.Reader()
	for {
		t, err := r.Next(true)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		c := *t
		c.Header, c.Samples = bytes.Clone(t.Header), append([]float32(nil), t.Samples...)
		all = append(all, c)
	}
}

// put changes a number in a file of the given order, counted from its start.
func put(b []byte, o binary.ByteOrder, f Field, v int64) []byte {
	b = bytes.Clone(b)
	if f.Float {
		v = int64(math.Float64bits(float64(v)))
	}
	if f.Length == 8 {
		o.PutUint64(b[f.Byte-1:], uint64(v))
		return b
	}
	lo, hi := f.Limits()
	if v > hi {
		v -= hi - lo + 1 // the same bits
	}
	if err := f.Put(b, o, v); err != nil {
		panic(err)
	}
	return b
}

// after is a field of the first trace header, counted from the start of the file.
func after(f Field) Field {
	f.Byte += reelBytes
	return f
}
