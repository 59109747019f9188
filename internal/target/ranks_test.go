package target

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/job"
)

// H and what follows from it have the same bits on any number of ranks.
func TestSameBitsOnRanks(t *testing.T) {
	folder := lineOf(t, []float64{10, 8}, 25, 17) // of several tiles
	set := []string{"solver.damping=0.3", "data.weights=rms", "solver.reproducible=run"}
	var first *Posterior
	var alone [][]float64
	for _, ranks := range []int{1, 2, 3} {
		var mu sync.Mutex
		var h [][]float64
		var p *Posterior
		must(t, on(folder, ranks, set, func(j *job.Job) error {
			target, _, err := of(j, Options{Window: Box{First: []int{0, 0}, Count: j.Image.Shape}})
			if err != nil {
				return err
			}
			defer target.Close()
			all, err := target.matrix()
			if err != nil {
				return err
			}
			if err := target.factorize(context.Background()); err != nil {
				return err
			}
			post, err := target.posterior(context.Background(), target.window, func(int) {})
			if j.Root() {
				mu.Lock()
				h, p = all, post
				mu.Unlock()
			} else if post != nil {
				err = fmt.Errorf("rank %d has the posterior", j.World.Rank())
			}
			return err
		}))
		if ranks == 1 {
			alone, first = h, p
		} else if !reflect.DeepEqual(h, alone) || !reflect.DeepEqual(p, first) {
			t.Errorf("%d ranks find other bits than one", ranks)
		}
	}
}
