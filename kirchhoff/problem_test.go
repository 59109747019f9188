package kirchhoff

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

func TestValidate(t *testing.T) {
	good := trial{dim: 2, weights: 2}.problem(t, 3)
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*Problem)
		want   string
	}{
		{func(p *Problem) { p.Grid.Spacing = []float64{1, -1} }, "image: grid: spacing along z is -1 m"},
		{func(p *Problem) { p.Positions = &survey.Positions{Dim: 2} }, "no traces"},
		{func(p *Problem) { q := *p.Positions; q.Dim = 3; p.Positions = &q }, "positions have 3 columns, the image has 2 axes"},
		{func(p *Problem) { p.Times = nil }, "no traveltime method"},
		{func(p *Problem) { p.Grid.Origin = []float64{900, 0} }, "traveltimes (analytic) are on"},
		{func(p *Problem) { p.NT = 1 }, "traces have 1 sample"},
		{func(p *Problem) { p.DT = 0 }, "dt is 0 s"},
		{func(p *Problem) { p.T0 = math.NaN() }, "t0 is NaN s"},
		{func(p *Problem) { p.Wavelet.Zero = len(p.Wavelet.Samples) }, "has its zero at sample"},
		{func(p *Problem) { p.Velocity = p.Velocity[1:] }, "need the velocity"},
		{func(p *Problem) { p.Velocity = slices.Clone(p.Velocity); p.Velocity[1] = -3 }, "velocity at point 1 of the slab is -3 m/s"},
		{func(p *Problem) { p.AngleLimit = []float64{60, 50} }, "angle limit is [60 50] degrees"},
		{func(p *Problem) { p.Antialias = []float64{10, 10} }, "anti-aliasing has 2 spacings, need 1"},
		{func(p *Problem) { p.Antialias = []float64{10} }, "the slowest velocity is 0 m/s"},
		{func(p *Problem) { p.Antialias, p.Slowest = []float64{-10}, 1500 }, "anti-aliasing over [-10] m"},
		{func(p *Problem) { p.DipLimit = []float64{60, 50} }, "dip limit is [60 50] degrees"},
		{func(p *Problem) { p.Opening = Window{Rise1: 20, Fall0: 10, Fall1: 30} }, "opening angles {0 20 10 30} degrees"},
		{func(p *Problem) { p.AngleLimit = []float64{60} }, "angle limit is [60] degrees"},
	} {
		p := *good
		c.change(&p)
		for _, err := range []error{p.Validate(), errOf(NewReference(t.Context(), &p, Work{})), errOf(New(t.Context(), &p, Work{}))} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		}
	}
}

func errOf[T any](_ T, err error) error { return err }

// TestCancel: a context that has ended stops set-up and applications.
func TestCancel(t *testing.T) {
	p := trial{dim: 2}.problem(t, 3)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, e := range everyEngine(t, p) {
		h := device.NewHost(1)
		image, data := buffer(t, h, e, p.Grid.Len()), buffer(t, h, e, p.NumTraces()*p.NT)
		for _, err := range []error{only(e).Forward(ended, data, image), only(e).Adjoint(ended, image, data)} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: error %v, want %v", name(e), err, context.Canceled)
			}
		}
	}
	for _, err := range []error{errOf(NewReference(ended, p, Work{})), errOf(New(ended, p, Work{}))} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("set-up: error %v, want %v", err, context.Canceled)
		}
	}
}

func TestSizesPanic(t *testing.T) {
	p := trial{dim: 2}.problem(t, 3)
	for _, e := range everyEngine(t, p) {
		h := device.NewHost(1)
		func() {
			defer func() {
				if r := recover(); r == nil {
					t.Errorf("%s: a data buffer one sample short is accepted", name(e))
				}
			}()
			_ = only(e).Forward(t.Context(), buffer(t, h, e, p.NumTraces()*p.NT-1), buffer(t, h, e, p.Grid.Len()))
		}()
	}
}

// TestMaxDistance looks at every point where the function looks at corners.
func TestMaxDistance(t *testing.T) {
	for _, dim := range []int{2, 3} {
		p := trial{dim: dim, irregular: true}.problem(t, 11)
		furthest := func(places []int32) float64 {
			far, x := 0.0, make([]float64, dim)
			for _, place := range places {
				for i := range p.Grid.Len() {
					p.Grid.Point(x, i)
					sum := 0.0
					for a, at := range p.Positions.At(int(place)) {
						sum += (x[a] - at) * (x[a] - at)
					}
					far = max(far, math.Sqrt(sum))
				}
			}
			return far
		}
		s, r := MaxDistance(p.Grid, p.Positions)
		if ws, wr := furthest(p.Positions.Source), furthest(p.Positions.Receiver); s != ws || r != wr {
			t.Errorf("%d-D: largest distances %g and %g, want %g and %g", dim, s, r, ws, wr)
		}
	}
}

