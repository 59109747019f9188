package gpu

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/internal/gputest/ptxtest"
)

// ramp is a vector of a host.
func ramp(h *device.Host, n int, typ device.Type) device.Buf {
	switch typ {
	case device.F64:
		return device.Wrap(h, filled(n, func(v float64) float64 { return v }))
	case device.I64:
		return device.Wrap(h, filled(n, func(v float64) int64 { return int64(100 * v) }))
	}
	return device.Wrap(h, filled(n, func(v float64) float32 { return float32(v) }))
}

func filled[T any](n int, f func(v float64) T) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = f(float64(i%97)/7 - 5)
	}
	return x
}

// calculated is a digest of what a card makes of some vectors, none of them as long as a
// whole number of blocks works on.
func calculated(h *device.Host) (digest string, err error) {
	d, err := Open(Options{Cache: accel.UserCache()})
	if err != nil {
		return "", err
	}
	defer d.Close()
	d.dots.blocks = 3
	sum := sha256.New()
	var pairs [][2]device.Buf
	for _, typ := range []device.Type{device.F32, device.F64, device.I64} {
		const n = 2*1024 + 300
		var b [4]device.Buf
		for i := range b {
			if b[i], err = d.Alloc(n, typ); err != nil {
				return "", err
			}
			if err := d.Copy(b[i], ramp(h, n, typ)); err != nil {
				return "", err
			}
		}
		do := []func() error{
			func() error { return d.Axpby(3, b[0], 2, b[1]) },
			func() error { return d.Axpby(3, b[1], 0, b[2]) },
			func() error { return d.Multiply(b[1], b[2]) },
		}
		if typ != device.I64 {
			for _, adjoint := range []bool{false, true} {
				s := device.Stencil{Outer: 4, N: n / 4, Inner: 1, First: 3, Of: n / 2, W: [3]float64{1, -3, 2}, Adjoint: adjoint}
				do = append(do, func() error { return d.Stencil(s, b[3], b[1], nil, nil) }, func() error { return d.Axpby(1, b[3], 1, b[0]) })
				s.Outer, s.N, s.Inner = 1, n/4, 4
				do = append(do, func() error { return d.Stencil(s, b[3], b[2], b[0].Slice(0, 4), b[0].Slice(4, 4)) })
			}
			pairs = append(pairs, [2]device.Buf{b[1], b[2]}, [2]device.Buf{b[3], b[0]})
		}
		for _, f := range do {
			if err := f(); err != nil {
				return "", err
			}
		}
		for i := range b {
			back := ramp(h, n, typ)
			if err := d.Copy(back, b[i]); err != nil {
				return "", err
			}
			fmt.Fprint(sum, back)
		}
	}
	long, err := d.Alloc(10*(1<<14)+77, device.F32) // of more than few chunks
	if err != nil {
		return "", err
	}
	if err := d.Copy(long, ramp(h, long.Len(), device.F32)); err != nil {
		return "", err
	}
	some := long.Slice(9, 3*(1<<14)+5) // of a few
	for range 2 {
		dots, err := d.Dots(append(pairs, [2]device.Buf{long, long}, [2]device.Buf{some, long.Slice(0, some.Len())})...)
		if err != nil {
			return "", err
		}
		fmt.Fprint(sum, dots)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// redundant lists what may be taken out of the kernels without anybody noticing, and why.
var redundant = map[string]string{
	"guard vector.cu: for (int k = 0; k < each; k++)": "where y is not kept, it saves reading it",
	"guard vector.cu: if (to - from <= few_chunks) {": "it saves sums that are made once more below",
}

// TestMutants takes each barrier and fence out of the vector kernels, and with
// LSM_TEST_MUTANTS=all each guard and each end of a loop too.
func TestMutants(t *testing.T) {
	hunt, h := ptxtest.NewHunt(t, redundant), device.NewHost(1)
	hunt.Try(VectorSource(), func() (string, error) { return calculated(h) })
	hunt.End()
}
