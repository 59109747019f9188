package segy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"
)

var bigEndian = binary.ByteOrder(binary.BigEndian)

func TestExtendedText(t *testing.T) {
	spec := Spec{Major: 1, Samples: 10, Interval: 4000}
	plain := made(t, spec, 3)
	record := func(text string) []byte {
		b := bytes.Repeat([]byte{' '}, textBytes)
		copy(b, text)
		return b
	}
	with := func(count int64, records ...[]byte) []byte {
		b := put(plain, bigEndian, fileTexts, count)
		return bytes.Join([][]byte{b[:reelBytes], bytes.Join(records, nil), b[reelBytes:]}, nil)
	}
	two := [][]byte{record("((JUNK ver 1.0))"), record("(( SEG: Endtext ))")}
	for name, b := range map[string][]byte{"counted": with(2, two...), "open": with(-1, two...), "none": with(0)} {
		f, err := open(b, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if all, err := readAll(f); err != nil || len(all) != 3 {
			t.Errorf("%s: %d traces, %v", name, len(all), err)
		}
	}
	mustFail(t, with(-1, two[0]), Options{}, "byte 3505 (number of extended textual headers): is -1, but none of the 1 records")
	mustFail(t, with(9), Options{}, "is 9, but the file has room for 0")
	mustFail(t, with(-2), Options{}, "is -2, must be -1 or more")
}

// Each trace of its own length, which its header gives.
func TestVaryingLength(t *testing.T) {
	b := made(t, Spec{Major: 1, Samples: 10, Interval: 4000}, 1)
	b = put(b, bigEndian, fileFixed, 0)
	longer := made(t, Spec{Major: 1, Samples: 25, Interval: 4000}, 1)[reelBytes:]
	b = append(append(b, longer...), b[reelBytes:]...)
	f, err := open(b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := readAll(f)
	if err != nil || len(all) != 3 || all[0].NS != 10 || all[1].NS != 25 || all[2].NS != 10 || all[2].Samples[1] != 3 {
		t.Errorf("%d traces, %v", len(all), err)
	}
}

// The trace header says 1500, the binary header 600, the size of the file 600: as
// in files that were cut after recording.
func TestSizeDecides(t *testing.T) {
	b := made(t, Spec{Samples: 60, Interval: 4000}, 4)
	for i := range 4 {
		f := after(TraceSamples)
		f.Byte += i * (240 + 4*60)
		b = put(b, bigEndian, f, 150)
	}
	for name, b := range map[string][]byte{"whole": b, "cut": b[:len(b)-17]} {
		f, err := open(b, Options{})
		if err != nil || f.Fixed != 60 {
			t.Fatalf("%s: %+v, %v", name, f, err)
		}
	}
	f, _ := open(b, Options{})
	if len(f.Notes) != 1 || !strings.Contains(f.Notes[0], "byte 3221 says 60, byte 115 of the first trace header 150; the size of the file fits 60") {
		t.Errorf("notes %q", f.Notes)
	}
	if f.Traces() != 4 {
		t.Errorf("%d traces", f.Traces())
	}
	other := put(b, bigEndian, fileSamples, 61)
	other = put(other, bigEndian, after(TraceSamples), 60)
	if f, err := open(other, Options{}); err != nil || f.Fixed != 60 {
		t.Errorf("the trace header is right: %+v, %v", f, err)
	}
}

// Revision 2: further trace headers, whose numbers count, and trailers.
func TestHeaderExtensions(t *testing.T) {
	spec := Spec{Major: 2, Samples: 6, Interval: 1250.5}
	plain := made(t, spec, 2)
	one := (len(plain) - reelBytes) / 2
	var b []byte
	for i := range 2 {
		trace := plain[reelBytes+i*one : reelBytes+(i+1)*one]
		ext := make([]byte, headerBytes*(i+1))
		copy(ext[headerBytes-8:], "SEG00001")
		b = append(append(append(b, trace[:headerBytes]...), ext...), trace[headerBytes:]...)
	}
	b = append(append(bytes.Clone(plain[:reelBytes]), b...), make([]byte, textBytes)...)
	b = put(b, bigEndian, fileExtra, 2)
	b = put(b, bigEndian, fileTraces, 2)
	b = put(b, bigEndian, fileTrailers, 1)
	blocks := after(extBlocks)
	b = put(b, bigEndian, blocks, 1) // the second trace has 0: as many as the binary header says
	f, err := open(b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := readAll(f)
	if err != nil || len(all) != 2 || len(all[0].Header) != 480 || len(all[1].Header) != 720 {
		t.Fatalf("%d traces, %v", len(all), err)
	}
	for i, tr := range all {
		if tr.Samples[1] != samplesOf(i, 6)[1] {
			t.Errorf("trace %d: %v", i, tr.Samples)
		}
	}
	if f.Interval != 0.0012505 || f.TraceInterval(&all[0]) != 0 {
		t.Errorf("interval %g", f.Interval)
	}
	mustFail(t, put(b, bigEndian, blocks, 3), Options{}, "number of header extensions, header byte 397): is 3, the binary header allows 2")
	mustFail(t, put(b, bigEndian, fileTraces, 3), Options{}, "byte 3513 (number of traces): is 3, the file holds 2")
	mustFail(t, put(b, bigEndian, fileTrailers, -1), Options{}, "is -1, a number to be found out, which is not supported")
	other := put(b, bigEndian, blocks, 3)
	other[reelBytes+2*headerBytes-1] = '9' // another extension, whose bytes mean something else
	other = put(other, bigEndian, fileExtra, 1)
	f, err = open(other, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := f.Reader().Next(true); err != nil || len(first.Header) != 480 {
		t.Errorf("an extension of another name: %v", err)
	}
	long := put(b, bigEndian, fileFixed, 0)
	long = put(long, bigEndian, after(extSamples), 1<<31)
	mustFail(t, long, Options{}, "number of samples, header byte 377): is 2147483648, must be in [1, 2147483647]")
}

func TestSU(t *testing.T) {
	for _, order := range []Order{Big, Little} {
		b := made(t, Spec{Kind: SU, Order: order, Samples: 50, Interval: 4000}, 4)
		if len(b) != 4*(240+200) {
			t.Fatalf("%d bytes", len(b))
		}
		f, err := open(b, Options{Kind: SU})
		if err != nil || f.Order != order {
			t.Fatalf("%+v, %v", f, err)
		}
		all, err := readAll(f)
		if err != nil || len(all) != 4 || all[3].Samples[2] != 27 || f.TraceInterval(&all[3]) != 0.004 {
			t.Errorf("%d traces, %v", len(all), err)
		}
		mustFail(t, b[:len(b)-4], Options{Kind: SU}, "this is no SU file, or one that is cut short")
		third := TraceSamples
		third.Byte += 2 * 440
		mustFail(t, put(b, order.binary(), third, 51), Options{Kind: SU}, "trace 3: byte 995 (number of samples, header byte 115): is 51, that of the first trace 50")
		mustFail(t, b[:200], Options{Kind: SU}, "has 200 bytes, less than the 240 of a trace header")
	}
	if f, err := NewFile("a.SU", bytes.NewReader(made(t, Spec{Kind: SU, Samples: 8, Interval: 1}, 2)), 2*272, Options{}); err != nil || f.Kind != SU {
		t.Errorf("by its name: %v", err)
	}
}

func mustFail(t *testing.T, b []byte, opt Options, want string) {
	t.Helper()
	f, err := open(b, opt)
	if err == nil {
		_, err = readAll(f)
	}
	if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, new(*Error)) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestDamagedHeaders(t *testing.T) {
	one := made(t, Spec{Major: 1, Samples: 20, Interval: 4000}, 3)
	two := made(t, Spec{Major: 2, Samples: 20, Interval: 4000}, 3)
	mustFail(t, nil, Options{}, "test.sgy: is empty")
	mustFail(t, one[:3599], Options{}, "has 3599 bytes, less than the 3600")
	mustFail(t, one[:3600], Options{}, "holds no traces")
	mustFail(t, one[:3700], Options{}, "byte 3601 (first trace): 100 bytes are left, a trace header has 240")
	mustFail(t, one[:len(one)-1], Options{}, "test.sgy: trace 3: byte 4355 (number of samples, header byte 115): 20 samples take 80 bytes, but 79 are left")
	mustFail(t, one[:len(one)-100], Options{}, "trace 3: byte 4241: the file ends inside the trace: 220 bytes are left for a header of 240")
	mustFail(t, put(one, bigEndian, fileFormat, 13), Options{}, "byte 3225 (sample format code): is 13 (3328 in little-endian order), want one of")
	mustFail(t, put(one, bigEndian, fileFormat, 4), Options{}, "fixed point with gain code")
	mustFail(t, put(two, bigEndian, fileByteOrder, 0x02010403), Options{}, "swapped in pairs")
	mustFail(t, put(two, bigEndian, fileExtSamples, -5), Options{}, "byte 3269 (extended number of samples): is -5")
	mustFail(t, put(two, bigEndian, fileExtInterval, -1), Options{}, "byte 3273 (extended sample interval): is -1 µs")
	mustFail(t, put(two, bigEndian, fileExtra, 1<<30), Options{}, "byte 3507 (number of additional trace headers): is 1073741824, must be in [0, 19] for a file of 4560 bytes")
	mustFail(t, put(two, bigEndian, fileFirst, 1<<62), Options{}, "byte 3521 (byte offset of the first trace): is 4611686018427387904, must be in [3600, 4560]")
	mustFail(t, put(two, bigEndian, fileTraces, 1<<62), Options{}, "but the file has room for 19")
	mustFail(t, put(two, bigEndian, fileTrailers, 4), Options{}, "byte 3529 (number of data trailers): is 4, must be in [0, 0]")
	none := put(put(one, bigEndian, fileSamples, 0), bigEndian, fileFixed, 0)
	mustFail(t, put(none, bigEndian, after(TraceSamples), 0), Options{}, "trace 1: byte 3715 (number of samples, header byte 115): is 0, must be in [1, 2147483647]")
	if _, err := Open(t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open("nothing.sgy", Options{}); err == nil || err.Error() != "nothing.sgy: no such file or directory" {
		t.Errorf("no file: %v", err)
	}
}

// A header that claims much makes nothing large.
func TestClaimsAllocateNothing(t *testing.T) {
	b := made(t, Spec{Major: 2, Samples: 20, Interval: 4000}, 3)
	b = put(b, bigEndian, fileExtSamples, 1<<31-1)
	b = put(b, bigEndian, fileFixed, 0)
	b = put(b, bigEndian, after(TraceSamples), 0)
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	mustFail(t, b, Options{}, "2147483647 samples take 8589934588 bytes, but 720 are left")
	runtime.ReadMemStats(&now)
	if grown := now.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
}

func TestUnknownRevision(t *testing.T) {
	b := made(t, Spec{Samples: 20, Interval: 4000}, 3)
	b[3500], b[3501] = 0x40, 0x40
	f, err := open(b, Options{})
	if err != nil || f.Major != 0 || len(f.Notes) != 1 || !strings.Contains(f.Notes[0], "revision 64.64 is unknown") {
		t.Errorf("%+v, %v", f, err)
	}
	b[3500], b[3501] = 0, 1
	if f, err := open(b, Options{}); err != nil || f.Major != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestWriterRefuses(t *testing.T) {
	for want, spec := range map[string]Spec{
		"traces have 0 samples":        {Interval: 1000},
		"traces have 65536 samples":    {Major: 1, Samples: 65536, Interval: 1000},
		"sample interval is 0.5":       {Major: 1, Samples: 6, Interval: 0.5},
		"sample interval is 70000":     {Kind: SU, Samples: 6, Interval: 70000},
		"revision is 3":                {Major: 3, Samples: 6, Interval: 1000},
		"cannot be written as IBM":     {Kind: SU, Format: IBM32, Samples: 6, Interval: 1000},
		"cannot be written as format ": {Format: 4, Samples: 6, Interval: 1000},
	} {
		if _, err := NewWriter(&bytes.Buffer{}, spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", spec, err, want)
		}
	}
	w, err := NewWriter(&bytes.Buffer{}, Spec{Major: 1, Samples: 2, Interval: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(map[Field]int64{SourceX: 1 << 31}, make([]float32, 2)); err == nil || !strings.Contains(err.Error(), "2147483648 does not fit into header byte 73") {
		t.Errorf("error %v", err)
	}
}