// TestParts: with the whole survey's distances set, the traces of a part are those
// of the whole.
func TestParts(t *testing.T) {
	p := trial{dim: 2, weights: 1, irregular: true}.problem(t, 11)
	n := p.NumTraces()
	part := *p
	part.Positions = &survey.Positions{Dim: 2, XYZ: p.Positions.XYZ, Role: p.Positions.Role, Row: p.Positions.Row,
		Source: p.Positions.Source[n/2:], Receiver: p.Positions.Receiver[n/2:]}
	part.MaxDistance[0], part.MaxDistance[1] = MaxDistance(p.Grid, p.Positions)
	whole, some := everyEngine(t, p), everyEngine(t, &part)
	for i := range whole {
		all, _ := both(t, p, whole[i], 1)
		tail, _ := both(t, &part, some[i], 1)
		if !slices.Equal(all[n/2*p.NT:], tail) {
			t.Errorf("%s: traces of half the survey differ", name(whole[i]))
		}
	}
}

// TestAmplitudeGaps: an amplitude counts for nothing where its place reaches no point.
func TestAmplitudeGaps(t *testing.T) {
	for _, shape := range [][]int{{40, 24}, {16, 12, 12}} {
		p := fixedSpread(t, shape, 10, [2]int{3, 1}, [2]int{7, 1}, 200, true)
		p.Times = gaps{p.Times}
		p.Amplitude = func(place int) ([]float64, error) {
			b := make([]float64, p.Grid.Len())
			for i := range b {
				b[i] = 1 + 0.5*math.Sin(float64(i+place))
			}
			for i := int(p.Positions.NumberOf(int32(place))) % 3; i < len(b); i += 7 {
				b[i] = math.NaN()
			}
			return b, nil
		}
		all := everyEngine(t, p)
		data, image := both(t, p, all[0], 3)
		for _, e := range all[1:] {
			d, m := both(t, p, e, 3)
			if dd, dm := difference(d, data), difference(m, image); !(dd <= 1e-5) || !(dm <= 1e-5) {
				t.Errorf("%s, %v points: data differ by %.2e, images by %.2e, want at most 1e-5", name(e), shape, dd, dm)
			}
		}
	}
}

// TestAmplitude: given factors b replace the computed ones, so computed ones given
// back change nothing, and twice as large ones multiply the operator by four.
func TestAmplitude(t *testing.T) {
	p := trial{dim: 3, weights: 1}.problem(t, 11)
	w := newWeights(p)
	factor := 1.0
	given := *p
	given.Amplitude = func(place int) ([]float64, error) {
		b := make([]float64, p.Grid.Len())
		if err := w.spreading(b, place, traveltime.Whole(p.Grid), traveltime.Branch{}); err != nil {
			return nil, err
		}
		for i := range b {
			b[i] *= factor
		}
		return b, nil
	}
	for factor = 1; factor <= 2; factor++ {
		want, got := everyEngine(t, p), everyEngine(t, &given)
		for i := range want {
			a, _ := both(t, p, want[i], 1)
			b, _ := both(t, &given, got[i], 1)
			for j := range a {
				if b[j] != factor*factor*a[j] { // powers of two are exact
					t.Fatalf("%s: sample %d is %g with given amplitudes, want %g", name(want[i]), j, b[j], factor*factor*a[j])
				}
			}
		}
	}
	given.Amplitude = func(int) ([]float64, error) { return nil, errors.New("no such row") }
	if _, err := New(t.Context(), &given, Work{}); err == nil || !strings.Contains(err.Error(), "no such row") {
		t.Errorf("error %v, want one with %q", err, "no such row")
	}
	given.Amplitude = func(int) ([]float64, error) { return []float64{1}, nil }
	if _, err := New(t.Context(), &given, Work{}); err == nil || !strings.Contains(err.Error(), "has 1 value") {
		t.Errorf("error %v, want one with %q", err, "has 1 value")
	}
}

// TestAngleLimit: the table of the definition, at angles in degrees.
func TestAngleLimit(t *testing.T) {
	p := trial{dim: 2, weights: 1}.problem(t, 3)
	p.AngleLimit = []float64{50, 70}
	w := newWeights(p)
	cosine := func(j int) float64 { return 0.5 - 0.5*math.Cos(math.Pi*float64(20-j)/19) }
	for _, c := range []struct{ degrees, want float64 }{
		{0, 1}, {49.9, 1}, {50.5, 1}, {51.5, 1}, {52.5, cosine(2)}, {-60.5, cosine(10)}, {69.5, cosine(19)},
		{70.01, 0}, {-90, 0}, {math.NaN(), 0},
	} {
		if got := w.taperAngle(c.degrees * math.Pi / 180); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("taper at %g degrees is %g, want %g", c.degrees, got, c.want)
		}
	}
}

func TestProgress(t *testing.T) {
	p := trial{dim: 2}.problem(t, 3)
	var done atomic.Int64
	p.Progress = func() { done.Add(1) }
	e := newCPUEngine(t, p, Work{})
	if int(done.Load()) != len(p.usedPlaces()) {
		t.Errorf("progress ended at %d, want %d", done.Load(), len(p.usedPlaces()))
	}
	n := p.Positions.Len()
	if got, want := e.TableBytes(), int64(n*e.plan.Tiles*(64*4+8)+n*len(e.plan.Boxes)*8); got != want {
		t.Errorf("tables take %d bytes, want %d", got, want)
	}
}
