package dist

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
)

var host = device.NewHost(2)

// matrix is a test operator's entries, rows × columns.
type matrix [][]float64

func newMatrix(seed uint64, rows, cols int) matrix {
	r := rand.New(rand.NewPCG(seed, 77))
	m := make(matrix, rows)
	for i := range m {
		m[i] = make([]float64, cols)
		for j := range m[i] {
			m[i][j] = r.NormFloat64()
		}
	}
	return m
}

func (m matrix) adjoint() matrix {
	out := make(matrix, len(m[0]))
	for j := range out {
		out[j] = make([]float64, len(m))
		for i := range m {
			out[j][i] = m[i][j]
		}
	}
	return out
}

func (m matrix) times(n matrix) matrix {
	out := make(matrix, len(m))
	for i := range out {
		out[i] = make([]float64, len(n[0]))
		for j := range out[i] {
			for k := range n {
				out[i][j] += m[i][k] * n[k][j]
			}
		}
	}
	return out
}

func (m matrix) plus(c float64, n matrix) matrix {
	out := make(matrix, len(m))
	for i := range out {
		out[i] = make([]float64, len(m[0]))
		for j := range out[i] {
			out[i][j] = m[i][j] + c*n[i][j]
		}
	}
	return out
}

func eye(n int, diagonal func(i int) float64) matrix {
	out := make(matrix, n)
	for i := range out {
		out[i] = make([]float64, n)
		out[i][i] = diagonal(i)
	}
	return out
}

// read returns a leaf buffer's elements.
func read(b device.Buf) []float64 {
	b = plain(b)
	out := make([]float64, b.Len())
	for i := range out {
		if b.Type() == device.F32 {
			out[i] = float64(device.Slice[float32](b)[i])
		} else {
			out[i] = device.Slice[float64](b)[i]
		}
	}
	return out
}

// write sets a leaf buffer's elements.
func write(b device.Buf, x []float64) {
	b = plain(b)
	for i, v := range x {
		if b.Type() == device.F32 {
			device.Slice[float32](b)[i] = float32(v)
		} else {
			device.Slice[float64](b)[i] = v
		}
	}
}

// Forward and Adjoint make a matrix a Kernel: sums in float64, added to dst.
func (m matrix) Forward(_ context.Context, dst, src device.Buf) error {
	x, y := read(src), read(dst)
	for i, row := range m {
		for j, a := range row {
			y[i] += a * x[j]
		}
	}
	write(dst, y)
	return nil
}

func (m matrix) Adjoint(_ context.Context, dst, src device.Buf) error {
	x, y := read(src), read(dst)
	for i, row := range m {
		for j, a := range row {
			y[j] += a * x[i]
		}
	}
	write(dst, y)
	return nil
}

// place makes layouts and operators of matrices for one rank of a process grid
// of shots × blocks; rows are split over shots, columns over blocks.
type place struct {
	t                       device.Type
	i, j, shots, blocks     int
	alongShots, alongBlocks comm.Comm
}

// onGrid runs body on every rank of a grid.
func onGrid(shots, blocks int, t device.Type, body func(p place) error) error {
	return commtest.Ranks(shots*blocks, func(c comm.Comm) error {
		p := place{t: t, i: c.Rank() / blocks, j: c.Rank() % blocks, shots: shots, blocks: blocks}
		var err error
		if p.alongShots, err = c.Split(p.j, p.i); err != nil {
			return err
		}
		if p.alongBlocks, err = c.Split(p.i, p.j); err != nil {
			return err
		}
		return body(p)
	})
}

// share is part k of n of a length, in order and covering all, uneven.
func share(length, k, n int) (off, size int) {
	lo, hi := length*k*(k+1)/(n*(n+1)), length*(k+1)*(k+2)/(n*(n+1))
	return lo, hi - lo
}

func (p place) rows(n int) *Layout {
	off, size := share(n, p.i, p.shots)
	return &Layout{Shape: []int{n}, Off: off, N: size, Type: p.t, Shards: p.alongShots, Copies: p.alongBlocks}
}

func (p place) columns(n int) *Layout {
	off, size := share(n, p.j, p.blocks)
	return &Layout{Shape: []int{n}, Off: off, N: size, Type: p.t, Shards: p.alongBlocks, Copies: p.alongShots}
}

