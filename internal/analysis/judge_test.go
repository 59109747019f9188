package analysis

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Classes that are alike have a stack power of 1, one of n alone 1/n, and classes that cancel none.
func TestStackPower(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{5, 7}}
	for _, c := range []struct {
		weights [4]float32
		want    float64
	}{{[4]float32{1, 1, 1, 1}, 1}, {[4]float32{0, 3, 0, 0}, 0.25}, {[4]float32{1, -1, 2, -2}, 0}, {[4]float32{0, 0, 0, 0}, 0}} {
		s := &Scan{Gathers: moveout.Gathers{Grid: g, Offsets: make([]float64, 4), Panel: func(column int) ([]float32, error) {
			var panel []float32
			for _, w := range c.weights {
				for z := range 7 {
					panel = append(panel, w*float32(column-z))
				}
			}
			return panel, nil
		}}}
		if got, err := s.StackPower(); err != nil || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("classes of %v: power %g, %v, want %g", c.weights, got, err, c.want)
		}
	}
}

// A velocity that grows by 2 m/s from column to column 10 m apart has a slope of 0.2 1/s.
func TestRoughness(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 5}, Shape: []int{6, 3}}
	v := make([]float64, g.Len())
	for i := range v {
		v[i] = 2000 + 2*float64(i/3) + 30*float64(i%3)
	}
	if got := Roughness(g, v); math.Abs(got-0.2) > 1e-12 {
		t.Errorf("roughness %g 1/s, want 0.2", got)
	}
}

// A model that takes power from the stack is made anew of half the change, and then there is none. The loop remembers.
func TestModelsThatTakePowerAreNotKept(t *testing.T) {
	folder, v := recorded(t)
	scaled(t, filepath.Join(folder, "slow.h5"), v, 0.92)
	l := &Loop{
		World: comm.Self(), Config: load(t, folder, "velocity.file="+filepath.Join(folder, "slow.h5")), Folder: filepath.Join(folder, "loops"), Loops: 1,
		Report: progress.Discard(), Settings: settings, Choices: choices,
	}
	must(t, os.Mkdir(l.Folder, 0o755))
	must(t, l.Begin())
	var steps []Step
	must(t, l.Run(context.Background(), func(s Step, _ *Scan) error { steps = append(steps, s); return nil }))
	if len(steps) != 2 || !(steps[1].Power > steps[0].Power) || l.Stopped != "" {
		t.Fatalf("%d steps, stopped: %q", len(steps), l.Stopped)
	}
	whole := velocityOf(t, steps[1].Model)

	l.last, l.before = steps[0], nil // as if the stack were worse
	verdict, err := l.takeLess(t.Context(), steps[1])
	must(t, err)
	half := velocityOf(t, steps[1].Model)
	for i, w := range half {
		if want := math.Sqrt(whole[i] * 0.92 * v[i]); math.Abs(w-want) > 1e-4*want {
			t.Fatalf("point %d of half the change is %g m/s, want %g", i, w, want)
		}
	}
	if verdict != again {
		t.Errorf("verdict %d, want another migration", verdict)
	}
	verdict, err = l.takeLess(t.Context(), steps[1])
	must(t, err)
	if _, err := os.Stat(steps[1].Model); verdict != ended || !os.IsNotExist(err) || !strings.Contains(l.Stopped, "takes power") {
		t.Errorf("verdict %d, model: %v, stopped: %q", verdict, err, l.Stopped)
	}

	// Resumed, it ends at once.
	l.Resume, steps = true, nil
	must(t, l.Begin())
	must(t, l.Run(context.Background(), func(s Step, _ *Scan) error { steps = append(steps, s); return nil }))
	if len(steps) != 1 || !steps[0].Reused || !strings.Contains(l.Stopped, "takes power") {
		t.Errorf("resumed: %d steps, stopped: %q", len(steps), l.Stopped)
	}
	if final := velocityOf(t, filepath.Join(l.Folder, FinalFile)); math.Abs(final[0]-0.92*v[0]) > 1e-3 {
		t.Errorf("the final model has %g m/s, want that of the start, %g", final[0], 0.92*v[0])
	}
}

func velocityOf(t *testing.T, path string) []float64 {
	t.Helper()
	_, v, err := h5.ReadModel(path)
	must(t, err)
	return v
}
