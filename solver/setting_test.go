package solver_test

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// placed is one rank's view of a problem: the operator and how to make and read
// its vectors.
type placed struct {
	op    dist.Operator
	data  func(d []float64) *dist.Vector
	image func(x []float64) *dist.Vector
	// read copies this rank's share of an image into out, on one of its copies.
	read  func(out []float64, x *dist.Vector)
	world comm.Comm
}

// setting is a way to lay a matrix over ranks.
type setting struct {
	name  string
	ranks int
}

// settings: one array; a stack of two rows; and process grids of shots × blocks
// with uneven shares.
var settings = []setting{{"leaf", 1}, {"stack", 1}, {"grid 2x3", 6}, {"grid 3x1", 3}, {"grid 1x2", 2}}

// on runs body on every rank of a setting.
func on[T device.Number](s setting, m [][]float64, body func(p placed) error) error {
	switch s.name {
	case "leaf":
		return body(leaf[T](m))
	case "stack":
		return body(stack[T](m))
	}
	var shots, blocks int
	fmt.Sscanf(s.name, "grid %dx%d", &shots, &blocks)
	return commtest.Ranks(s.ranks, func(c comm.Comm) error {
		p, err := grid[T](c, m, shots, blocks)
		if err != nil {
			return err
		}
		return body(p)
	})
}

func leaf[T device.Number](m [][]float64) placed {
	return placed{
		op:    dense[T]{m: m}.operator(),
		data:  vector[T],
		image: vector[T],
		read:  func(out []float64, x *dist.Vector) { copy(out, values[T](x)) },
		world: comm.Self(),
	}
}

// stack lays the first third of the rows above the rest.
func stack[T device.Number](m [][]float64) placed {
	p := leaf[T](m)
	cut := len(m) / 3
	p.op = dist.VStack(dense[T]{m: m[:cut]}.operator(), dense[T]{m: m[cut:]}.operator())
	p.data = func(d []float64) *dist.Vector {
		return &dist.Vector{Layout: p.op.Range(), Parts: []*dist.Vector{vector[T](d[:cut]), vector[T](d[cut:])}}
	}
	return p
}

// share is part i of n of length elements: uneven, in order, covering all.
func share(length, i, n int) (off, size int) {
	lo, hi := length*i*(i+1)/(n*(n+1)), length*(i+1)*(i+2)/(n*(n+1))
	return lo, hi - lo
}

// grid spreads the rows of m over shots and its columns over blocks.
func grid[T device.Number](c comm.Comm, m [][]float64, shots, blocks int) (placed, error) {
	i, j := c.Rank()/blocks, c.Rank()%blocks
	alongShots, err := c.Split(j, i)
	if err != nil {
		return placed{}, err
	}
	alongBlocks, err := c.Split(i, j)
	if err != nil {
		return placed{}, err
	}
	t := device.TypeOf[T]()
	rng := &dist.Layout{Shape: []int{len(m)}, Type: t, Shards: alongShots, Copies: alongBlocks}
	dom := &dist.Layout{Shape: []int{len(m[0])}, Type: t, Shards: alongBlocks, Copies: alongShots}
	rng.Off, rng.N = share(len(m), i, shots)
	dom.Off, dom.N = share(len(m[0]), j, blocks)
	block := make([][]float64, rng.N)
	for k := range block {
		block[k] = m[rng.Off+k][dom.Off : dom.Off+dom.N]
	}
	part := func(l *dist.Layout) func(v []float64) *dist.Vector {
		return func(v []float64) *dist.Vector {
			x := vector[T](v[l.Off : l.Off+l.N])
			x.Layout = l
			return x
		}
	}
	return placed{
		op:    dist.Lift(dense[T]{m: block}, dom, rng),
		data:  part(rng),
		image: part(dom),
		read: func(out []float64, x *dist.Vector) {
			if i == 0 {
				copy(out[dom.Off:], values[T](x))
			}
		},
		world: c,
	}, nil
}
