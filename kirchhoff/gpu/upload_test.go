package gpu

import (
	"context"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// watched notes what has gone to the card when each field is handed over.
type watched struct {
	traveltime.Method
	dev *card.Device
	up  *[]int64
}

func (w watched) Solve(ctx context.Context, p *survey.Positions, places []int, opt traveltime.Options, sink func(int, traveltime.Field) error) error {
	return w.Method.Solve(ctx, p, places, opt, func(place int, f traveltime.Field) error {
		up, _ := w.dev.Traffic()
		*w.up = append(*w.up, up)
		return sink(place, f)
	})
}

// TestTimesStream: the times of each place that the host solves are on the card before the next
// are computed by the same thread, so that uploads go on while others compute and the host
// never holds them all.
func TestTimesStream(t *testing.T) {
	d := open(t, driver.CUDA)
	p := spread(t, []int{70, 30}, 10, 6, 12, 150, true)
	p.Threads = 1
	var up []int64
	p.Times = watched{p.Times, d, &up}
	engine(t, d, p)
	if len(up) != p.Positions.Len() {
		t.Fatalf("%d fields of %d places", len(up), p.Positions.Len())
	}
	for i := 1; i < len(up); i++ {
		if went, want := up[i]-up[i-1], 8*int64(p.Grid.Len()); went < want || went > want+1000 {
			t.Errorf("before field %d %d bytes went to the card, times have %d", i, went, want)
		}
	}
}
