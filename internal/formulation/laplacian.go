package formulation

import (
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
)

// laplacian penalises the sum of second differences along all axes.
type laplacian struct{}

var _ = regularisers.register(laplacian{}, "the sum of the second derivatives")

func (laplacian) Name() string { return "laplacian" }

func (laplacian) Rows(_ *Setting, migrated *dist.Vector) (dist.Operator, error) {
	return dist.Laplacian(migrated.Layout)
}

func (laplacian) Diagonal(axes int) float64 {
	n := float64(axes)
	return 4*n*n + 2*n
}

func (laplacian) HostBytes(grid.Grid) int64 { return 0 }
