package bench

import (
	"context"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	lib "github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
)

// MatmulSpec says which products of square matrices to time.
type MatmulSpec struct {
	Size, Tile int
	Type       device.Type // F32 or F64
	Runs       int         // timed; the median counts
}

// MatmulRow is one product on one grid. The slowest rank gives the times.
type MatmulRow struct {
	Rows, Columns int // of the grid
	Library       string
	Carrier       string // of the broadcasts
	Overlap       bool
	Seconds       float64
	Flops         float64 // operations a second, of all ranks: 2 n³ over the time
	// Bytes that broadcasts brought to the rank that receives most, as counted, and by the formula
	// n (r + c) − 2 r c for r rows and c columns of the rank. On a grid of P × Q ranks with equal
	// shares r = n/P and c = n/Q.
	Bytes, Formula int64
	Messages       int64
	Uneven         int     // ranks whose count is not the formula's
	Error          float64 // largest difference from gonum's elements over their size
	Tolerance      float64
}

// Wrong says whether an element differs by more than the tolerance, or a rank received another
// number of bytes than the formula gives.
func (r *MatmulRow) Wrong() bool { return r.Error > r.Tolerance || r.Uneven > 0 }

// Bytes is the memory that a rank takes for the three matrices and the panels under way.
func (s MatmulSpec) Bytes(rows, columns int) int64 {
	cuts := dense.Cut(s.Size, s.Tile)
	one := dense.Bytes(s.Type, cuts, cuts, rows, columns)
	return 3*one + 2*int64(s.Tile)*int64(s.Type.Size())*int64(s.Size/rows+s.Size/columns+2*s.Tile)
}

// Matmul times C = A B on a grid of all ranks of c, which carries what is on the device. It is
// collective.
func (s MatmulSpec) Matmul(ctx context.Context, c comm.Comm, rows, columns int, d device.Device, l lib.Library, overlap bool) (*MatmulRow, error) {
	came := &traffic{}
	g, err := dense.NewGrid(counted{c, came}, rows, columns, d, l)
	if err != nil {
		return nil, err
	}
	g.Overlap = overlap
	cuts := dense.Cut(s.Size, s.Tile)
	var m [3]*dense.Matrix
	for i := range m {
		if m[i], err = dense.New(g, s.Type, cuts, cuts); err != nil {
			return nil, err
		}
		defer m[i].Free()
	}
	for i := range 2 {
		if err := m[i].Each(entries(i)); err != nil {
			return nil, err
		}
	}
	var times []float64
	for range s.Runs {
		came.bytes.Store(0)
		came.messages.Store(0)
		took, err := s.once(ctx, c, d, m)
		if err != nil {
			return nil, err
		}
		times = append(times, took)
	}
	slices.Sort(times)
	r := &MatmulRow{Rows: rows, Columns: columns, Library: l.Name(), Carrier: c.Name(), Overlap: g.Overlap, Seconds: times[len(times)/2], Tolerance: s.tolerance()}
	r.Flops = 2 * math.Pow(float64(s.Size), 3) / r.Seconds
	if err := s.count(c, g, came, r); err != nil {
		return nil, err
	}
	r.Error, err = s.compare(m[2])
	return r, err
}

// once is the time of one product, of the slowest rank.
func (s MatmulSpec) once(ctx context.Context, c comm.Comm, d device.Device, m [3]*dense.Matrix) (float64, error) {
	if _, err := comm.Any(c, false); err != nil { // all begin together
		return 0, err
	}
	began := time.Now()
	if err := dense.Multiply(ctx, m[2], 1, dense.Of(m[0]), dense.Of(m[1]), 0); err != nil {
		return 0, err
	}
	if err := d.Sync(); err != nil {
		return 0, err
	}
	took := []float64{time.Since(began).Seconds()}
	return took[0], maximum(c, took)
}

// maximum sets x to the largest of all ranks.
func maximum(c comm.Comm, x []float64) error { return c.Host().AllReduce(x, comm.Max) }

