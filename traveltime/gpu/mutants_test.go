package gpu

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/gputest/ptxtest"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// small are trials that the executor of PTX is through with at once. The first block of the
// one that is one column is due when second-order rounds begin. The last one's model begins
// beyond the first plane.
func small() (all []trial) {
	r := rand.New(rand.NewPCG(2, 7))
	plane, deep := box([]float64{10, 10}, []float64{-100, 50}, 9, 75), box([]float64{12.5, 10, 8}, []float64{0, 10, -20}, 6, 5, 37)
	line, tall := box([]float64{10, 10}, []float64{0, 0}, 1, 75), box([]float64{10, 10}, []float64{0, 0}, 1, 1100)
	row := box([]float64{10, 10, 10}, []float64{0, 0, 0}, 8, 1, 40)
	wide := box([]float64{10, 10}, []float64{0, 0}, 30, 40)
	part := box([]float64{10, 10}, []float64{200, 0}, 8, 40)
	linear := func(x []float64) float64 { return 1500 + 0.6*x[len(x)-1] + 0.4*x[0] }
	for _, c := range []struct {
		model, image, part grid.Grid
		velocity           func([]float64) float64
	}{
		{line, line, line, rough},
		{tall, tall, tall, linear},
		{plane, box([]float64{7, 6}, []float64{-97, 71}, 10, 60), plane, rough},
		{plane, plane, plane, nil},
		{deep, deep, deep, rough},
		{deep, box([]float64{9, 6, 11}, []float64{3, 12, 0}, 5, 4, 20), deep, layered},
		{row, row, row, linear},
		{wide, wide, part, linear},
	} {
		t := trial{model: c.model, image: c.image, velocity: c.velocity, p: positions(c.part, 11, r)}
		t.options.Margin = 20
		lo := int(math.Round((c.part.Origin[0] - c.model.Origin[0]) / c.model.Spacing[0]))
		for range t.p.Len() {
			window := traveltime.Whole(c.image)
			window.Lo[0] = min(lo+r.IntN(2), window.Hi[0]-1)
			t.options.Windows = append(t.options.Windows, window)
		}
		all = append(all, t)
	}
	return all
}

// redundant lists what may be taken out of the kernels without anybody noticing, and why.
var redundant = map[string]string{
	"guard eikonal.cu: for (int c = 0; c < im.width[2]; c++) {":                                                          "what is interpolated has points",
	"guard eikonal.cu: for (int i = 0; i < im.width[0]; i++)":                                                            "what is interpolated has points",
	"guard eikonal.cu: for (int j = 0; j < im.width[1]; j++) {":                                                          "what is interpolated has points",
	"guard eikonal.cu: if (threadIdx.x / 2 == a)":                                                                        "NVRTC writes the thread's own axis instead",
	"guard eikonal.cu: for (int left = n; left > 0; left--, k += step) {":                                                "a block has a point",
	"guard eikonal.cu: for (int sum = 0; sum < b.side[0] + b.side[1] + b.chunks - 2; sum++) {":                           "a group has a block",
	"guard eikonal.cu: for (int r = 0; r < m.rounds && any(round_of<false>(m, b, p, m.tolerance[0], group, lane)); r++)": "there is a round",
	"guard eikonal.cu: for (int r = 1; r <= m.rounds && any(round_of<true>(m, b, p, tolerance, group, lane)); r++)":      "there is a round",
	"loop eikonal.cu: for (int r = 1; r <= m.rounds && any(round_of<true>(m, b, p, tolerance, group, lane)); r++)":       "rounds end before, when nothing is due",
	"guard eikonal.cu: for (int i = first; i < columns(b); i += width) {":                                                "columns beyond the window are left out below",
	"guard eikonal.cu: if (lost > 0)":                                                                                    "it saves adding zero",
}

// TestMutants takes each barrier out of the solver's kernels, and with LSM_TEST_MUTANTS=all
// each guard and each end of a loop too.
func TestMutants(t *testing.T) {
	hunt := ptxtest.NewHunt(t, redundant)
	hunt.Steps = 30e6
	for _, c := range small() {
		m := c.method(t)
		hunt.Try(Program(c.model.Dim()), func() (string, error) {
			d, err := card.Open(card.Options{Cache: accel.UserCache()})
			if err != nil {
				return "", err
			}
			defer d.Close()
			times, err := c.solved(t, d, m, 0)
			return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, times))), err
		})
	}
	hunt.End()
}

// What a real compiler makes of the kernels does nothing that a card might punish, and gives
// the times of the processor.
func TestOnPTX(t *testing.T) { ptxtest.OnMadePTX(t, "^TestSmall$") }

// TestSanitized runs the same under AddressSanitizer.
func TestSanitized(t *testing.T) {
	if out, err := gputest.RunSanitized(t, "^TestSmall$"); err != nil || strings.Contains(out, "AddressSanitizer") {
		t.Errorf("under the sanitizer: %v\n%s", err, out)
	}
}

func TestSmall(t *testing.T) {
	d := open(t, driver.CUDA)
	for _, c := range small() {
		c.check(t, d)
	}
}
