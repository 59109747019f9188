package butterfly

import (
	"slices"
	"sync"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// memory is what applications of an operator take, one after the other. The first makes it, and it
// is freed with the operator.
type memory struct {
	sync.Mutex
	spectra  map[segmentOf]*spectra // of the segments of blocks that the parts of all windows need
	segments [][]int                // those of each block, ascending
	threads  []scratch
	all      *simd.Memory[float32] // what the others are slices of
}

// scratch is a thread's memory. What blocks of traces take lies in the same place as what windows take.
type scratch struct {
	turn    []float32 // of a block, see newTurn
	room    []float32 // of a window, see open
	sums    []float32 // of a batch of its parts
	beams   []float32 // of a part
	waves   []float32 // of the columns of a part with weights, see eachWaves
	weights []float32 // of the pairs of its places, or of its skeleton at the points of a patch
	values  []float32 // at the points of a patch
}

// sizes are the most elements of a scratch that are needed.
type sizes struct{ turn, room, sums, beams, waves, weights int }

// window is what a window takes.
func (n *sizes) window() int { return n.room + n.sums + n.beams + n.waves + n.weights + patchLen }

// cutter cuts slices off a longer one, one after the other.
func cutter(all []float32) func(n int) []float32 {
	return func(n int) (out []float32) {
		out, all = all[:n:n], all[n:]
		return out
	}
}

// take locks the memory of o, and makes it the first time.
func (m *memory) take(o *Operator) error {
	m.Lock()
	if m.all != nil {
		return nil
	}
	if err := m.make(o); err != nil {
		m.Unlock()
		return err
	}
	return nil
}

func (m *memory) make(o *Operator) (err error) {
	m.segments = make([][]int, len(o.blocks))
	total, n := 0, sizesOf(o)
	length := func(block int) int { return o.band.nf * o.rows(o.blocks[block]) * o.blocks[block].width }
	for _, list := range o.parts {
		for _, p := range list {
			if !slices.Contains(m.segments[p.number], p.segment) {
				m.segments[p.number] = append(m.segments[p.number], p.segment)
				total += 2 * length(p.number)
			}
		}
	}
	each := padded(max(n.turn, n.window()))
	if m.all, err = simd.Alloc[float32](total + o.threads*each); err != nil {
		return err
	}
	cut := cutter(m.all.S)
	m.spectra = map[segmentOf]*spectra{}
	for block, list := range m.segments {
		slices.Sort(list)
		for _, segment := range list {
			m.spectra[segmentOf{block, segment}] = &spectra{re: cut(length(block)), im: cut(length(block))}
		}
	}
	for range o.threads {
		m.threads = append(m.threads, n.of(cut(each)))
	}
	return nil
}

// free gives the memory back.
func (m *memory) free() {
	m.all.Free()
	*m = memory{}
}

// of is a scratch in a slice.
func (n *sizes) of(all []float32) scratch {
	cut := cutter(all)
	return scratch{turn: all, room: cut(n.room), sums: cut(n.sums), beams: cut(n.beams), waves: cut(n.waves),
		weights: cut(n.weights), values: cut(patchLen)}
}

// sizesOf are those for all windows and both directions.
func sizesOf(o *Operator) (n sizes) {
	nf, nt := o.band.nf, o.problem.NT
	for i := range o.windows {
		r, room := roomOf(o, i), 0
		seen := [2]map[int]bool{{}, {}}
		for _, p := range r.parts {
			waves := [2]int{2 * nf * len(p.s.delay), (2*nf + 1) * p.r.q * p.width} // transposed with their delays
			for c, s := range [2]*skeleton{p.s, p.r} {
				if !seen[c][p.of[c]] && s != p.own {
					seen[c][p.of[c]] = true
					room += waves[c] + weightsOf(s)
				}
			}
			room += 2 * nf * p.q
			n.beams = max(n.beams, 2*nf*o.rows(p.block)*p.r.q)
			if p.own != nil {
				n.waves = max(n.waves, p.own.q*p.width+2*max(wavesFloats, p.own.q*p.width))
				n.weights = max(n.weights, patchLen*p.own.q)
			}
			if p.weighed {
				n.weights = max(n.weights, weighing(o.rows(p.block), p.width)*p.r.q)
			}
			n.turn = max(n.turn, (nt+o.band.n)*p.width+(lanes+1)*nt)
		}
		n.room = max(n.room, room)
		for _, batch := range r.batches() {
			sums := 0
			for _, p := range batch {
				sums += p.rows * p.q
			}
			n.sums = max(n.sums, sums)
		}
	}
	return n
}

// weighing is what the weights of pairs take for each point of a skeleton: theirs twice, or beside them the
// rays of places.
func weighing(rows, width int) int { return rows*width + max(rows*width, known*(rows+width)) }

// weightsOf is the number of a skeleton's weights at the points of a patch.
func weightsOf(s *skeleton) int {
	if s.lone() {
		return 0
	}
	return patchLen * s.q
}
