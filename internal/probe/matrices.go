package probe

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// products has OpenBLAS multiply matrices in the host's memory.
func products(r *Report, _ accel.Engine, _ []string, told func()) error {
	l, err := blas.OpenBLAS(1)
	if err != nil {
		return err
	}
	r.About = l.About()
	told()
	return multiply(r, device.NewHost(1), l, "")
}

// cardProducts has the library of a card multiply matrices.
func cardProducts(r *Report, engine accel.Engine, compile []string, told func()) error {
	return onCard(engine, 0, compile, func(d *gpu.Device, _ device.Buf) error {
		l, err := blas.NewCard(d)
		if err != nil {
			return err
		}
		defer l.Close()
		r.About = l.About()
		told()
		return multiply(r, d, l, " on GPU 0")
	})
}

// multiply makes sure that a row 1, 2, 3, … times a column of the same is the sum of squares.
func multiply(r *Report, d device.Device, l blas.Library, where string) error {
	var bufs [3]device.Buf
	for i, n := range []int{numbers, numbers, 1} {
		var err error
		if bufs[i], err = d.Alloc(n, device.F64); err != nil {
			return err
		}
		if i < 2 {
			if err := device.Upload(bufs[i], ramp()); err != nil {
				return err
			}
		}
	}
	row, column, product := blas.Tile{Rows: 1, Columns: numbers, Buf: bufs[0]}, blas.Tile{Rows: numbers, Columns: 1, Buf: bufs[1]}, blas.Tile{Rows: 1, Columns: 1, Buf: bufs[2]}
	if err := l.Multiply(1, []blas.Product{{C: product, A: row, B: column}}); err != nil {
		return err
	}
	var got [1]float64
	if err := device.Download(got[:], bufs[2]); err != nil {
		return err
	}
	const want = numbers * (numbers + 1) * (2*numbers + 1) / 6 // exact
	if got[0] != want {
		return status.Numerical(fmt.Errorf("the product is %g, want %d", got[0], want))
	}
	r.Did = "it multiplied matrices" + where
	return nil
}
