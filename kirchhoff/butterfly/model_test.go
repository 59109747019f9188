package butterfly

import (
	"fmt"
	"testing"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// stages are those of an adjoint application, in the order in which they begin.
var stages = []string{"spectra", "waves", "beams", "last"}

// BenchmarkModel: what the stages of an adjoint application take of a processor, in s, beside what the model
// of costs says, and the ratio.
func BenchmarkModel(b *testing.B) {
	for _, g := range geometries() {
		p := g.problem(b)
		if factorise(b, p, 1e-2) == 0 {
			continue
		}
		o := p.Elsewhere.(*Operator)
		sums, model := measured(b, o), modelOf(o)
		for i, stage := range stages {
			b.Run(fmt.Sprintf("%s/%s", g.name, stage), func(b *testing.B) {
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(sums[i], "s")
				b.ReportMetric(1e-9*model[i], "s-model")
				b.ReportMetric(1e9*sums[i]/model[i], "ratio")
			})
		}
	}
}

// measured are the times of the stages, the least of three applications.
func measured(b *testing.B, o *Operator) (least [4]float64) {
	l, err := kirchhoff.NewPlan(b.Context(), &o.problem)
	if err != nil {
		b.Fatal(err)
	}
	if err := o.memory.take(o); err != nil {
		b.Fatal(err)
	}
	defer o.memory.Unlock()
	trace, with := random(1, o.problem.NT), &o.memory.threads[0]
	for n := range 3 {
		var took [4]float64
		now := processor()
		lap := func(stage int) {
			before := now
			now = processor()
			took[stage] += now - before
		}
		for n, segments := range o.memory.segments {
			t := o.newTurn(n, with)
			for s := range o.rows(t.block) {
				t.load(s, func(_ int, row []float32) { copy(row, trace) })
				for _, segment := range segments {
					t.into(s, segment, o.memory.spectra[segmentOf{n, segment}])
				}
			}
		}
		lap(0)
		to := o.newLanding(make([]float64, len(l.Points)), 0)
		for i := range o.windows {
			r := o.open(i, false, with)
			lap(1)
			for _, batch := range r.batches() {
				r.hold(batch)
				for _, p := range batch {
					r.beam(p, o.memory.spectra[segmentOf{p.number, p.segment}])
				}
				lap(2)
				if err := r.image(batch, to); err != nil {
					b.Fatal(err)
				}
				lap(3)
			}
		}
		for i, t := range took {
			if n == 0 || t < least[i] {
				least[i] = t
			}
		}
	}
	return least
}

// modelOf is what the model of costs says of the stages, in ns.
func modelOf(o *Operator) (sums [4]float64) {
	for n, segments := range o.memory.segments {
		sums[0] += float64(len(segments)) * o.band.transforms(o.rows(o.blocks[n]), o.blocks[n].width)
	}
	for i, w := range o.windows {
		seen := map[*skeleton]bool{}
		for _, p := range roomOf(o, i).parts {
			for _, s := range []*skeleton{p.s, p.r} {
				if !seen[s] {
					seen[s] = true
					sums[1] += wave * float64(o.band.nf*len(s.delay))
					if !s.lone() {
						sums[3] += expansion * float64(w.len()*s.q)
					}
				}
			}
			final := last(w.len(), p.s.rank, p.r.q, o.band.taps)
			sums[2] += o.band.cost(p.part, w, p.s, p.r, o.rows(p.block), p.width, p.own != nil, p.weighed) - final
			sums[3] += final
		}
	}
	return sums
}
