package target

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
)

// H and what follows from it have the same bits on any number of ranks, and with exact sums the
// image as well.
func TestSameBitsOnRanks(t *testing.T) {
	for engine, sums := range map[string]string{"reference": "run", "cpu": "ranks"} {
		t.Run(engine, func(t *testing.T) {
			folder := lineOf(t, []float64{10, 8}, 25, 17) // of several tiles
			set := []string{"solver.damping=0.3", "data.mute_offsets=[0.0,200.0]", "data.mute_times=[0.05,0.2]", "solver.reproducible=" + sums, "kirchhoff.engine=" + engine}
			var alone *bits
			for _, ranks := range []int{1, 2, 3} {
				found := bitsOn(t, folder, ranks, set)
				if sums == "run" {
					found.image = nil
				}
				if alone == nil {
					alone = found
				} else if !reflect.DeepEqual(found, alone) {
					t.Errorf("%d ranks find other bits than one", ranks)
				}
			}
		})
	}
}

// bits are what a target finds.
type bits struct {
	h     [][]float64
	post  *Posterior
	image []float32
}

// bitsOn finds them on some ranks.
func bitsOn(t *testing.T, folder string, ranks int, set []string) *bits {
	t.Helper()
	var found *bits
	must(t, on(folder, ranks, set, func(j *pipeline.Job) error {
		target, _, err := of(j, Options{Window: Box{First: make([]int, j.Geometry().Image.Dim()), Count: j.Geometry().Image.Shape}})
		if err != nil {
			return err
		}
		defer target.Close()
		h, err := target.matrix()
		if err != nil {
			return err
		}
		f, err := target.find(context.Background())
		switch {
		case err != nil:
			return err
		case j.Ranks.Root():
			found = &bits{h, f.post, f.image}
		case f.post != nil:
			return fmt.Errorf("rank %d has the posterior", j.Ranks.World.Rank())
		}
		return nil
	}))
	return found
}
