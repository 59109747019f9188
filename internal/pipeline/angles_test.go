package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

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
		j := p.open(t, NeedTraces, progress.New(progress.Options{Out: &log, Err: &log}), "cpu", append(slices.Clone(byAngle), set...)...)
		op, err := j.Build(context.Background())
		must(t, err)
		op.engine.Close()
		return j, log.String()
	}
	j, log := build("image.gather_bins=40,60,80")
	if want := "opening angles below 30 and above 90 degrees"; !strings.Contains(log, want) {
		t.Errorf("the log does not say %q: %s", want, log)
	}
	n, beyond, x := 0, 0, make([]float64, j.plan.Geometry.Image.Dim())
	for trace := range j.plan.Geometry.Survey.NumTraces() {
		s, r := j.plan.Geometry.Survey.Pair(trace)
		for i := range j.plan.Geometry.Image.Len() {
			for a, k := range []int{i / j.plan.Geometry.Image.Shape[1], i % j.plan.Geometry.Image.Shape[1]} {
				x[a] = j.plan.Geometry.Image.Coord(a, k)
			}
			src, rec := j.plan.Geometry.Survey.Source(s), j.plan.Geometry.Survey.Receiver(r)
			angle := 180 / math.Pi * math.Abs(math.Atan2(x[0]-src[0], x[1]-src[1])-math.Atan2(x[0]-rec[0], x[1]-rec[1]))
			n++
			if angle < 30 || angle > 90 {
				beyond++
			}
		}
	}
	if got, want := ShareBeyond(j.plan.Geometry, 30, 90), float64(beyond)/float64(n); !(math.Abs(got-want) < 0.01) || !(want > 0.05 && want < 0.95) {
		t.Errorf("%.4f of all pairs lie beyond, want %.4f", got, want)
	}
	if j, log := build("image.gather_ends=open"); strings.Contains(log, "to no class") || BeyondText(j.plan) != "" {
		t.Errorf("open classes: %s", log)
	}
}

// Classes of reflection angles are those of twice the opening angle, bit for bit, and the
// file says what they are.
func TestReflectionAngles(t *testing.T) {
	p := wide(t)
	want := p.migrateTo(t, p.path("opening.h5"), 1, "cpu", byAngle...)
	got := p.migrateTo(t, p.path("reflection.h5"), 1, "cpu", "image.gathers=angle", "image.gather_angle=reflection", "image.gather_bins=10,35,60")
	equal(t, "image", got, want)
	_, gathers := readGathers(t, p.path("opening.h5"))
	info, halves := readGathers(t, p.path("reflection.h5"))
	equal(t, "gathers", halves, gathers)
	if wantInfo := (&h5.Gathers{Kind: "angle", Angle: "reflection", Centers: []float64{10, 35, 60}, Limits: []float64{0, 22.5, 47.5, 72.5}}); !reflect.DeepEqual(info, wantInfo) {
		t.Errorf("%+v, want %+v", info, wantInfo)
	}
}
