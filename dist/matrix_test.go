package dist_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Matrix is a dist.Pieced kernel: this rank's block of a matrix, on the host. It computes
// its pieces in random order and checks that callers keep to the rules of
// dist.Application.
type Matrix struct {
	Rows [][]float64 // of the range by columns of the domain

	// RowUnits and ColumnUnits are the local offsets at which the units of range and
	// domain begin.
	RowUnits, ColumnUnits []int

	Pieces, Ahead int
	// Fail, if not nil, is called before every piece and returns the error of that piece.
	Fail func(d dist.Direction, piece int) error
	// BoundError, if not nil, is the error of Bound.
	BoundError error
}

// Block is the kernel for the rows and columns of a whole matrix that two layouts with
// units hold on this rank.
func Block(whole [][]float64, rng, domain *dist.Layout, pieces, ahead int) *Matrix {
	m := &Matrix{RowUnits: rng.Units, ColumnUnits: domain.Units, Pieces: pieces, Ahead: ahead}
	for _, row := range whole[rng.Off : rng.Off+rng.N] {
		m.Rows = append(m.Rows, row[domain.Off:domain.Off+domain.N])
	}
	return m
}

// Forward implements dist.Kernel.
func (m *Matrix) Forward(ctx context.Context, dst, src device.Buf) error {
	return m.whole(ctx, dist.Forward, dst, src)
}

// Adjoint implements dist.Kernel.
func (m *Matrix) Adjoint(ctx context.Context, dst, src device.Buf) error {
	return m.whole(ctx, dist.Backward, dst, src)
}

func (m *Matrix) whole(ctx context.Context, d dist.Direction, dst, src device.Buf) error {
	a, err := m.Begin(ctx, d, dst, src, 0)
	if err != nil {
		return err
	}
	for i := range a.Pieces() {
		if _, err := a.Sum(i); err != nil {
			return err
		}
		if err := a.Finish(i); err != nil {
			return err
		}
	}
	return nil
}

// Peak implements dist.Pieced with the largest absolute value of an entry.
func (m *Matrix) Peak() float64 {
	peak := 0.0
	for _, row := range m.Rows {
		for _, v := range row {
			peak = max(peak, math.Abs(v))
		}
	}
	return peak
}

// Bound implements dist.Pieced with the sum of absolute values of each unit.
func (m *Matrix) Bound(d dist.Direction, src device.Buf) ([]float64, error) {
	x := Read(src)
	var out []float64
	for _, u := range units(m.source(d), len(x)) {
		s := 0.0
		for _, v := range x[u[0]:u[1]] {
			s += math.Abs(v)
		}
		out = append(out, s)
	}
	return out, m.BoundError
}

func (m *Matrix) source(d dist.Direction) []int {
	if d == dist.Forward {
		return m.ColumnUnits
	}
	return m.RowUnits
}

// Begin implements dist.Pieced.
func (m *Matrix) Begin(_ context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	a := &application{m: m, d: d, dst: dst, x: Read(src), quantum: quantum, open: make(map[int]device.Buf)}
	a.units = units(m.source(d), len(a.x))
	return a, nil
}

type application struct {
	m           *Matrix
	d           dist.Direction
	dst         device.Buf
	x           []float64
	units       [][2]int
	quantum     float64
	open        map[int]device.Buf // summed and not finished
	taken, done int
}

func (a *application) Pieces() int { return a.m.Pieces }
func (a *application) Ahead() int  { return a.m.Ahead }

// stretch returns the part of the destination that piece i covers.
func (a *application) stretch(i int) (lo, hi int) {
	n := a.dst.Len()
	return n * i / a.m.Pieces, n * (i + 1) / a.m.Pieces
}

func (a *application) Sum(i int) (device.Buf, error) {
	if i != a.taken || len(a.open) >= a.m.Ahead {
		return nil, fmt.Errorf("matrix: piece %d is asked for after %d, of which %d are open", i, a.taken, len(a.open))
	}
	a.taken++
	if a.m.Fail != nil {
		if err := a.m.Fail(a.d, i); err != nil {
			return nil, err
		}
	}
	t := a.dst.Type()
	if a.quantum > 0 {
		t = device.F64
	}
	lo, hi := a.stretch(i)
	buf, err := a.dst.Device().Alloc(hi-lo, t)
	if err != nil {
		return nil, err
	}
	sums := make([]float64, hi-lo)
	for _, u := range rand.Perm(len(a.units)) {
		for k := range sums {
			sums[k] += a.unit(a.units[u], lo+k)
		}
	}
	Write(buf, sums)
	a.open[i] = buf
	return buf, nil
}

// unit is the contribution of one unit of the source to element k: in single precision if
// the destination is, and rounded to a multiple of the quantum.
func (a *application) unit(u [2]int, k int) float64 {
	s := 0.0
	for j := u[0]; j < u[1]; j++ {
		if a.d == dist.Forward {
			s += a.m.Rows[k][j] * a.x[j]
		} else {
			s += a.m.Rows[j][k] * a.x[j]
		}
	}
	if a.dst.Type() == device.F32 {
		s = float64(float32(s))
	}
	if a.quantum == 0 {
		return s
	}
	return math.RoundToEven(s/a.quantum) * a.quantum
}

func (a *application) Finish(i int) error {
	buf, ok := a.open[i]
	if i != a.done || !ok {
		return fmt.Errorf("matrix: piece %d is finished after %d of %d", i, a.done, a.taken)
	}
	a.done++
	delete(a.open, i)
	lo, hi := a.stretch(i)
	y := Read(a.dst.Slice(lo, hi-lo))
	for k, v := range Read(buf) {
		y[k] += v
	}
	Write(a.dst.Slice(lo, hi-lo), y)
	return nil
}

// units returns the stretches [from, to) that begin at the given offsets.
func units(at []int, n int) [][2]int {
	out := make([][2]int, len(at))
	for i, lo := range at {
		out[i] = [2]int{lo, n}
		if i+1 < len(at) {
			out[i][1] = at[i+1]
		}
	}
	return out
}

// Read returns the elements of a host buffer.
func Read(b device.Buf) []float64 {
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

// Write sets the elements of a host buffer.
func Write(b device.Buf, x []float64) {
	for i, v := range x {
		if b.Type() == device.F32 {
			device.Slice[float32](b)[i] = float32(v)
		} else {
			device.Slice[float64](b)[i] = v
		}
	}
}
