package kirchhoff

import (
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// TestSpike: a single point at (300, 400) m seen from a source at (0, 0) and a
// receiver at (600, 0), both 500 m away, at 2000 m/s: 0.5 s, which t0 shifts to
// where the comment says. The expected traces are the definition, by hand.
func TestSpike(t *testing.T) {
	g := grid.Grid{Origin: []float64{280, 380}, Spacing: []float64{20, 20}, Shape: []int{3, 3}}
	times, err := traveltime.NewAnalytic(2000, g)
	if err != nil {
		t.Fatal(err)
	}
	s := survey.Survey{Dim: 2, Sources: []float64{0, 0}, Receivers: []float64{600, 0}, Fixed: true}
	velocity := make([]float64, 9)
	for i := range velocity {
		velocity[i] = 2000
	}
	// By central differences of three table points, the angle at the spike:
	at := func(x, z float64) float64 { return math.Hypot(x, z) / 2000 }
	angle := math.Atan2(at(320, 400)-at(280, 400), at(300, 420)-at(300, 380))
	// The furthest corner from either place is (320, 420) or its mirror image.
	b := 1 / math.Sqrt(500+0.01*2*math.Hypot(320, 420))
	weight := 2 * math.Cos(angle) * b * b / 2000 // a_s = −a_r

	cases := []struct {
		name    string
		t0      float64
		dynamic bool
		wavelet []float64
		zero    int
		want    map[int]float64 // of 20 samples, dt = 0.004 s
	}{
		{"on a sample", 0.46, false, []float64{1}, 0, map[int]float64{10: 1}},
		{"between samples", 0.461, false, []float64{1}, 0, map[int]float64{9: 0.25, 10: 0.75}},
		{"wavelet of two", 0.461, false, []float64{2, -1}, 1, map[int]float64{8: 0.5, 9: 1.5 - 0.25, 10: -0.75}},
		{"wavelet cut by the end", 0.5 - 18*0.004, false, []float64{1, 2, 3}, 0, map[int]float64{18: 1, 19: 2}},
		{"last interval", 0.5 - 18.5*0.004, false, []float64{1}, 0, map[int]float64{18: 0.5, 19: 0.5}},
		{"beyond the last interval", 0.5 - 19.5*0.004, false, []float64{1}, 0, nil},
		{"just before the record", 0.502, false, []float64{1}, 0, map[int]float64{0: 1.5, 1: -0.5}},
		{"well before the record", 0.506, false, []float64{1}, 0, nil},
		{"dynamic", 0.461, true, []float64{1}, 0, map[int]float64{9: 0.25 * weight, 10: 0.75 * weight}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := &Problem{Grid: g, Positions: s.Distinct(true), NT: 20, DT: 0.004, T0: c.t0, Dynamic: c.dynamic,
				Velocity: velocity, Times: times, Wavelet: survey.Wavelet{Samples: c.wavelet, Zero: c.zero, DT: 0.004}}
			for _, e := range everyEngine(t, p) {
				h := device.NewHost(1)
				image, data := buffer(t, h, e, 9), buffer(t, h, e, 20)
				if err := device.Upload(image, []float64{0, 0, 0, 0, 1, 0, 0, 0, 0}); err != nil {
					t.Fatal(err)
				}
				// Twice, to see that the engine adds.
				for range 2 {
					if err := only(e).Forward(t.Context(), data, image); err != nil {
						t.Fatal(err)
					}
				}
				got := make([]float64, 20)
				if err := device.Download(got, data); err != nil {
					t.Fatal(err)
				}
				tolerance := 1e-12
				if e.Type() == device.F32 {
					tolerance = 2e-6
				}
				scale := 1.0
				if c.dynamic {
					scale = weight
				}
				for i, v := range got {
					if math.Abs(v-2*c.want[i]) > 2*tolerance*scale {
						t.Errorf("%s: sample %d is %g, want %g", name(e), i, v/2, c.want[i])
					}
				}
			}
		})
	}
}

func buffer(t testing.TB, h *device.Host, e Engine, n int) device.Buf {
	b, err := h.Alloc(n, e.Type())
	if err != nil {
		t.Fatal(err)
	}
	return b
}
