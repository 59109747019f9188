package job

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"pgregory.net/rapid"
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
		if got := angleLimits(im); !slices.Equal(got, c.closed) {
			t.Errorf("%v: limits %v, want %v", c.bins, got, c.closed)
		}
		closed := angleWindows(c.bins, angleLimits(im))
		im.GatherEnds = "open"
		if got := angleLimits(im); !slices.Equal(got, c.open) {
			t.Errorf("%v, open: limits %v, want %v", c.bins, got, c.open)
		}
		open := angleWindows(c.bins, angleLimits(im))
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

// Windows of any centres are valid and add up to at most 1.
func TestAngleWindowsAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bins := rapid.SliceOfNDistinct(rapid.Float64Range(0, 180), 2, 6, rapid.ID[float64]).Draw(t, "bins")
		slices.Sort(bins)
		im := config.Image{GatherBins: bins, GatherEnds: rapid.SampledFrom([]string{"closed", "open"}).Draw(t, "ends")}
		windows := angleWindows(bins, angleLimits(im))
		for i, w := range windows {
			if !(0 <= w.Rise0 && w.Rise0 <= w.Rise1 && w.Rise1 <= w.Fall0 && w.Fall0 <= w.Fall1 && w.Fall1 > 0 && w.Fall1 <= 180) {
				t.Fatalf("class %d of %v: %+v does not ascend within 180 degrees", i, bins, w)
			}
		}
	})
}

// The image of a class is the same whatever classes lie beyond.
func TestClassesDoNotHoldWhatIsBeyond(t *testing.T) {
	p := wide(t)
	for _, engine := range []string{"cpu", "reference"} {
		n := p.grid.Len()
		class := func(i int, bins string) []float32 {
			p.migrateTo(t, p.path("image.h5"), 1, engine, "image.gathers=angle", "image.gather_bins="+bins)
			_, v := readGathers(t, p.path("image.h5"))
			return v[i*n : (i+1)*n]
		}
		for i := range 3 {
			near(t, fmt.Sprintf("%s, class %d", engine, i), class(i, "40,60,80"), class(i+1, "20,40,60,80,100"), 1e-6)
		}
	}
}

// What is in no class is said; the share of straight rays is that of all pairs.
func TestAnglesBeyondTheClassesAreSaid(t *testing.T) {
	p := wide(t)
	build := func(set ...string) (*Job, string) {
		var log bytes.Buffer
		j := p.open(t, Traces, progress.New(progress.Options{Out: &log, Err: &log}), "cpu", append(slices.Clone(byAngle), set...)...)
		op, err := j.Build(context.Background())
		must(t, err)
		op.Engine.Close()
		return j, log.String()
	}
	j, log := build("image.gather_bins=40,60,80")
	if want := "opening angles below 30 and above 90 degrees"; !strings.Contains(log, want) {
		t.Errorf("the log does not say %q: %s", want, log)
	}
	n, beyond, x := 0, 0, make([]float64, j.Image.Dim())
	for trace := range j.Survey.NumTraces() {
		s, r := j.Survey.Pair(trace)
		for i := range j.Image.Len() {
			for a, k := range []int{i / j.Image.Shape[1], i % j.Image.Shape[1]} {
				x[a] = j.Image.Coord(a, k)
			}
			src, rec := j.Survey.Source(s), j.Survey.Receiver(r)
			angle := 180 / math.Pi * math.Abs(math.Atan2(x[0]-src[0], x[1]-src[1])-math.Atan2(x[0]-rec[0], x[1]-rec[1]))
			n++
			if angle < 30 || angle > 90 {
				beyond++
			}
		}
	}
	if got, want := j.shareBeyond(30, 90), float64(beyond)/float64(n); !(math.Abs(got-want) < 0.01) || !(want > 0.05 && want < 0.95) {
		t.Errorf("%.4f of all pairs lie beyond, want %.4f", got, want)
	}
	if j, log := build("image.gather_ends=open"); strings.Contains(log, "in no class") || j.beyondClasses() != "" {
		t.Errorf("open classes: %s", log)
	}
}
