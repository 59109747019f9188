package kirchhoff

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// compactTimes decodes the tables of one place: times in s, infinite where a point
// does not count, and the size in s of the unit each was rounded to. With DT and T0
// fractions of powers of two nothing is rounded here.
func compactTimes(c *tables, place int) (time, unit []float64) {
	time, unit = make([]float64, c.plan.Problem.Grid.Len()), make([]float64, c.plan.Problem.Grid.Len())
	size := c.op.Mode.Row()
	for tile := range c.plan.Tiles {
		at := tile*c.cover.all + place // [box][tile][place]
		row := c.rows.S[at*size:]
		step := math.Ldexp(1, int(c.shifts.S[at])-simd.Bits)
		for i, n := range c.plan.slots(tile) {
			if n < 0 {
				continue
			}
			word := i/32*16 + i%16
			code := row[word] >> (i / 16 % 2 * 16) & 0xFFFF
			q := float64(c.spans.S[at].Base) + float64(code)*step
			time[n], unit[n] = q*c.plan.Problem.DT+c.plan.Problem.T0/2, step*c.plan.Problem.DT
			if code == simd.Never {
				time[n] = math.Inf(1)
			}
		}
	}
	return time, unit
}

// compactProblem is the trial's problem, with times that float64 adds exactly.
func (c trial) compactProblem(t testing.TB, seed uint64) *Problem {
	p := c.problem(t, seed)
	p.DT = 1.0 / 256
	p.Wavelet.DT = p.DT
	p.T0 = math.Round(p.T0*1024) / 1024
	p.Compact = true
	p.Aperture, p.ApertureTaper = nil, nil // every place has times in all boxes
	return p
}

// TestCompact: what compact tables hold lies within half a unit of the true times,
// the units are as small as promised, and a point is left out only if no pair can
// put it on the record. With exactly those times every set of kernels agrees with
// the reference, and is adjoint to rounding.
func TestCompact(t *testing.T) {
	shifts := map[uint8]int{}
	left := 0
	for i, c := range trials() {
		c.arrivals = 0 // see TestBranchesInCompactTables
		t.Run(c.String(), func(t *testing.T) { left += c.compacts(t, uint64(i), shifts) })
	}
	if left == 0 || shifts[0] == 0 || shifts[1] == 0 || shifts[2] == 0 {
		t.Errorf("trials leave %d points out and have shifts %v: not all cases are tested", left, shifts)
	}
}

// compacts checks compact tables of a trial's problem. It counts their shifts and the points that
// are left out.
func (c trial) compacts(t *testing.T, seed uint64, shifts map[uint8]int) (left int) {
	p := c.compactProblem(t, seed)
	all := everyEngine(t, p)
	ref := all[0].(*referenceEngine).images[0]
	table := all[1].(*cpu).tables
	for _, place := range p.usedPlaces() {
		time, unit := compactTimes(table, place)
		for n, exact := range ref.time[place] {
			q := (exact - p.T0/2) / p.DT
			switch {
			case math.IsInf(time[n], 1):
				left++
				if q >= 0 && q < float64(p.NT-1)+p.T0/(2*p.DT) {
					t.Fatalf("place %d, point %d: %g s is left out, the record has %d samples", place, n, exact, p.NT)
				}
			case !(math.Abs(time[n]-exact) <= unit[n]/2*(1+1e-9)):
				t.Fatalf("place %d, point %d: %g s became %g, half a unit is %g", place, n, exact, time[n], unit[n]/2)
			}
		}
		ref.time[place] = time
	}
	for j, shift := range table.shifts.S {
		shifts[shift]++
		if w := table.spans.S[j].Width; shift > 0 && w >= 0 && w < 32 {
			t.Fatalf("shift %d with times %g samples apart", shift, w)
		}
	}
	data, image := both(t, p, all[0], seed)
	for _, e := range all[1:] {
		d, err := dist.DotTest(context.Background(), device.NewHost(1), operator(p, e), 7)
		if err != nil {
			t.Fatal(err)
		}
		if !(d <= 1e-6) {
			t.Errorf("%s: dot test %.2e, want at most 1e-6", name(e), d)
		}
		gotData, gotImage := both(t, p, e, seed)
		if d := difference(gotData, data); !(d <= 5e-6) {
			t.Errorf("%s: forward differs from the reference by %.2e", name(e), d)
		}
		if d := difference(gotImage, image); !(d <= 5e-6) {
			t.Errorf("%s: adjoint differs from the reference by %.2e", name(e), d)
		}
	}
	return left
}

