package bench

import (
	"context"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
)

// On equal shares every rank of N×1 receives n² (1 − 1/N) elements, and of P×Q ranks
// n²/P + n²/Q − 2 n²/(P Q).
func TestMatmulCountsBytes(t *testing.T) {
	s := MatmulSpec{Size: 96, Tile: 8, Type: device.F64, Runs: 1}
	for _, c := range []struct {
		rows, columns   int
		bytes, messages int64
	}{
		{1, 1, 0, 0}, {2, 1, 8 * 96 * 96 / 2, 6}, {6, 1, 8 * 96 * 96 * 5 / 6, 10}, {1, 3, 8 * 96 * 96 * 2 / 3, 8},
		{2, 2, 8 * 96 * 96 / 2, 12}, {3, 2, 8 * 96 * 96 / 2, 14},
	} {
		for _, overlap := range []bool{false, true} {
			err := commtest.Ranks(c.rows*c.columns, func(world comm.Comm) error {
				r, err := s.Matmul(context.Background(), world, c.rows, c.columns, device.NewHost(1), blas.Gonum(1), overlap)
				if err == nil && (r.Bytes != c.bytes || r.Formula != c.bytes || r.Messages != c.messages || r.Uneven != 0 || r.Wrong()) {
					t.Errorf("%d × %d: %+v, want %d bytes in %d messages", c.rows, c.columns, r, c.bytes, c.messages)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// An element that is wrong is seen.
func TestMatmulSeesFaults(t *testing.T) {
	s := MatmulSpec{Size: 20, Tile: 8, Type: device.F32, Runs: 1}
	r, err := s.Matmul(context.Background(), comm.Self(), 1, 1, device.NewHost(1), faulty{blas.Gonum(1)}, false)
	if err != nil || !r.Wrong() {
		t.Errorf("%+v, %v", r, err)
	}
}

// faulty leaves out the last product.
type faulty struct{ blas.Library }

func (f faulty) Multiply(alpha float64, products []blas.Product) error {
	return f.Library.Multiply(alpha, products[:len(products)-1])
}
