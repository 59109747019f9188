package formulation

import (
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
)

// gradient penalises differences of neighbours along all axes.
type gradient struct{}

var _ = regularisers.register(gradient{}, "first derivatives")

func (gradient) Name() string { return "gradient" }

func (gradient) Rows(_ *Setting, migrated *dist.Vector) (dist.Operator, error) {
	return dist.Gradient(migrated.Layout)
}

func (gradient) Diagonal(axes int) float64 { return 2 * float64(axes) }

func (gradient) HostBytes(grid.Grid) int64 { return 0 }