// TestCompactShift: a tile is held with as many fraction bits as its times leave.
func TestCompactShift(t *testing.T) {
	for _, c := range []struct {
		span  float64 // samples
		shift uint8
	}{{0, 0}, {31.999, 0}, {32, 1}, {63.99, 1}, {64, 2}, {1000, 5}, {500000, 14}} {
		var q [simd.TileSize]float64
		for i := range q {
			q[i] = 7 + c.span*float64(i)/(simd.TileSize-1)
		}
		width, shift, err := encode(make([]uint32, simd.TileSize/2), &q, 7)
		if err != nil || shift != c.shift || math.Abs(float64(width)-c.span) > math.Ldexp(1, int(shift)-simd.Bits-1)+1e-3 {
			t.Errorf("%g samples: shift %d, width %g, %v, want shift %d", c.span, shift, width, err, c.shift)
		}
	}
	var q [simd.TileSize]float64
	q[5] = 600000
	if _, _, err := encode(make([]uint32, simd.TileSize/2), &q, 0); err == nil || !strings.Contains(err.Error(), "600000 samples") {
		t.Errorf("600000 samples: %v", err)
	}
}

// TestCompactError: against exact times the traces of a smooth problem change as the
// promised error of the times says: a wavelet of angular frequency w moves by w times
// it, in units of its largest value.
func TestCompactError(t *testing.T) {
	p := fixedSpread(t, []int{61, 45}, 10, [2]int{3, 1}, [2]int{5, 1}, 300, false)
	p.Compact = true
	image := make([]float64, p.Grid.Len())
	image[30*45+20] = 1
	traces := func(e Engine) []float64 {
		h := device.NewHost(1)
		src, err := h.Alloc(len(image), e.Type())
		if err != nil {
			t.Fatal(err)
		}
		dst, err := h.Alloc(p.NumTraces()*p.NT, e.Type())
		if err != nil {
			t.Fatal(err)
		}
		if err := device.Upload(src, image); err != nil {
			t.Fatal(err)
		}
		if err := only(e).Forward(context.Background(), dst, src); err != nil {
			t.Fatal(err)
		}
		out := make([]float64, p.NumTraces()*p.NT)
		if err := device.Download(out, dst); err != nil {
			t.Fatal(err)
		}
		return out
	}
	all := everyEngine(t, p)
	want := traces(all[0])
	slope := 0.0 // of the wavelet, per sample
	for i := range p.Wavelet.Samples[1:] {
		slope = max(slope, math.Abs(p.Wavelet.Samples[i+1]-p.Wavelet.Samples[i]))
	}
	for _, e := range all[1:] {
		worst := 0.0
		for i, v := range traces(e) {
			worst = max(worst, math.Abs(v-want[i]))
		}
		if limit := slope/2048 + 1e-6; worst > limit || worst < slope/1e6 {
			t.Errorf("%s: traces differ by %.2e, want at most %.2e", name(e), worst, limit)
		}
	}
}

// TestCompactBytes: without weights compact tables take half the memory.
func TestCompactBytes(t *testing.T) {
	for _, dynamic := range []bool{false, true} {
		p := fixedSpread(t, []int{37, 29}, 10, [2]int{5, 1}, [2]int{7, 1}, 180, dynamic)
		full := Needs(p, Work{}).Place
		p.Compact = true
		less := full - Needs(p, Work{}).Place
		if want := int64(Outline(p).Tiles) * (2*simd.TileSize - 1); less != want {
			t.Errorf("dynamic %v: %d bytes a place less than %d, want %d", dynamic, less, full, want)
		}
		if got, want := newCPUEngine(t, p, Work{}).TableBytes(), Needs(p, Work{}).Tables; got != want {
			t.Errorf("dynamic %v: tables of %d bytes, estimated %d", dynamic, got, want)
		}
	}
}