// count compares what came to each rank with the formula.
func (s MatmulSpec) count(c comm.Comm, g *dense.Grid, came *traffic, r *MatmulRow) error {
	cuts := dense.Cut(s.Size, s.Tile)
	mine, n := cuts.Held(g.I, g.Rows), s.Size
	across := cuts.Held(g.J, g.Columns)
	formula := float64(s.Type.Size() * (n*(mine+across) - 2*mine*across))
	got := float64(came.bytes.Load())
	most := []float64{got, formula, float64(came.messages.Load())}
	uneven := []float64{0}
	if got != formula {
		uneven[0] = 1
	}
	if err := maximum(c, most); err != nil {
		return err
	}
	r.Bytes, r.Formula, r.Messages = int64(most[0]), int64(most[1]), int64(most[2])
	err := c.Host().AllReduce(uneven, comm.Sum)
	r.Uneven = int(uneven[0])
	return err
}

func (s MatmulSpec) tolerance() float64 {
	eps := 0x1p-53
	if s.Type == device.F32 {
		eps = 0x1p-24
	}
	return 4 * math.Sqrt(float64(s.Size)) * eps
}

// entry is an element of matrix which, between −1 and 1: all of it is in the hash of its place.
func entry(which, i, j int) float64 {
	h := uint64(which+1)*0x9e3779b97f4a7c15 ^ uint64(i)*0xbf58476d1ce4e5b9 ^ uint64(j)*0x94d049bb133111eb
	h = (h ^ h>>31) * 0xd6e8feb86659fd93
	return float64(int32(h>>32)>>8) / (1 << 23)
}

// entries fills tiles of a matrix.
func entries(which int) dense.Visit {
	return func(r0, r1, c0, c1 int, part device.Buf) error {
		x := make([]float64, 0, part.Len())
		for i := r0; i < r1; i++ {
			for j := c0; j < c1; j++ {
				x = append(x, entry(which, i, j))
			}
		}
		return device.Upload(part, x)
	}
}

// sampled is how many rows of a product are compared with gonum's.
const sampled = 32

// compare returns the largest difference between rows of C, spread over the whole matrix, and
// those that gonum computes in double precision, over the size of the largest element. All
// ranks get it.
func (s MatmulSpec) compare(c *dense.Matrix) (float64, error) {
	n, g := s.Size, c.Grid
	step := max(1, n/sampled)
	var want blas64.General
	if g.World.Rank() == 0 {
		want = s.reference(step)
	}
	apart, size := 0.0, 0.0
	err := c.GatherEach(func(r0, r1, c0, c1 int, part device.Buf) error {
		x := make([]float64, part.Len())
		if err := device.Download(x, part); err != nil {
			return err
		}
		for i := (r0 + step - 1) / step * step; i < r1; i += step {
			for j := c0; j < c1; j++ {
				w := want.Data[i/step*want.Stride+j]
				size = max(size, math.Abs(w))
				apart = max(apart, math.Abs(x[(i-r0)*(c1-c0)+j-c0]-w))
			}
		}
		return nil
	})
	out := []float64{apart / max(size, math.SmallestNonzeroFloat64)}
	if err == nil {
		err = maximum(g.World, out)
	}
	return out[0], err
}

// reference computes row 0, step, 2 step and so on of the product by gonum.
func (s MatmulSpec) reference(step int) blas64.General {
	n, rows := s.Size, (s.Size+step-1)/step
	a, b, c := whole(rows, n), whole(n, n), whole(rows, n)
	for j := range n {
		for i := range rows {
			a.Data[i*n+j] = entry(0, i*step, j)
		}
		for i := range n {
			b.Data[i*n+j] = entry(1, i, j)
		}
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, a, b, 0, c)
	return c
}

func whole(rows, columns int) blas64.General {
	return blas64.General{Rows: rows, Cols: columns, Stride: columns, Data: make([]float64, rows*columns)}
}
