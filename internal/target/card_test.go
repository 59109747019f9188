package target

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
)

func TestMain(m *testing.M) { os.Exit(gputest.Main(m)) }

// On a card H is that of the run as well.
func TestHessianOnCard(t *testing.T) {
	gputest.Need(t)
	flat, solid := line(t), cube(t)
	for name, set := range map[string][]string{
		"mute":     {"data.mute_offsets=[0.0,200.0]", "data.mute_times=[0.05,0.2]", "solver.damping=0.1"},
		"aperture": {"kirchhoff.aperture=70", "kirchhoff.antialias=triangle", "kirchhoff.dynamic=true", "data.mute_offsets=[0.0,200.0]", "data.mute_times=[0.05,0.2]"},
	} {
		for _, c := range []struct {
			folder string
			box    Box
		}{{flat, inner}, {solid, Box{First: []int{2, 1, 1}, Count: []int{3, 2, 4}}}} {
			t.Run(fmt.Sprintf("%s, %d-D", name, len(c.box.First)), func(t *testing.T) {
				must(t, on(c.folder, 1, append(slices.Clone(set), "kirchhoff.engine=cuda"), func(j *pipeline.Job) error { return isThatOfTheRun(j, c.box) }))
			})
		}
	}
}

// What a target finds on a card is what the cpu finds, and on two ranks the same bits.
func TestCardFindsTheSame(t *testing.T) {
	gputest.Need(t)
	folder := lineOf(t, []float64{10, 8}, 25, 17) // of several tiles
	set := []string{"kirchhoff.engine=cpu", "solver.damping=1", "solver.penalty_scale=relative", "data.mute_offsets=[0.0,200.0]", "data.mute_times=[0.05,0.2]"}
	want := bitsOn(t, folder, 1, set)
	set[0] = "kirchhoff.engine=cuda"
	got := bitsOn(t, folder, 1, set)
	if !reflect.DeepEqual(bitsOn(t, folder, 2, set), got) {
		t.Error("two ranks find other bits than one")
	}
	for what, pair := range map[string][2][]float32{"image": {got.image, want.image}, "resolution": {narrow(got.post.Resolution), narrow(want.post.Resolution)}} {
		top, worst := 0.0, 0.0
		for i, v := range pair[1] {
			top, worst = max(top, math.Abs(float64(v))), max(worst, math.Abs(float64(pair[0][i])-float64(v)))
		}
		if top == 0 || !(worst <= 1e-6*top) {
			t.Errorf("the %s differs from that of the cpu by %.2e", what, worst/top)
		}
	}
}

func narrow(v []float64) (out []float32) {
	for _, x := range v {
		out = append(out, float32(x))
	}
	return out
}

// With an engine on a card the cpu engine makes H: it has the same bits as with the engine cpu.
func TestHessianBesideCard(t *testing.T) {
	gputest.Need(t)
	flat, solid := lineOf(t, []float64{10, 8}, 25, 17), cube(t)
	for name, set := range map[string][]string{
		"mute":     {"solver.damping=0.3", "data.mute_offsets=[0.0,200.0]", "data.mute_times=[0.05,0.2]"},
		"aperture": {"solver.damping=0.3", "kirchhoff.aperture=70", "kirchhoff.antialias=triangle", "kirchhoff.dynamic=true"},
	} {
		for dim, folder := range map[int]string{2: flat, 3: solid} {
			want := bitsOn(t, folder, 1, append(slices.Clone(set), "kirchhoff.engine=cpu"))
			got := bitsOn(t, folder, 1, append(slices.Clone(set), "kirchhoff.engine=cuda"))
			if largest(want.h) == 0 || !reflect.DeepEqual(got.h, want.h) {
				t.Errorf("%s, %d-D: H has other bits than with the engine cpu", name, dim)
			}
		}
	}
}
