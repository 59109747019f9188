package commtest

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
)

// ranksOf returns the world ranks of the members of c, in c's order.
func ranksOf(c comm.Comm, world int) []int {
	return must(comm.GatherJSON(c.Host().AllGather, world))
}

func sameInts(what string, got, want []int) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		failf("%s: members are ranks %v, want %v", what, got, want)
	}
}

func split(c comm.Comm) {
	part := must(c.Split(c.Rank()%2, c.Rank()))
	var want []int
	for r := c.Rank() % 2; r < c.Size(); r += 2 {
		want = append(want, r)
	}
	all(c, func() {
		sameInts("by parity", ranksOf(part, c.Rank()), want)
		all(part, func() { allReduceSlice(part) })
	})
	// The whole is as it was.
	allReduceSlice(c)
}

func splitByKey(c comm.Comm) {
	back := must(c.Split(7, -c.Rank()))
	var want []int
	for r := c.Size() - 1; r >= 0; r-- {
		want = append(want, r)
	}
	all(c, func() { sameInts("in reverse", ranksOf(back, c.Rank()), want) })
}

// processGrid lays the ranks out as rows × columns, and sums along both axes in
// turn, as forward and adjoint do.
func processGrid(c comm.Comm) {
	columns := 1
	for k := 2; k*k <= c.Size(); k++ {
		if c.Size()%k == 0 {
			columns = k
		}
	}
	i, j := c.Rank()/columns, c.Rank()%columns
	row := must(c.Split(i, j))
	column := must(c.Split(j, i))
	for range 3 {
		x := []float64{float64(c.Rank())}
		try(row.Host().AllReduce(x, comm.Sum))
		try(column.Host().AllReduce(x, comm.Sum))
		if want := float64(c.Size() * (c.Size() - 1) / 2); x[0] != want {
			failf("sum over rows and columns is %g, want %g", x[0], want)
		}
	}
}
