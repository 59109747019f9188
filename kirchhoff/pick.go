package kirchhoff

import (
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// picked is one thread's room for the traces of a block that count in a box.
type picked struct {
	op    simd.Operator
	pairs *simd.Memory[simd.Pair]
	runs  *simd.Memory[simd.Run]
	cuts  *simd.Memory[simd.Cut]
	lanes *simd.Memory[int32]
	now   uint32 // number of the call
	seen  []seen // by place
}

// seen is the state of a place in one call.
type seen struct {
	call   uint32
	number int32 // in the box, −1 for none
	met    bool  // a trace with this receiver counts
}

func newPicked(m *memory) *picked {
	most := max(adjointCells.limit, forwardCells.limit, laneCells.limit)
	return &picked{
		pairs: alloc[simd.Pair](m, most), runs: alloc[simd.Run](m, most), cuts: alloc[simd.Cut](m, most),
		lanes: alloc[int32](m, simd.Lanes),
	}
}

// pick returns the operator of the traces of a block that count in a box by a pairing, nil for none. It
// is valid until the worker's next call. Traces are left out where the aperture, limits of
// angles or the end of the record leave nothing of them. A trace has one row per phase. The
// slots of the second phase follow those of all traces of the block in the first.
func (o *lists) pick(worker int, from *simd.Operator, b *blocking, block, box int, of pairing, phases int) *simd.Operator {
	w, t, at := o.kernel.cpu.picks[worker], o.tables, &o.kernel.cpu.plan.Boxes[box]
	limited := from.Aperture != [2]simd.Taper{}
	if t.cover.count(box) == 0 || limited && b.misses(block, at, &from.Aperture) {
		return nil
	}
	op := &w.op
	*op = *from
	t.selectBox(op, box)
	cones, zero := t.conesOf(box), zerosOf(op)
	if b.cells {
		op.Lanes = w.lanes.S
		for l := range op.Lanes {
			op.Lanes[l] = -1
		}
	}
	if w.now++; len(w.seen) < t.cover.all || w.now == 0 {
		w.now, w.seen = 1, make([]seen, t.cover.all)
	}
	nt := int32(op.NT)
	var runs, pairs, cuts, slot int32
	places := int32(t.cover.all / t.cover.branches)
	atSource, atReceiver, phase := int32(of.source)*places, int32(of.receiver)*places, int32(of.phase)*min(1, int32(phases-1))
	if phase > 0 {
		lo, hi := b.pairRange(block)
		slot = int32(hi - lo)
	}
	for _, run := range b.runs[b.blocks[block]:b.blocks[block+1]] {
		source := w.number(t, box, run.Source+atSource).number
		if source < 0 || op.Reach[source].Lo > op.Reach[source].Hi {
			slot += run.Pair1 - run.Pair0
			continue
		}
		s, first := op.Reach[source], pairs
		for _, p := range b.pairs[run.Pair0:run.Pair1] {
			slot++
			to := w.number(t, box, p.receiver+atReceiver)
			receiver := to.number
			if receiver < 0 {
				continue
			}
			r := op.Reach[receiver]
			if r.Lo > r.Hi || s.Lo+r.Lo > nt-2 || s.Hi+r.Hi < -1 {
				continue
			}
			cut, what, m := int32(-1), everything, [2]float64{}
			if limited {
				m = o.part.middle(run.Source, p.receiver)
				what = within(&op.Aperture, m, at)
			}
			if what == nothing || cones != nil && zero.cut(&cones[source], &cones[receiver]) {
				continue
			}
			if what == part {
				cut, cuts = cuts, cuts+1
				w.cuts.S[cut] = simd.Cut{float32(m[0] - float64(at.Lo[0])), float32(m[1] - float64(at.Lo[1]))}
			}
			hint := p.lane
			if b.cells {
				op.Lanes[p.lane] = receiver
			} else if !to.met {
				to.met, hint = true, 1
			}
			w.pairs.S[pairs] = simd.Pair{Receiver: receiver, Row: p.row*int32(phases) + phase, Slot: slot - 1, First: hint, Cut: cut}
			pairs++
		}
		if pairs > first {
			w.runs.S[runs] = simd.Run{Source: source, Pair0: first, Pair1: pairs}
			runs++
		}
	}
	op.Runs, op.Pairs, op.Cuts = w.runs.S[:runs], w.pairs.S[:pairs], w.cuts.S[:cuts]
	if runs == 0 {
		return nil
	}
	return op
}

// number looks a place up in a box.
func (w *picked) number(t *tables, box int, place int32) *seen {
	s := &w.seen[place]
	if s.call != w.now {
		*s = seen{call: w.now, number: int32(t.cover.find(box, place))}
	}
	return s
}
