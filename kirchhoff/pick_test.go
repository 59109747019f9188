package kirchhoff

import "testing"

// TestPick: the list of a block and a box holds each trace that counts there once, with
// places of the box, marks the first trace of each receiver, and leaves out most of the
// others.
func TestPick(t *testing.T) {
	// Receivers are shared, so places have tables in boxes where some of their traces do not count.
	p := fixedSpread(t, []int{390, 20}, 12.5, [2]int{12, 1}, [2]int{20, 1}, 300, false)
	p.Aperture, p.ApertureTaper, p.Threads = []float64{300}, []float64{60}, 1
	e := newCPUEngine(t, p, Work{})
	o := kept(e)
	tapers := p.tapers()
	listed := 0
	for box := range e.plan.Boxes {
		want := map[int32]bool{} // traces that count in the box by the aperture
		for i, s := range p.Positions.Source {
			if within(&tapers, p.middle(s, p.Positions.Receiver[i]), &e.plan.Boxes[box]) != nothing {
				want[int32(i)] = true
			}
		}
		got := map[int32]bool{}
		for block := range o.backward.len() {
			op := o.pick(0, &o.op, o.backward, block, box, pairing{}, 1)
			if op == nil {
				continue
			}
			met := map[int32]bool{}
			for _, run := range op.Runs {
				for _, pair := range op.Pairs[run.Pair0:run.Pair1] {
					trace := o.trace[pair.Row]
					places := e.tables.cover.places[box]
					if got[trace] || places[run.Source] != p.Positions.Source[trace] || places[pair.Receiver] != p.Positions.Receiver[trace] {
						t.Fatalf("box %d: trace %d stands twice or with other places", box, trace)
					}
					if (pair.First == 1) == met[pair.Receiver] {
						t.Errorf("box %d: trace %d: first is %d, its receiver was met before: %v", box, trace, pair.First, met[pair.Receiver])
					}
					got[trace], met[pair.Receiver] = true, true
				}
			}
		}
		for trace := range got {
			if !want[trace] {
				t.Errorf("box %d: trace %d does not count there", box, trace)
			}
		}
		for trace := range want {
			s, r := p.Positions.Source[trace], p.Positions.Receiver[trace]
			i, j := e.tables.cover.find(box, s), e.tables.cover.find(box, r)
			if i < 0 || j < 0 {
				t.Fatalf("box %d: no tables for the places of trace %d", box, trace)
			}
			at := e.tables.boxes[box].places
			from := e.tables.reach.S[at+i].Lo + e.tables.reach.S[at+j].Lo
			if !got[trace] && int(from) <= p.NT-2 {
				t.Errorf("box %d: trace %d is missing", box, trace)
			}
		}
		listed += len(got)
	}
	if all := len(e.plan.Boxes) * p.NumTraces(); listed == 0 || 2*listed > all {
		t.Errorf("%d of %d pairs of a trace and a box are listed", listed, all)
	}
}
