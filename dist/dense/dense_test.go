package dense_test

import (
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/dist/dense/densetest"
)

func self(_ int, body func(c comm.Comm) error) error { return body(comm.Self()) }

func TestSelf(t *testing.T) { densetest.Run(t, self, densetest.Host(blas.Gonum(2)), 1) }

func TestRanks(t *testing.T) {
	densetest.Run(t, commtest.Ranks, densetest.Host(blas.Gonum(2)), 2, 4, 6)
}

// OpenBLAS rounds in its own way, which must not depend on the grid either.
func TestOpenBLAS(t *testing.T) {
	l, err := blas.OpenBLAS(2)
	if err != nil {
		t.Skip(err)
	}
	densetest.Run(t, commtest.Ranks, densetest.Host(l), 4)
}

// Ranks that multiply by different libraries are refused.
func TestOneLibrary(t *testing.T) {
	err := commtest.Ranks(2, func(c comm.Comm) error {
		l := blas.Gonum(1)
		if c.Rank() == 1 {
			l = other{l}
		}
		_, err := dense.NewGrid(c, 2, 1, device.NewHost(1), l)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "library for matrices") {
		t.Errorf("the error is %v", err)
	}
}

type other struct{ blas.Solver }

func (other) Name() string { return "other" }

func TestShape(t *testing.T) {
	for n, want := range map[int][2]int{1: {1, 1}, 2: {2, 1}, 3: {3, 1}, 4: {2, 2}, 6: {3, 2}, 12: {4, 3}, 1024: {32, 32}} {
		if rows, columns := dense.Shape(n); rows != want[0] || columns != want[1] {
			t.Errorf("%d ranks: %d × %d, want %v", n, rows, columns, want)
		}
	}
}
