package segy

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Values of the System/360 Principles of Operation (GA22-6821), "Floating-point
// number representation", and the limits of the format.
func TestIBMValues(t *testing.T) {
	for _, c := range []struct {
		word uint32
		want float64
	}{
		{0x00000000, 0}, {0x80000000, 0}, {0x41100000, 1}, {0xC1100000, -1}, {0x40800000, 0.5},
		{0x42640000, 100}, {0xC276A000, -118.625}, {0x46000001, 1}, // not normalised
		{0x7FFFFFFF, (1 - math.Pow(2, -24)) * math.Pow(16, 63)}, {0x00100000, math.Pow(16, -65)},
	} {
		if got := fromIBM(c.word); got != c.want {
			t.Errorf("%08X is %g, want %g", c.word, got, c.want)
		}
	}
	for v, want := range map[float64]uint32{1: 0x41100000, -118.625: 0xC276A000, 100: 0x42640000,
		1e80: 0x7FFFFFFF, 1e-90: 0, math.Inf(-1): 0xFFFFFFFF, 1 - math.Pow(2, -26): 0x41100000} {
		if got := toIBM(v); got != want {
			t.Errorf("%g becomes %08X, want %08X", v, got, want)
		}
	}
}

// A fraction of 24 bits that begins with up to three zeros holds 21: half a unit
// of the last is 2^-22 of the number's power of two, 2^-21 of the number at most.
func TestIBMRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := float64(math.Float32frombits(rapid.Uint32().Draw(t, "bits")))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Skip("IBM floats have none")
		}
		if got := fromIBM(toIBM(v)); math.Abs(got-v) > math.Abs(v)*0x1p-21 {
			t.Fatalf("%g comes back as %g", v, got)
		}
		w := rapid.Uint32().Draw(t, "word")
		if x := fromIBM(w); math.Abs(x) >= math.Pow(16, -65) && fromIBM(toIBM(x)) != x {
			t.Fatalf("%08X is %g and comes back as %g", w, x, fromIBM(toIBM(x)))
		}
	})
}

func TestFormats(t *testing.T) {
	for format := range codecs {
		for _, order := range []Order{Big, Little} {
			for major := range 3 {
				t.Run(fmt.Sprintf("%v/%s/%d", format, order, major), func(t *testing.T) {
					spec := Spec{Order: order, Major: major, Format: format, Samples: 33, Interval: 2000, Text: []string{"MADE"}}
					f, err := open(made(t, spec, 5), Options{})
					if err != nil {
						t.Fatal(err)
					}
					if f.Order != order || f.Format != format || f.Major != major || f.Samples != 33 || f.Interval != 0.002 || f.Units != 1 {
						t.Errorf("found %+v", f)
					}
					all, err := readAll(f)
					if err != nil || len(all) != 5 {
						t.Fatalf("%d traces, %v", len(all), err)
					}
					for i, tr := range all {
						if !slices.Equal(tr.Samples, samplesOf(i, 33)) || tr.Rounded != 0 {
							t.Errorf("trace %d: %v", i, tr.Samples)
						}
						if x := SourceX.Int(tr.Header, f.ByteOrder()); x != int64(-100*i) {
							t.Errorf("trace %d: source x %d", i, x)
						}
					}
				})
			}
		}
	}
}

// What float32 does not hold is counted, and out of its range becomes infinite.
func TestRounded(t *testing.T) {
	o := binary.ByteOrder(binary.BigEndian)
	raw := make([]byte, 8)
	dst := make([]float32, 2)
	c := codecs[Int32]
	o.PutUint32(raw, 1<<24+1)
	o.PutUint32(raw[4:], 1<<24)
	if n := c.decode(dst, raw, o); n != 1 || dst[0] != 1<<24 {
		t.Errorf("%d rounded, %v", n, dst)
	}
	o.PutUint32(raw, 0x7FFFFFFF)
	o.PutUint32(raw[4:], 0x41100000)
	if n := codecs[IBM32].decode(dst, raw, o); n != 1 || !math.IsInf(float64(dst[0]), 1) || dst[1] != 1 {
		t.Errorf("%d rounded, %v", n, dst)
	}
	codecs[Int8].encode(raw, []float32{1000, -1000, 2.5}, o)
	if int8(raw[0]) != 127 || int8(raw[1]) != -128 || raw[2] != 2 {
		t.Errorf("8-bit integers %v", raw[:3])
	}
}

func TestFieldReadsWhatWasPut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Field{Byte: rapid.IntRange(1, 9).Draw(t, "byte"), Length: rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "length"),
			Unsigned: rapid.Bool().Draw(t, "unsigned")}
		o := rapid.SampledFrom([]Order{Big, Little}).Draw(t, "order").binary()
		lo, hi := f.Limits()
		v := rapid.Int64Range(lo, hi).Draw(t, "value")
		header := make([]byte, 16)
		if err := f.Put(header, o, v); err != nil {
			t.Fatal(err)
		}
		if got := f.Int(header, o); got != v {
			t.Fatalf("%d comes back as %d", v, got)
		}
		if f.Length < 8 && (f.Put(header, o, hi+1) == nil || f.Put(header, o, lo-1) == nil) {
			t.Fatal("a number out of range was written")
		}
	})
}

func TestText(t *testing.T) {
	lines := []string{"Line 7, 1.5 km {x} [y] <z> ~!@#$%^&*()_+|\\/?'\"`:;", "é is not EBCDIC's"}
	want := "C 1 " + lines[0] + "\nC 2 " + "   is not EBCDIC's\n"
	got := decodeText(encodeText(lines))
	if got[:len(want)] != want {
		t.Errorf("%q, want %q", got[:len(want)], want)
	}
	ascii := []byte(fmt.Sprintf("%-80s%-80s", "C 1 plain ASCII", "C 2"))
	if got := decodeText(ascii); got != "C 1 plain ASCII\nC 2" {
		t.Errorf("%q", got)
	}
}
