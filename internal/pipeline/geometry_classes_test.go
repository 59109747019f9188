package pipeline

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// weight is the weight of an angle, by the definition of a Window.
func weight(w kirchhoff.Window, angle float64) float64 {
	rise, fall := 0.0, 0.0
	if w.Rise1 > 0 {
		rise = (w.Rise1 - angle) / (w.Rise1 - w.Rise0)
	}
	if w.Fall0 < 180 {
		fall = (angle - w.Fall0) / (w.Fall1 - w.Fall0)
	}
	return 0.5 + 0.5*math.Cos(math.Pi*min(1, max(0, rise, fall)))
}

// Classes end half a class beyond the outer centres, but for those that reach 0 or 180
// degrees there; open ones hold all angles.
func TestAngleClassesEnd(t *testing.T) {
	for _, c := range []struct {
		bins         []float64
		closed, open []float64
		first, last  int // angles that no closed class has, and those next to 180
	}{
		{[]float64{5, 15, 25}, []float64{0, 10, 20, 30}, []float64{0, 10, 20, 180}, -1, 35},
		{[]float64{0, 20, 60}, []float64{0, 10, 40, 80}, []float64{0, 10, 40, 180}, -1, 100},
		{[]float64{40, 60, 80}, []float64{30, 50, 70, 90}, []float64{0, 50, 70, 180}, 20, 100},
		{[]float64{100, 140, 170}, []float64{80, 120, 155, 180}, []float64{0, 120, 155, 180}, 60, 181},
	} {
		im := config.Image{GatherBins: c.bins, GatherEnds: "closed"}
		if got := AngleLimits(im); !slices.Equal(got, c.closed) {
			t.Errorf("%v: limits %v, want %v", c.bins, got, c.closed)
		}
		closed := angleWindows(im)
		im.GatherEnds = "open"
		if got := AngleLimits(im); !slices.Equal(got, c.open) {
			t.Errorf("%v, open: limits %v, want %v", c.bins, got, c.open)
		}
		open := angleWindows(im)
		for angle := range 181 {
			within, all := 0.0, 0.0
			for i := range closed {
				within += weight(closed[i], float64(angle))
				all += weight(open[i], float64(angle))
			}
			if math.Abs(all-1) > 1e-12 {
				t.Errorf("%v, open: the weights of %d degrees add up to %g", c.bins, angle, all)
			}
			want, known := 1.0, float64(angle) >= c.bins[0] && float64(angle) <= c.bins[len(c.bins)-1]
			switch a := float64(angle); {
			case angle <= c.first || angle >= c.last:
				want, known = 0, true
			case a == c.closed[0] && a > 0 || a == c.closed[len(c.bins)] && a < 180:
				want, known = 0.5, true
			}
			if known && math.Abs(within-want) > 1e-12 {
				t.Errorf("%v: the weights of %d degrees add up to %g, want %g", c.bins, angle, within, want)
			}
		}
	}
}

// Windows of any centres are valid and add up to at most 1. The centres are
// 0 or at least 1e-100, because half a subnormal number is rounded.
func TestAngleWindowsAreValid(t *testing.T) {
	centre := rapid.Float64Range(0, 180).Filter(func(b float64) bool { return b == 0 || b >= 1e-100 })
	rapid.Check(t, func(t *rapid.T) {
		bins := rapid.SliceOfNDistinct(centre, 2, 6, rapid.ID[float64]).Draw(t, "bins")
		slices.Sort(bins)
		im := config.Image{GatherBins: bins, GatherEnds: rapid.SampledFrom([]string{"closed", "open"}).Draw(t, "ends")}
		windows := angleWindows(im)
		for i, w := range windows {
			if !(0 <= w.Rise0 && w.Rise0 <= w.Rise1 && w.Rise1 <= w.Fall0 && w.Fall0 <= w.Fall1 && w.Fall1 > 0 && w.Fall1 <= 180) {
				t.Fatalf("class %d of %v: %+v does not ascend within 180 degrees", i, bins, w)
			}
		}
		half := config.Image{GatherAngle: "reflection", GatherEnds: im.GatherEnds}
		for _, b := range bins {
			half.GatherBins = append(half.GatherBins, b/2)
		}
		if got := angleWindows(half); !slices.Equal(got, windows) {
			t.Fatalf("reflection angles %v: %v, want those of twice the opening angle, %v", half.GatherBins, got, windows)
		}
	})
}
