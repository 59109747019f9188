package kirchhoff

import (
	"context"
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
)

// TestWindow: the ends and the middle of each taper, and what adds up to 1.
func TestWindow(t *testing.T) {
	const degree = math.Pi / 180
	w := Window{10, 20, 40, 80}.kernel()
	for _, c := range []struct{ degrees, want float64 }{
		{0, 0}, {10, 0}, {15, 0.5}, {20, 1}, {30, 1}, {40, 1}, {50, 0.5 + 0.5*math.Cos(math.Pi/4)}, {60, 0.5}, {80, 0}, {180, 0},
	} {
		if got := at(w, c.degrees*degree); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("at %g degrees %g, want %g", c.degrees, got, c.want)
		}
	}
	for _, all := range []Window{{}, {0, 0, 180, 180}} {
		if !all.none() || at(all.kernel(), 180*degree) != 1 || at(all.kernel(), 0) != 1 {
			t.Errorf("%v is not 1 everywhere", all)
		}
	}
	if v := at(Window{Fall0: 30, Fall1: 30}.kernel(), 30.01*degree); v != 0 {
		t.Errorf("a hard edge leaves %g", v)
	}
}

// TestAngles: the reflector's dip and the opening angle of pairs of rays, the same in
// 2-D and, in a vertical plane, in 3-D.
func TestAngles(t *testing.T) {
	const degree = math.Pi / 180
	for _, c := range []struct{ a, b, dip, opening float64 }{
		{0, 0, 0, 0}, {30, -30, 0, 60}, {50, 10, 30, 40}, {-50, -10, 30, 40}, {80, 100, 90, 20},
		{120, 130, 125, 10}, {170, -160, 175, 30}, {-170, 160, 175, 30}, {120, -110, 175, 130},
	} {
		dip, opening := angles2(c.a*degree, c.b*degree)
		p := func(a float64) [3]float64 { return [3]float64{0.6 * math.Sin(a), 0.8 * math.Sin(a), math.Cos(a)} }
		dip3, opening3 := angles3(p(c.a*degree), p(c.b*degree))
		for i, d := range [4]float64{dip - c.dip*degree, opening - c.opening*degree, dip3 - c.dip*degree, opening3 - c.opening*degree} {
			if math.Abs(d) > 1e-12 {
				t.Errorf("rays at %g and %g degrees: result %d is off by %g degrees, want dip %g, opening %g", c.a, c.b, i, d/degree, c.dip, c.opening)
			}
		}
	}
}

// TestOpeningClasses: the images of all classes of the opening angle add up to the image.
func TestOpeningClasses(t *testing.T) {
	for _, c := range []trial{{dim: 2, weights: 1}, {dim: 3, weights: 1}, {dim: 2}} {
		p := c.problem(t, 11)
		whole := everyEngine(t, p)
		centres := []float64{0, 20, 50, 90}
		sums := make([][]float64, len(whole))
		for i := range centres {
			p.Opening = Window{Fall0: 180, Fall1: 180}
			if i > 0 {
				p.Opening.Rise0, p.Opening.Rise1 = centres[i-1], centres[i]
			}
			if i+1 < len(centres) {
				p.Opening.Fall0, p.Opening.Fall1 = centres[i], centres[i+1]
			}
			for k, e := range everyEngine(t, p) {
				_, image := both(t, p, e, 3)
				if sums[k] == nil {
					sums[k] = make([]float64, len(image))
				}
				for n, v := range image {
					sums[k][n] += v
				}
			}
		}
		for k, e := range whole {
			_, want := both(t, p, e, 3)
			if d := difference(sums[k], want); !(d <= 1e-6) {
				t.Errorf("%v: %s: classes add up to the image but for %.2e", c, name(e), d)
			}
		}
	}
}

// TestDipLimit: a trace with source and receiver in one place illuminates at a point
// the dip of the line between them, so in a constant velocity its impulse lies on a
// circle that ends at the limit.
func TestDipLimit(t *testing.T) {
	p := fixedSpread(t, []int{121, 81}, 10, [2]int{1, 1}, [2]int{1, 1}, 400, false)
	p.Wavelet.Samples, p.Wavelet.Zero = []float64{1}, 0
	copy(p.Positions.XYZ, []float64{600, 0, 600, 0})
	p.DipLimit = []float64{40, 50}
	for _, e := range everyEngine(t, p) {
		h := device.NewHost(1)
		data, image := buffer(t, h, e, p.NT*p.NumTraces()), buffer(t, h, e, p.Grid.Len())
		one := make([]float64, data.Len())
		for i := range one {
			one[i] = 1
		}
		out := make([]float64, image.Len())
		if err := device.Upload(data, one); err != nil {
			t.Fatal(err)
		}
		if err := only(e).Adjoint(context.Background(), image, data); err != nil {
			t.Fatal(err)
		}
		if err := device.Download(out, image); err != nil {
			t.Fatal(err)
		}
		for ix := range 121 {
			for iz := 3; iz < 80; iz++ { // central differences are coarse next to the place
				dip := math.Atan2(math.Abs(float64(10*ix-600)), float64(10*iz)) * 180 / math.Pi
				want := 1.0
				switch {
				case dip > 51:
					want = 0
				case dip > 39:
					continue
				}
				if got := out[ix*81+iz]; math.Abs(got-want) > 1e-6 {
					t.Fatalf("%s: at a dip of %.1f degrees %g, want %g", name(e), dip, got, want)
				}
			}
		}
	}
}
