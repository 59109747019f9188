package commtest

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// extremesCarryNaN puts a NaN on each rank in turn, and the zeros of both signs,
// of which +0 counts as the larger.
func extremesCarryNaN(c comm.Comm) error {
	if err := extremesAs[float32](c); err != nil {
		return err
	}
	return extremesAs[float64](c)
}

func extremesAs[T float32 | float64](c comm.Comm) error {
	for odd := range c.Size() {
		for _, op := range []comm.Op{comm.Max, comm.Min} {
			for _, how := range []string{"all-reduce", "start", "reduce"} {
				x := []T{1, T(math.Copysign(0, -1)), 2}
				if c.Rank() == odd {
					x[0], x[1] = T(math.NaN()), 0
				}
				if err := reduceBy(c, how, device.Wrap(device.NewHost(1), x), op, odd); err != nil {
					return err
				}
				if how == "reduce" && c.Rank() != odd {
					continue
				}
				minus := op == comm.Min && c.Size() > 1
				if x[0] == x[0] || x[1] != 0 || math.Signbit(float64(x[1])) != minus || x[2] != 2 {
					return fmt.Errorf("%s, %v, rank %d is the odd one: %v", how, op, odd, x)
				}
			}
		}
	}
	return hostExtremes(c)
}

func reduceBy(c comm.Comm, how string, x device.Buf, op comm.Op, root int) error {
	switch how {
	case "all-reduce":
		return c.AllReduce(x, op)
	case "reduce":
		return c.Reduce(x, op, root)
	}
	r, err := c.StartAllReduce(x, op)
	if err != nil {
		return err
	}
	return r.Wait()
}

func hostExtremes(c comm.Comm) error {
	for _, op := range []comm.Op{comm.Max, comm.Min} {
		y := []float64{float64(c.Rank()), 1}
		if c.Rank() == c.Size()/2 {
			y[0] = math.NaN()
		}
		if err := c.Host().AllReduce(y, op); err != nil {
			return err
		}
		if y[0] == y[0] || y[1] != 1 {
			return fmt.Errorf("host %v is %v, want [NaN 1]", op, y)
		}
	}
	return nil
}

// inexact are numbers whose sum depends on the order of the additions.
func inexact(rank, n int) []float32 {
	return fill(n, func(i int) float32 {
		return float32(math.Sin(float64(i*(rank+3))) * math.Pow(10, float64(rank%5)))
	})
}

// sameEverywhere compares the bits of x over all ranks.
func sameEverywhere(c comm.Comm, what string, x []float32) error {
	bits := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b := math.Float32bits(v)
		bits = append(bits, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
	}
	first, err := c.Host().Bcast(bits, 0)
	if err != nil {
		return err
	}
	if string(first) != string(bits) {
		err = fmt.Errorf("%s: bits differ from rank 0's", what)
	}
	return all(c, err)
}

// sameBitsUnderWay asks of non-blocking sums what sameBits asks of the others.
func sameBitsUnderWay(c comm.Comm) error {
	for _, n := range []int{3, 4099, 40009} {
		x := inexact(c.Rank(), n)
		r, err := c.StartAllReduce(device.Wrap(device.NewHost(1), x), comm.Sum)
		if err != nil {
			return err
		}
		if err := r.Wait(); err != nil {
			return err
		}
		if err := sameEverywhere(c, fmt.Sprintf("non-blocking sum of %d", n), x); err != nil {
			return err
		}
	}
	return nil
}

// oneSided sums by writing into other ranks' memory, where a communicator can:
// vectors of one length in a row, of other lengths and types, and of a part of
// the ranks.
func oneSided(c comm.Comm) error {
	part, err := c.Split(c.Rank()%2, 0)
	if err != nil {
		return err
	}
	for _, c := range []comm.Comm{c, part} {
		o, ok := c.(comm.OneSided)
		if !ok {
			return nil
		}
		for _, t := range types {
			sizes := []int{1000}
			if t == device.F32 {
				sizes = []int{0, 1, 1000, 1000, 1<<15 + 1}
			}
			for _, n := range sizes {
				x := buffer(t, c.Rank(), 0, n)
				if err := o.Accumulate(x); err != nil {
					return err
				}
				if err := holdsAll("one-sided sum", x, c.Size(), 0, comm.Sum); err != nil {
					return err
				}
			}
		}
		x := inexact(c.Rank(), 4099)
		x[7] = float32(math.NaN())
		if c.Rank() > 0 {
			x[7] = 1
		}
		if err := o.Accumulate(device.Wrap(device.NewHost(1), x)); err != nil {
			return err
		}
		if x[7] == x[7] {
			return fmt.Errorf("one-sided sum lost a NaN")
		}
		x[7] = 0
		if err := sameEverywhere(c, "one-sided sum", x); err != nil {
			return err
		}
	}
	return nil
}
