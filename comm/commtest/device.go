package commtest

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// lengths of buffers: none, one, and odd across the host's chunk of 1<<15.
var lengths = []int{0, 1, 1<<15 + 1}

func identity(c comm.Comm) error {
	switch {
	case c.Name() == "":
		return fmt.Errorf("no name")
	case c.Rank() < 0 || c.Rank() >= c.Size():
		return fmt.Errorf("rank is %d of %d", c.Rank(), c.Size())
	case c != comm.Comm(c): // panics where it is not comparable
		return fmt.Errorf("not equal to itself")
	}
	// Every rank is there once.
	x := make([]float64, c.Size())
	x[c.Rank()] = 1
	if err := c.Host().AllReduce(x, comm.Sum); err != nil {
		return err
	}
	for r, n := range x {
		if n != 1 {
			return fmt.Errorf("rank %d is there %g times", r, n)
		}
	}
	return nil
}

// sample is element i of rank r: small integers, so that every sum is exact.
func sample(r, i int) float64 { return float64((i*7+r*13)%29 - 11) }

func expected(size, i int, op comm.Op) float64 {
	v := sample(0, i)
	for r := 1; r < size; r++ {
		switch s := sample(r, i); op {
		case comm.Sum:
			v += s
		case comm.Max:
			v = math.Max(v, s)
		case comm.Min:
			v = math.Min(v, s)
		}
	}
	return v
}

func allReduce(c comm.Comm) error {
	for _, n := range lengths {
		for _, op := range []comm.Op{comm.Sum, comm.Max, comm.Min} {
			for _, f := range []func(comm.Comm, int, comm.Op) error{
				reduceAs[float32], reduceAs[float64], reduceAs[int64],
			} {
				if err := f(c, n, op); err != nil {
					return err
				}
			}
		}
		for _, f := range []func(comm.Comm, int) error{reduceComplexAs[complex64], reduceComplexAs[complex128]} {
			if err := f(c, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func reduceAs[T float32 | float64 | int64](c comm.Comm, n int, op comm.Op) error {
	x := make([]T, n)
	for i := range x {
		x[i] = T(sample(c.Rank(), i))
	}
	b := device.Wrap(device.NewHost(1), x)
	if err := c.AllReduce(b, op); err != nil {
		return err
	}
	for i, v := range x {
		if want := T(expected(c.Size(), i, op)); v != want {
			return fmt.Errorf("%v of %d %v: element %d is %v, want %v", op, n, b.Type(), i, v, want)
		}
	}
	return nil
}

func reduceComplexAs[T complex64 | complex128](c comm.Comm, n int) error {
	x := make([]T, n)
	for i := range x {
		x[i] = T(complex(sample(c.Rank(), i), sample(c.Rank(), i+1)))
	}
	b := device.Wrap(device.NewHost(1), x)
	if err := c.AllReduce(b, comm.Sum); err != nil {
		return err
	}
	for i, v := range x {
		want := T(complex(expected(c.Size(), i, comm.Sum), expected(c.Size(), i+1, comm.Sum)))
		if v != want {
			return fmt.Errorf("sum of %d %v: element %d is %v, want %v", n, b.Type(), i, v, want)
		}
	}
	return nil
}

func allReduceSlice(c comm.Comm) error {
	x := []float32{1, 2, 3, 4, 5}
	b := device.Wrap(device.NewHost(1), x)
	if err := c.AllReduce(b.Slice(1, 3), comm.Sum); err != nil {
		return err
	}
	n := float32(c.Size())
	for i, want := range []float32{1, 2 * n, 3 * n, 4 * n, 5} {
		if x[i] != want {
			return fmt.Errorf("element %d is %g, want %g", i, x[i], want)
		}
	}
	return nil
}

// sameBits sums numbers whose sum depends on the order.
func sameBits(c comm.Comm) error {
	x, y := inexact(c.Rank(), 4099), make([]float64, 61)
	for i := range y {
		y[i] = math.Sin(float64(i*(c.Rank()+5))) * math.Pow(10, float64(c.Rank()%7))
	}
	if err := c.AllReduce(device.Wrap(device.NewHost(1), x), comm.Sum); err != nil {
		return err
	}
	if err := c.Host().AllReduce(y, comm.Sum); err != nil {
		return err
	}
	// The halves of each float64, taken as the bits of two float32.
	for _, v := range y {
		b := math.Float64bits(v)
		x = append(x, math.Float32frombits(uint32(b)), math.Float32frombits(uint32(b>>32)))
	}
	return sameEverywhere(c, "sum", x)
}

func carriesNaN(c comm.Comm) error {
	x := []float32{1, 1, 1}
	y := []float64{1, 1}
	if c.Rank() == c.Size()-1 {
		x[1] = float32(math.NaN())
		x[2] = float32(math.Inf(1))
		y[0] = math.NaN()
	}
	if err := c.AllReduce(device.Wrap(device.NewHost(1), x), comm.Sum); err != nil {
		return err
	}
	if err := c.Host().AllReduce(y, comm.Sum); err != nil {
		return err
	}
	n := float64(c.Size())
	if float64(x[0]) != n || x[1] == x[1] || !math.IsInf(float64(x[2]), 1) || y[0] == y[0] || y[1] != n {
		return fmt.Errorf("sums are %v and %v, want [%g NaN +Inf] and [NaN %g]", x, y, n, n)
	}
	return nil
}

func broadcast(c comm.Comm) error {
	for root := range c.Size() {
		for _, n := range lengths {
			x := make([]float32, n)
			y := make([]complex128, n)
			for i := range x {
				x[i] = float32(sample(c.Rank(), i))
				y[i] = complex(sample(c.Rank(), i), float64(i))
			}
			h := device.NewHost(1)
			if err := c.Bcast(device.Wrap(h, x), root); err != nil {
				return err
			}
			if err := c.Bcast(device.Wrap(h, y), root); err != nil {
				return err
			}
			for i := range x {
				want := sample(root, i)
				if float64(x[i]) != want || y[i] != complex(want, float64(i)) {
					return fmt.Errorf("from rank %d of %d elements: element %d is %g and %g, want %g",
						root, n, i, x[i], y[i], want)
				}
			}
		}
	}
	return nil
}

func nowhere(c comm.Comm) error {
	for _, root := range []int{-1, c.Size()} {
		if c.Bcast(device.Wrap(device.NewHost(1), []float32{1}), root) == nil {
			return fmt.Errorf("broadcast from rank %d of %d gave no error", root, c.Size())
		}
		if _, err := c.Host().Bcast([]byte{1}, root); err == nil {
			return fmt.Errorf("host broadcast from rank %d of %d gave no error", root, c.Size())
		}
	}
	return nil
}
