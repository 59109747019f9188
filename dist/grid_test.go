package dist_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Place is one rank of a process grid of shots × blocks, with the layouts of a problem.
// The units of the data are split over the shots and those of the image over the blocks.
// Stretches are assigned to ranks in shuffled order.
type Place struct {
	World       comm.Comm
	Data, Image *dist.Layout
}

// Grid runs body on every rank of a grid, each a goroutine, for data and an image
// of units of the given lengths.
func Grid(shots, blocks int, t device.Type, data, image []int, body func(p Place) error) error {
	return GridOver(func(c comm.Comm) comm.Comm { return c }, shots, blocks, t, data, image, body)
}

// GridOver is Grid with another communicator over all ranks.
func GridOver(over func(c comm.Comm) comm.Comm, shots, blocks int, t device.Type, data, image []int, body func(p Place) error) error {
	return commtest.Ranks(shots*blocks, func(c comm.Comm) error {
		c = over(c)
		i, j := c.Rank()/blocks, c.Rank()%blocks
		alongShots, err := c.Split(j, i)
		if err != nil {
			return err
		}
		alongBlocks, err := c.Split(i, j)
		if err != nil {
			return err
		}
		return body(Place{c, shuffled(t, data, alongShots, alongBlocks), shuffled(t, image, alongBlocks, alongShots)})
	})
}

// Grids are all grids of n ranks.
func Grids(n int) [][2]int {
	var out [][2]int
	for shots := 1; shots <= n; shots++ {
		if n%shots == 0 {
			out = append(out, [2]int{shots, n / shots})
		}
	}
	return out
}

// shuffled shares out units of the given lengths, as evenly in number as possible, to
// ranks in a shuffled order.
func shuffled(t device.Type, lengths []int, shards, copies comm.Comm) *dist.Layout {
	starts := []int{0}
	for _, n := range lengths {
		starts = append(starts, starts[len(starts)-1]+n)
	}
	total := starts[len(lengths)]
	l := dist.Local(t, total)
	l.Shards, l.Copies = shards, copies
	n := shards.Size()
	k := rand.New(rand.NewPCG(uint64(n), 1)).Perm(n)[shards.Rank()]
	from, to := len(lengths)*k/n, len(lengths)*(k+1)/n
	l.Off, l.N = starts[from], starts[to]-starts[from]
	l.Units = []int{}
	for _, s := range starts[from:to] {
		l.Units = append(l.Units, s-l.Off)
	}
	return l
}

// Random is a matrix of standard normal numbers that float32 holds exactly.
func Random(seed uint64, rows, columns int) [][]float64 {
	r := rand.New(rand.NewPCG(seed, 78))
	out := make([][]float64, rows)
	for i := range out {
		out[i] = make([]float64, columns)
		for j := range out[i] {
			out[i][j] = float64(float32(r.NormFloat64()))
		}
	}
	return out
}

// Vector returns this rank's share of a whole vector, on the host.
func Vector(l *dist.Layout, whole []float64) (*dist.Vector, error) {
	v, err := dist.NewVector(device.NewHost(1), l)
	if err == nil {
		Write(v.Buf, whole[l.Off:l.Off+l.N])
	}
	return v, err
}

// Whole gathers a vector on all ranks, and makes sure that its copies have the same bits.
func Whole(v *dist.Vector) ([]float64, error) {
	l := v.Layout
	// Bit by bit: a sum with zeros would lose the sign of a zero.
	mine, err := binary.Append(binary.LittleEndian.AppendUint64(nil, uint64(l.Off)), binary.LittleEndian, Read(v.Buf))
	if err != nil {
		return nil, err
	}
	copies, err := l.Copies.Host().AllGather(mine)
	if err != nil {
		return nil, err
	}
	for rank, c := range copies {
		if !bytes.Equal(c, mine) {
			return nil, fmt.Errorf("grid: the copy of rank %d differs from that of rank %d", rank, l.Copies.Rank())
		}
	}
	parts, err := l.Shards.Host().AllGather(mine)
	if err != nil {
		return nil, err
	}
	out := make([]float64, l.Shape[0])
	for _, p := range parts {
		off := binary.LittleEndian.Uint64(p)
		if _, err := binary.Decode(p[8:], binary.LittleEndian, out[off:int(off)+len(p[8:])/8]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
