package job

import (
	"context"
	"time"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
)

// Play is Try on the ranks of a process grid of another machine, in virtual time: the same
// solve, of which the kernels compute nothing. Its times are those of the machine's clocks, and
// Setup is the traveltimes alone. There is no residual. It needs one process.
func Play(ctx context.Context, p *plan.Plan, m *forecast.Machine, grid [2]int, iterations int) (*Trial, error) {
	var first *Trial
	err := m.Play(p, grid, func(r *forecast.Role) error {
		t, err := playRole(ctx, r, iterations)
		if err == nil && r.World.Rank() == 0 {
			first = &t.Trial
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	first.Sums, first.Residual = "sim", 0
	return first, nil
}

// playRole is the play of one rank.
func playRole(ctx context.Context, r *forecast.Role, iterations int) (*tried, error) {
	setup := device.Time(r.Device).Sub(time.Unix(0, 0)).Seconds()
	op, err := operator.Play(r)
	if err != nil {
		return nil, err
	}
	d, err := dist.NewVector(r.Device, op.Range())
	if err != nil {
		return nil, err
	}
	return trial(ctx, op, d, setup, iterations)
}
