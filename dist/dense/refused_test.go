package dense_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// card is a device that is not the host.
type card struct{ device.Device }

func (card) Name() string { return "cuda" }

func alone(t *testing.T) *dense.Grid {
	t.Helper()
	g, err := dense.NewGrid(comm.Self(), 1, 1, device.NewHost(1), blas.Gonum(1))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func zeros(t *testing.T, g *dense.Grid, typ device.Type, rows, columns dense.Cuts) *dense.Matrix {
	t.Helper()
	m, err := dense.New(g, typ, rows, columns)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What cannot be done is refused by name.
func TestRefused(t *testing.T) {
	ctx, g, other := context.Background(), alone(t), alone(t)
	six, ragged := dense.Cut(6, 2), dense.Cuts{0, 1, 6}
	a, b, c := zeros(t, g, device.F64, six, six), zeros(t, g, device.F64, ragged, six), zeros(t, g, device.F64, six, six)
	single, far := zeros(t, g, device.F32, six, six), zeros(t, other, device.F64, six, six)
	grid := func(rows, columns int, d device.Device) error {
		_, err := dense.NewGrid(comm.Self(), rows, columns, d, blas.Gonum(1))
		return err
	}
	matrix := func(typ device.Type, rows dense.Cuts) error {
		_, err := dense.New(g, typ, rows, six)
		return err
	}
	cholesky := func(m *dense.Matrix) error {
		_, err := dense.Cholesky(ctx, m)
		return err
	}
	for _, f := range []struct {
		err  error
		want string
	}{
		{grid(2, 2, device.NewHost(1)), "a grid of 2 × 2 ranks out of 1"},
		{grid(1, 1, card{device.NewHost(1)}), "gonum does not multiply matrices on cuda"},
		{matrix(device.I64, six), "a matrix of int64"},
		{matrix(device.F64, dense.Cuts{0, 3, 2}), "cuts of rows are [0 3 2]"},
		{matrix(device.F64, dense.Cuts{1, 3}), "cuts of rows are [1 3]"},
		{matrix(device.F64, nil), "cuts of rows are []"},
		{dense.Multiply(ctx, c, 1, dense.Of(a), dense.Of(b), 0), "shapes or cuts do not fit"},
		{dense.Multiply(ctx, c, 1, dense.Of(a), dense.Of(single), 0), "types differ"},
		{dense.Multiply(ctx, c, 1, dense.Of(far), dense.Of(a), 0), "different grids"},
		{dense.Multiply(ctx, c, 1, dense.Of(c), dense.Of(a), 0), "into one of its factors"},
		{cholesky(b), "rows and columns of float64[6 6] are not cut alike"},
		{b.Mirror(), "are not cut alike"},
		{b.EachLower(nil), "are not cut alike"},
	} {
		if f.err == nil || !strings.Contains(f.err.Error(), f.want) {
			t.Errorf("the error is %v, want one with %q", f.err, f.want)
		}
	}
	if err := grid(1, 1, card{device.NewHost(1)}); status.Code(err) != status.BadUsage {
		t.Errorf("a card has the status %d", status.Code(err))
	}
}

// An error of one rank, and the end of its context, are those of all ranks.
func TestTogether(t *testing.T) {
	stop := errors.New("stop")
	err := commtest.Ranks(4, func(c comm.Comm) error {
		g, err := dense.NewGrid(c, 2, 2, device.NewHost(1), blas.Gonum(1))
		if err != nil {
			return err
		}
		cuts := dense.Cut(20, 4)
		a, err := dense.New(g, device.F64, cuts, cuts)
		if err != nil {
			return err
		}
		b, err := dense.New(g, device.F64, cuts, cuts)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if c.Rank() == 2 {
			cancel()
		}
		err = a.Each(func(r0, r1, c0, c1 int, part device.Buf) error {
			for i := range r1 - r0 {
				device.Slice[float64](part)[i*(c1-c0)+i] = 1
			}
			return nil
		})
		if err != nil {
			return err
		}
		_, factor := dense.Cholesky(ctx, a)
		product := dense.Multiply(ctx, b, 1, dense.Of(a), dense.Of(a), 0)
		for _, err := range []error{factor, product} {
			if err == nil || err.Error() != context.Canceled.Error() {
				return fmt.Errorf("the error is %v, want that of the context", err)
			}
		}
		fill := a.Each(func(r0, r1, c0, c1 int, part device.Buf) error {
			if c.Rank() == 3 {
				return stop
			}
			return nil
		})
		seen := 0
		gather := a.GatherEach(func(r0, r1, c0, c1 int, part device.Buf) error {
			if seen++; seen == 3 {
				return stop
			}
			return nil
		})
		if fill == nil || gather == nil || fill.Error() != "stop" || gather.Error() != "stop" || seen > 3 {
			return fmt.Errorf("fill: %v, gather: %v, %d tiles", fill, gather, seen)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
