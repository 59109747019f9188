package commtest

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
)

// ranksOf returns the world ranks of the members of c, in c's order.
func ranksOf(c comm.Comm, world int) ([]int, error) {
	x := make([]float64, c.Size())
	x[c.Rank()] = float64(world)
	if err := c.Host().AllReduce(x, comm.Sum); err != nil {
		return nil, err
	}
	out := make([]int, len(x))
	for i, v := range x {
		out[i] = int(v)
	}
	return out, nil
}

func sameInts(what string, got, want []int) error {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("%s: members are ranks %v, want %v", what, got, want)
	}
	return nil
}

func split(c comm.Comm) error {
	part, err := c.Split(c.Rank()%2, c.Rank())
	if err != nil {
		return err
	}
	var want []int
	for r := c.Rank() % 2; r < c.Size(); r += 2 {
		want = append(want, r)
	}
	got, err := ranksOf(part, c.Rank())
	if err == nil {
		err = sameInts("by parity", got, want)
	}
	if err == nil {
		err = all(part, allReduceSlice(part))
	}
	if err := all(c, err); err != nil {
		return err
	}
	// The whole is as it was.
	return allReduceSlice(c)
}

func splitByKey(c comm.Comm) error {
	back, err := c.Split(7, -c.Rank())
	if err != nil {
		return err
	}
	var want []int
	for r := c.Size() - 1; r >= 0; r-- {
		want = append(want, r)
	}
	got, err := ranksOf(back, c.Rank())
	if err == nil {
		err = sameInts("in reverse", got, want)
	}
	return all(c, err)
}

// processGrid lays the ranks out as rows × columns, and sums along both axes in
// turn, as forward and adjoint do.
func processGrid(c comm.Comm) error {
	columns := 1
	for k := 2; k*k <= c.Size(); k++ {
		if c.Size()%k == 0 {
			columns = k
		}
	}
	i, j := c.Rank()/columns, c.Rank()%columns
	row, err := c.Split(i, j)
	if err != nil {
		return err
	}
	column, err := c.Split(j, i)
	if err != nil {
		return err
	}
	for range 3 {
		x := []float64{float64(c.Rank())}
		if err := row.Host().AllReduce(x, comm.Sum); err != nil {
			return err
		}
		if err := column.Host().AllReduce(x, comm.Sum); err != nil {
			return err
		}
		if want := float64(c.Size() * (c.Size() - 1) / 2); x[0] != want {
			return fmt.Errorf("sum over rows and columns is %g, want %g", x[0], want)
		}
	}
	return nil
}
