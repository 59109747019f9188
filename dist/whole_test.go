package dist

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
)

// An operator of kernels of the whole source is their matrix, and its adjoint the
// transpose, however domain and range are split, without rows on some ranks too.
func TestFromWhole(t *testing.T) {
	const rows, cols = 7, 5
	m := newMatrix(3, rows, cols, device.F32)
	for _, typ := range []device.Type{device.F32, device.F64} {
		for _, cuts := range [][2][]int{
			{{0, cols}, {0, rows}}, {{0, 2, cols}, {0, 3, rows}}, {{0, 0, 4, cols}, {0, 5, 5, rows}},
		} {
			n := len(cuts[0]) - 1
			err := onGrid(n, 2, typ, func(p place) error {
				order := count(n)
				domain := scattered(typ, []int{cols}, cuts[0], order, p.alongShots, p.alongBlocks)
				rng := scattered(typ, []int{rows}, cuts[1], order, p.alongShots, p.alongBlocks)
				op := FromWhole(domain, rng,
					device.Kernel{Host: func(dst, src []float32) {
						for i := range dst {
							dst[i] = 0
							for k, v := range src {
								dst[i] += float32(real(m[rng.Off+i][k])) * v
							}
						}
					}},
					device.Kernel{Host: func(dst, src []float32) {
						for i := range dst {
							dst[i] = 0
							for k, v := range src {
								dst[i] += float32(real(m[k][domain.Off+i])) * v
							}
						}
					}})
				if err := matches(op, m, device.F32); err != nil {
					return fmt.Errorf("%v %v: %w", typ, cuts, err)
				}
				x, err := NewVector(host, domain)
				if err != nil {
					return err
				}
				y, err := NewVector(host, rng)
				if err != nil {
					return err
				}
				seed := uint64(9)
				if err := fillRandom(x, &seed); err != nil {
					return err
				}
				if err := op.Apply(context.Background(), y, x); err != nil {
					return err
				}
				all, err := Gathered(x)
				if err != nil {
					return err
				}
				mine := make([]float32, domain.N)
				if err := device.Download(mine, x.Buf); err != nil {
					return err
				}
				if !slices.Equal(all[domain.Off:domain.Off+domain.N], mine) {
					return fmt.Errorf("gathered %v, of which this rank's share is %v", all, mine)
				}
				return nil
			})
			must(t, err)
		}
	}
	must(t, onGrid(2, 1, device.F32, func(p place) error {
		l := scattered(device.F32, []int{4}, []int{0, 1, 4}, []int{1, 0}, p.alongShots, p.alongBlocks)
		v, err := NewVector(host, l)
		if err != nil {
			return err
		}
		err = FromWhole(l, l, device.Kernel{}, device.Kernel{}).Apply(context.Background(), v, v)
		if err == nil || !strings.Contains(err.Error(), "in order") {
			return fmt.Errorf("shares out of order: %v", err)
		}
		return nil
	}))
}
