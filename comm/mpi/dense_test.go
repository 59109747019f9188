package mpi

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/dist/dense/densetest"
)

// Distributed matrices are the same over MPI.
func TestDenseMatrices(t *testing.T) {
	const ranks = 4
	if asRanks(t, ranks) {
		densetest.RunBriefly(t, processes, densetest.Host(blas.Gonum(1)), []device.Type{device.F64}, ranks)
	}
}
