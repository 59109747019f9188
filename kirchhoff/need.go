package kirchhoff

import "github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"

// Needs returns the largest memory that the engine of New takes in any application of w.
// It runs the code that allocates, on a memory that only counts. A Budget below the least
// possible one counts as that.
func Needs(p *Problem, w Work) (n Need) {
	l := Outline(p)
	share := p.expected()
	c := newCover(p, &l.Tiling)
	n.Place = l.placeBytes(c)
	w.Budget = max(int64(float64(w.Budget)/share), int64(p.LeastPlaces(w.Exact))*n.Place)
	e, err := newCPU(p, w, true)
	if err != nil {
		return n // New will tell
	}
	n.Tables, n.AllTables = int64(share*float64(e.held)), int64(share*float64(newTables(l, c, true).bytes))
	n.Place = int64(share * float64(n.Place))
	n.Heap = e.heap
	all := false
	for _, k := range e.kernels {
		traces := k.image.Own.NumTraces()
		if w.Cuts != nil || w.Remake {
			traces = 0
			for _, u := range k.image.Units {
				traces = max(traces, u.Hi-u.Lo)
			}
			n.Traces = max(n.Traces, k.traceBytes(traces))
		} else if k.image.Rows != nil || !all { // kernels of all traces share lists
			n.Traces += k.traceBytes(traces)
			all = all || k.image.Rows == nil
		}
		if w.Cuts == nil {
			n.Pieces = max(n.Pieces, k.pieceBytes())
			continue
		}
		for i := range k.image.Units {
			n.Pieces = max(n.Pieces, stream{k}.group(i).pieceBytes())
		}
	}
	n.Scratch = e.bytes + n.Pieces
	n.Making = (p.timesBytes() + e.plan.newMaker(p, true).bytes) * int64(e.threads)
	return n
}

// SquareBytes is the further memory of the adjoints of Squared of the engine of New, in bytes. With even all traces
// have the same weights. It counts all bands, as Needs does.
func SquareBytes(p *Problem, w Work, even bool) (most int64) {
	e, err := newCPU(p, w, true)
	if err != nil {
		return 0 // New will tell
	}
	ends := memory{counting: true}
	newSquares(e, &ends)
	stride := newTables(e.plan, &cover{all: 1, branches: 1}, true).op.Stride
	for _, k := range e.kernels {
		traces := k.image.Own.NumTraces()
		if even {
			traces = min(1, traces)
		}
		m := memory{counting: true}
		allocateSquares(&simd.Squares{}, &m, traces*e.plan.bands.n, stride)
		most = max(most, m.bytes)
	}
	return most + ends.heap
}

// AmplitudeBytes is the memory in which one thread makes HostAmplitudes.
func AmplitudeBytes(p *Problem) int64 {
	if !hostTapers(p) {
		return 0
	}
	return Outline(p).newMaker(p, true).bytes
}

// traceBytes is the memory of the given number of traces in the lists that are held at
// once. It counts all bands, since only the tables tell how many are used.
func (k *kernel) traceBytes(traces int) int64 {
	o := &lists{memory: memory{counting: true}, kernel: k}
	o.allocate(newTables(k.cpu.plan, &cover{all: 1, branches: 1}, true), traces, k.cpu.plan.bands.n)
	return o.memory.bytes + perTrace*int64(traces)
}

// pieceBytes is the memory of the forward's pieces.
func (k *kernel) pieceBytes() int64 {
	n := ringLen(k.image.TraceCuts, k.cpu.plan.phases()*k.cpu.plan.Problem.NT)
	if k.cpu.work.Exact {
		return 8 * int64(n)
	}
	return 4 * int64(n)
}

// LeastPlaces is the number of places whose tables Work.Remake needs at a time: the two
// of a trace, or with exact sums all places of a run.
func (p *Problem) LeastPlaces(exact bool) int {
	if exact {
		return min(1+int(adjointCells.receivers), p.Positions.Len())
	}
	return 2
}

// timesBytes is the memory that a thread needs for traveltimes.
func (p *Problem) timesBytes() int64 {
	places, opt := p.TimesNeeded()
	return p.Times.ScratchBytes(p.Positions, places, opt)
}

// ReferenceNeeds is the memory that the engine of NewReference takes. All of it is on
// Go's heap except the traveltimes.
func ReferenceNeeds(p *Problem) Need {
	n := Need{Place: p.referencePlace(), Making: p.timesBytes() * int64(p.threads())}
	n.Tables = n.Place * int64(p.Positions.Len())
	n.AllTables = n.Tables
	n.Heap = 8 * int64(p.phases()) * int64(p.Bands()) * int64(p.NumTraces()) * int64(p.NT) // correlated traces
	return n
}