// block is the part of m between two leaf layouts.
func (m matrix) block(rng, dom *Layout) matrix {
	out := make(matrix, rng.N)
	for i := range out {
		out[i] = m[rng.Off+i][dom.Off : dom.Off+dom.N]
	}
	return out
}

// lift makes m an operator from data layout to image layout.
func (p place) lift(m matrix) Operator {
	rng, dom := p.rows(len(m)), p.columns(len(m[0]))
	return Lift(m.block(rng, dom), dom, rng)
}

// leafVectors appends the leaves of v, in order.
func leafVectors(v *Vector, out []*Vector) []*Vector {
	if v.Parts == nil {
		return append(out, v)
	}
	for _, p := range v.Parts {
		out = leafVectors(p, out)
	}
	return out
}

// length is the global length of a layout.
func length(l *Layout) int {
	n := 0
	for _, leaf := range l.leaves(nil) {
		n += leaf.Shape[0]
	}
	return n
}

// setUnit makes v the k-th unit vector, counted over all leaves.
func setUnit(v *Vector, k int) error {
	if err := v.Zero(); err != nil {
		return err
	}
	for _, leaf := range leafVectors(v, nil) {
		if at := k - leaf.Layout.Off; at >= 0 && at < leaf.Layout.N && k < leaf.Layout.Shape[0] {
			x := read(leaf.Buf)
			x[at] = 1
			write(leaf.Buf, x)
		}
		k -= leaf.Layout.Shape[0]
	}
	return nil
}

// whole gathers v over its Shards.
func whole(v *Vector) ([]float64, error) {
	var out []float64
	for _, leaf := range leafVectors(v, nil) {
		n := leaf.Layout.Shape[0]
		x := make([]float64, n)
		copy(x[leaf.Layout.Off:], read(leaf.Buf))
		if err := leaf.Layout.Shards.Host().AllReduce(x, comm.Sum); err != nil {
			return nil, err
		}
		out = append(out, x...)
	}
	return out, nil
}

// entries writes an operator's matrix out, column by column, into a destination
// that holds rubbish before every application.
func entries(op Operator) (matrix, error) {
	src, err := NewVector(host, op.Domain())
	if err != nil {
		return nil, err
	}
	dst, err := NewVector(host, op.Range())
	if err != nil {
		return nil, err
	}
	seed := uint64(5)
	out := make(matrix, length(op.Range()))
	for k := range length(op.Domain()) {
		if err := setUnit(src, k); err != nil {
			return nil, err
		}
		if err := fillRandom(dst, &seed); err != nil {
			return nil, err
		}
		if err := op.Apply(context.Background(), dst, src); err != nil {
			return nil, err
		}
		column, err := whole(dst)
		if err != nil {
			return nil, err
		}
		for i, v := range column {
			out[i] = append(out[i], v)
		}
	}
	return out, nil
}

// same asks for equal entries up to rounding relative to the largest.
func same(got, want matrix, tol float64) error {
	if len(got) != len(want) || len(got[0]) != len(want[0]) {
		return fmt.Errorf("%d×%d entries, want %d×%d", len(got), len(got[0]), len(want), len(want[0]))
	}
	scale := 0.0
	for _, row := range want {
		for _, v := range row {
			scale = max(scale, math.Abs(v))
		}
	}
	for i, row := range want {
		for j, v := range row {
			if e := math.Abs(got[i][j] - v); !(e <= tol*scale) {
				return fmt.Errorf("entry (%d, %d) is %v, want %v", i, j, got[i][j], v)
			}
		}
	}
	return nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var types = []device.Type{device.F32, device.F64}

func tolerance(t device.Type) float64 {
	if t == device.F32 {
		return 2e-6
	}
	return 4e-15
}

// grids of shots × blocks.
var grids = [][2]int{{1, 1}, {2, 3}, {4, 1}, {1, 3}}

func onGrids(t *testing.T, body func(p place) error) {
	for _, g := range grids {
		for _, typ := range types {
			t.Run(fmt.Sprintf("%dx%d/%v", g[0], g[1], typ), func(t *testing.T) {
				must(t, onGrid(g[0], g[1], typ, body))
			})
		}
	}
}
