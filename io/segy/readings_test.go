package segy

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// shotsOf are traces as a recorded file has them: samples that oscillate, a quarter of them
// muted, and one trace dead.
func shotsOf(t testing.TB, spec Spec, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, spec)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		fields := map[Field]int64{FieldRecord: int64(i/4 + 1), Channel: int64(i%4 + 1), TraceID: 1, CoordinateScalar: -10,
			ElevationScalar: 1, SourceX: int64(1000 * (i / 4)), ReceiverX: int64(5000 + 250*i), CoordinateUnits: 1}
		if err := w.Write(fields, oscillating(i, spec.Samples)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func oscillating(trace, n int) []float32 {
	v := make([]float32, n)
	for i := n / 4; i < n && trace != 2; i++ {
		v[i] = float32(math.Round(100 * math.Sin(0.4*float64(i)+float64(trace))))
	}
	return v
}

// wantShots wants exactly the traces of shotsOf with the given numbers.
func wantShots(t *testing.T, name string, f *File, samples int, numbers ...int) (lost []Lost) {
	t.Helper()
	r := f.Reader()
	for _, i := range numbers {
		tr, err := r.Next(true)
		if err != nil {
			t.Errorf("%s: trace %d: %v", name, i, err)
			return r.Lost
		}
		if got := ReceiverX.Int(tr.Header, f.ByteOrder()); got != int64(5000+250*i) {
			t.Errorf("%s: receiver x of trace %d is %d", name, i, got)
		}
		if tr.NS != samples || !slices.Equal(tr.Samples, oscillating(i, samples)) {
			t.Errorf("%s: trace %d has %d samples, want %d, or other ones", name, i, tr.NS, samples)
		}
	}
	if tr, err := r.Next(true); err == nil {
		t.Errorf("%s: a trace too many, of %d samples at byte %d", name, tr.NS, tr.At+1)
	}
	return r.Lost
}

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// setOwn sets the number of samples in the headers of all traces.
func setOwn(b []byte, spec Spec, n int64) []byte {
	b = bytes.Clone(b)
	stride := (&File{Format: spec.Format}).traceBytes(spec.Samples)
	for at := int64(reelBytes); at < int64(len(b)); at += stride {
		f := TraceSamples
		f.Byte += int(at)
		if err := f.Put(b, spec.Order.binary(), n); err != nil {
			panic(err)
		}
	}
	return b
}

// A number of samples that is stale and the one that is right may both fit the file's size:
// the headers decide, whichever number is wrong, and nothing is taken for a trace that is
// none.
func TestStaleSamples(t *testing.T) {
	t.Parallel()
	fits := 0
	for _, format := range []Format{IBM32, IEEE32, Int16, IEEE64, Int8} {
		for _, pair := range [][2]int{{100, 50}, {50, 100}, {160, 50}, {50, 160}, {100, 20}, {125, 1001}, {60, 61}, {64, 4}, {4, 64}} {
			right, stale := pair[0], pair[1]
			a, b := headerBytes+right*format.Bytes(), headerBytes+stale*format.Bytes()
			whole := b / gcd(a, b) // traces that both numbers fit
			for _, traces := range []int{2, 5, 11, whole, 2 * whole} {
				if traces < 2 || traces > 200 {
					continue
				}
				for major := range 3 {
					spec := Spec{Major: major, Format: format, Order: Big, Samples: right, Interval: 4000}
					sound := shotsOf(t, spec, traces)
					reel := put(sound, bigEndian, fileSamples, int64(stale))
					if major == 2 {
						reel = put(reel, bigEndian, fileExtSamples, 0)
					}
					for kind, file := range map[string][]byte{"byte 3221": reel, "byte 115": setOwn(sound, spec, int64(stale))} {
						name := fmt.Sprintf("%v, revision %d, %d traces of %d samples, %s says %d", format, major, traces, right, kind, stale)
						f, err := open(file, Options{})
						if err != nil {
							t.Errorf("%s: %v", name, err)
							continue
						}
						wantShots(t, name, f, right, upTo(traces)...)
						if noted := strings.Join(f.Notes, "\n"); !strings.Contains(noted, "samples a trace: ") {
							t.Errorf("%s: notes %q", name, noted)
						}
						if (len(file)-reelBytes)%a == 0 && (len(file)-reelBytes)%b == 0 {
							fits++
						}
					}
				}
			}
		}
	}
	t.Logf("%d of the files fit both numbers", fits)
	if fits < 36 {
		t.Errorf("%d files fit both numbers, want 36 or more", fits)
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Where both numbers are wrong, the file is refused with the number that the headers follow,
// and --samples takes it.
func TestBothSamplesStale(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ right, stale int }{{100, 50}, {50, 160}, {70000, 4464}, {70000, 32767}, {40000, 32767}} {
		spec := Spec{Major: 2, Format: Int8, Order: Big, Samples: c.right, Interval: 4000}
		b := put(put(shotsOf(t, spec, 11), bigEndian, fileExtSamples, 0), bigEndian, fileSamples, int64(c.stale))
		b = setOwn(b, spec, int64(c.stale))
		for major := range 2 {
			b[fileMajor.Byte-1] = byte(major)
			_, err := open(b, Options{})
			var fault *Error
			if !errors.As(err, &fault) || !strings.Contains(fault.Hint, fmt.Sprintf("--samples %d ", c.right)) {
				t.Errorf("%+v: %v, %+v", c, err, fault)
			}
			f, err := open(b, Options{Samples: c.right})
			if err != nil {
				t.Fatal(err)
			}
			wantShots(t, fmt.Sprint(c), f, c.right, upTo(11)...)
		}
	}
}

// --samples cuts or fills up traces whose length is known: it is no reading of the file.
func TestSamplesOfKnownTraces(t *testing.T) {
	t.Parallel()
	b := shotsOf(t, Spec{Major: 1, Samples: 100, Interval: 4000}, 11)
	for _, n := range []int{50, 160, 1000} {
		f, err := open(b, Options{Samples: n})
		if err != nil {
			t.Fatal(err)
		}
		wantShots(t, "sound", f, 100, upTo(11)...)
	}
}

// Header extensions that are announced and not there, as where revision 2.1 has the kind of
// survey, do not move the traces.
func TestAbsentExtensions(t *testing.T) {
	t.Parallel()
	b := put(shotsOf(t, Spec{Major: 2, Samples: 100, Interval: 4000}, 11), bigEndian, fileExtra, 1)
	f, err := open(b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantShots(t, "absent extensions", f, 100, upTo(11)...)
	if len(f.Notes) != 1 || !strings.Contains(f.Notes[0], "byte 3507: of 1 header extensions there is none") {
		t.Errorf("notes %q", f.Notes)
	}
}

// SU has the number of samples in trace headers alone, in either order.
func TestStaleSamplesSU(t *testing.T) {
	t.Parallel()
	for _, order := range []Order{Big, Little} {
		spec := Spec{Kind: SU, Order: order, Samples: 100, Interval: 4000}
		whole := shotsOf(t, spec, 11)
		stale := bytes.Clone(whole)
		for at := 0; at < len(stale); at += 640 {
			order.binary().PutUint16(stale[at+114:], 50)
		}
		if f, err := open(stale, Options{Kind: SU}); err == nil {
			if all, err := readAll(f); err == nil {
				t.Errorf("%s: %d traces are made of 11", order, len(all))
			}
		}
		f, err := open(stale, Options{Kind: SU, Samples: 100})
		if err != nil {
			t.Fatal(err)
		}
		wantShots(t, string(order), f, 100, upTo(11)...)
		cut := whole[:len(whole)-100]
		if _, err := open(cut, Options{Kind: SU}); err == nil || !strings.Contains(err.(*Error).Hint, "--salvage") {
			t.Errorf("%s: %v", order, err)
		}
		if f, err = open(cut, Options{Kind: SU, Salvage: true}); err != nil {
			t.Fatal(err)
		}
		if lost := wantShots(t, string(order), f, 100, upTo(10)...); len(lost) != 1 {
			t.Errorf("lost %+v", lost)
		}
	}
}

// What is whole is taken of damaged files, and what is not is listed; without Salvage the
// refusal names it.
func TestSalvage(t *testing.T) {
	t.Parallel()
	const stride = headerBytes + 4*64
	at := func(trace int) int { return reelBytes + trace*stride }
	for name, c := range map[string]struct {
		damage func(b []byte) []byte
		kept   []int
		lost   []string
	}{
		"last trace cut":       {func(b []byte) []byte { return b[:len(b)-100] }, upTo(11), []string{"the file ends inside the trace: 396 of its 496 bytes"}},
		"7 bytes more":         {func(b []byte) []byte { return append(b, 1, 2, 3, 4, 5, 6, 7) }, upTo(12), []string{"7 bytes behind the last trace"}},
		"300 bytes more":       {func(b []byte) []byte { return append(b, bytes.Repeat([]byte{0x17}, 300)...) }, upTo(12), []string{"no trace header"}},
		"a header zeroed":      {func(b []byte) []byte { clear(b[at(3):][:240]); return b[:len(b)-1] }, []int{0, 1, 2, 4, 5, 6, 7, 8, 9, 10}, []string{"no trace header", "ends inside"}},
		"5 bytes lost inside":  {func(b []byte) []byte { return slices.Delete(b, at(3)+300, at(3)+305) }, []int{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11}, []string{"not whole"}},
		"9 bytes more inside":  {func(b []byte) []byte { return slices.Insert(b, at(3)+300, make([]byte, 9)...) }, []int{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11}, []string{"not whole"}},
		"lost between headers": {func(b []byte) []byte { return slices.Delete(b, at(5)+100, at(7)+130) }, []int{0, 1, 2, 3, 8, 9, 10, 11}, []string{"not whole"}},
	} {
		for major := range 3 {
			spec := Spec{Major: major, Samples: 64, Interval: 4000}
			b := c.damage(shotsOf(t, spec, 12))
			name := fmt.Sprintf("%s, revision %d", name, major)
			f, err := open(b, Options{})
			if err == nil {
				_, err = readAll(f)
			}
			var fault *Error
			if !errors.As(err, &fault) || !strings.Contains(fault.Hint, "--salvage") {
				t.Errorf("%s: %v: hint %q", name, err, fault.Hint)
			}
			if f, err = open(b, Options{Salvage: true}); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			lost := wantShots(t, name, f, 64, c.kept...)
			bytesLost := int64(0)
			for i, want := range c.lost {
				if len(lost) != len(c.lost) || !strings.Contains(lost[i].Reason, want) {
					t.Errorf("%s: lost %+v, want %q", name, lost, c.lost)
					break
				}
				bytesLost += lost[i].Bytes
			}
			if whole := int64(len(c.kept) * stride); reelBytes+whole+bytesLost != int64(len(b)) {
				t.Errorf("%s: %d bytes of traces and %d lost of %d", name, whole, bytesLost, len(b)-reelBytes)
			}
		}
	}
}

// Traces of several lengths in a revision that has one alone.
func TestSalvageLengths(t *testing.T) {
	t.Parallel()
	lengths := []int{64, 64, 50, 64, 80, 64}
	for major := range 2 {
		var b []byte
		for i, n := range lengths {
			one := shotsOf(t, Spec{Major: major, Samples: n, Interval: 4000}, i+1)
			if i == 0 {
				b = one
				continue
			}
			b = append(b, one[len(one)-headerBytes-4*n:]...)
		}
		f, err := open(b, Options{})
		if err == nil {
			_, err = readAll(f)
		}
		var fault *Error
		if !errors.As(err, &fault) || !strings.Contains(fault.Hint, "--salvage") {
			t.Errorf("revision %d: %v", major, err)
		}
		for tail, lost := range map[int]int{0: 0, 100: 1} {
			f, err := open(b[:len(b)-tail], Options{Salvage: true})
			if err != nil {
				t.Fatal(err)
			}
			r := f.Reader()
			for i, n := range lengths[:len(lengths)-lost] {
				tr, err := r.Next(true)
				if err != nil || tr.NS != n || !slices.Equal(tr.Samples, oscillating(i, n)) {
					t.Errorf("revision %d: trace %d: %+v, %v", major, i, tr, err)
				}
			}
			if tr, err := r.Next(true); err == nil || len(r.Lost) != lost {
				t.Errorf("revision %d, %d bytes cut: %+v more, lost %+v", major, tail, tr, r.Lost)
			}
		}
	}
}

// Extended textual headers that are announced and not there, or the other way round, are
// told by what follows.
func TestAnnouncedTexts(t *testing.T) {
	t.Parallel()
	for _, samples := range []int{64, 100, 340} { // 3200 bytes are 5 traces of 100, 2 of 340
		for _, c := range []struct{ announced, there int }{{2, 0}, {1, 0}, {1, 3}, {3, 1}, {-1, 0}, {40, 0}} {
			sound := shotsOf(t, Spec{Major: 1, Samples: samples, Interval: 4000}, 24)
			b := put(sound, bigEndian, fileTexts, int64(c.announced))
			b = slices.Insert(b, reelBytes, bytes.Repeat(encodeText([]string{"A TEXT"}), c.there)...)
			name := fmt.Sprintf("%d samples, %+v", samples, c)
			_, err := open(b, Options{})
			var fault *Error
			if !errors.As(err, &fault) || fault.Byte != 3505 || !strings.Contains(fault.Hint, fmt.Sprintf("--extended-texts %d ", c.there)) {
				t.Errorf("%s: %v, %+v", name, err, fault)
			}
			for _, opt := range []Options{{Texts: &c.there}, {Salvage: true}} {
				f, err := open(b, opt)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if lost := wantShots(t, name, f, samples, upTo(24)...); len(lost) != 0 {
					t.Errorf("%s: lost %+v", name, lost)
				}
			}
		}
	}
	most := 1
	if _, err := open(shotsOf(t, Spec{Major: 1, Samples: 4, Interval: 4000}, 3), Options{Texts: &most}); err == nil || !strings.Contains(err.Error(), "1 are asked for, but the file has room for 0") {
		t.Errorf("%v", err)
	}
}
