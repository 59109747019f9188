package kirchhoff

import (
	"math/bits"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// demigrator holds some of the forward's traces, in blocks. The rows of their pairs are
// rows of the data.
type demigrator struct {
	*blocking
	op     simd.Operator
	pieces []int // first block of each piece, and their number
	cells  bool  // each block is a cell
}

// laneCells are the sizes of the blocks that are cells. leastLanes is the least number of
// traces of a run in them; for shorter runs the kernel of single pairs is faster.
var (
	laneCells  = cells{sources: 8, receivers: simd.Lanes, limit: 8 * simd.Lanes, alone: true}
	leastLanes = 6
)

// cut makes blocks of the traces of each piece. It makes them smaller if there would be
// fewer than enough. Every trace is summed by itself, so results do not change.
func (d *demigrator) cut(p *Problem, pieces [][]int32, enough int) {
	size := forwardCells
	if d.cells {
		size = laneCells
	}
	for {
		d.blocking, d.pieces = &blocking{}, nil
		for _, traces := range pieces {
			d.pieces = append(d.pieces, len(d.blocks))
			d.add(p.Positions, traces, size)
		}
		d.pieces = append(d.pieces, len(d.blocks))
		if len(d.blocks) >= enough || d.cells && size.sources == 1 || size.receivers == 1 {
			break
		}
		if d.cells {
			size.sources /= 2
		} else {
			size.receivers /= 2
		}
		size.limit /= 2
	}
}

// trace is the number of elements that a trace takes in its block's windows.
func (d *demigrator) trace() int {
	if d.cells {
		return d.op.Stride
	}
	return simd.Slots * d.op.Pitch()
}

// forward, drain and collapse call the functions of the same names in package simd.
func (d *demigrator) forward(isa simd.ISA, op *simd.Operator, windows *simd.Memory[float32], image []float32) {
	if d.cells {
		isa.ForwardCell(op, windows, image, 0, len(image)/simd.TileSize)
		return
	}
	isa.Forward(op, windows, image, 0, len(image)/simd.TileSize)
}

func (d *demigrator) drain(isa simd.ISA, op *simd.Operator, sums []float64, windows *simd.Memory[float32], scratch []float64, row0 int, quantum float64) {
	if d.cells {
		isa.DrainCell(op, sums, windows, row0, quantum)
		return
	}
	isa.Drain(op, sums, windows, scratch, row0, quantum)
}

func (d *demigrator) collapse(trace, windows []float32) {
	if d.cells {
		copy(trace, windows[simd.Widest:])
		return
	}
	simd.Collapse(trace, windows)
}

// windowLen is the number of elements that the windows of any block take.
func (l *Plan) windowLen() int {
	nt := l.Problem.NT
	return l.phases() * max(forwardCells.limit*simd.Slots*simd.Pitch(l.bands.n, strideOf(nt)), laneCells.limit*laneStride(nt))
}

// laneStride is the distance between rows of nt samples in a cell's block.
func laneStride(nt int) int {
	const lines = 2 * 16 // an even number of cache lines, see strideOf
	return strideOf(nt) + (3*simd.Widest+16-2*simd.TileSize+lines-1)/lines*lines
}

// inCells reports for each trace whether the forward processes it with the receivers of a
// cell in the lanes of a register. It does so for long runs in which no pair occurs
// twice. The choice depends on the runs of the whole survey (see blocking), so shares and
// groups do not change the order of sums.
func inCells(p *survey.Positions) []bool {
	in := make([]bool, len(p.Source))
	order := inRuns(p, laneCells.receivers)
	for at := 0; at < len(order); {
		end := runEnd(p, order, at, laneCells.receivers)
		lanes := uint(0) // a bit for each that has a trace
		for _, i := range order[at:end] {
			lanes |= 1 << (p.NumberOf(p.Receiver[i]) % laneCells.receivers)
		}
		for _, i := range order[at:end] {
			in[i] = end-at >= leastLanes && bits.OnesCount(lanes) == end-at
		}
		at = end
	}
	return in
}

// placeLanes gives each pair of blocks that are cells its lane.
func (b *blocking) placeLanes(p *survey.Positions) {
	b.cells = true
	for i := range b.pairs {
		b.pairs[i].lane = p.NumberOf(b.pairs[i].receiver) % laneCells.receivers
	}
}
