package butterfly

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// stages are those of an application.
var stages = []string{"spectra", "waves", "beams", "last"}

// BenchmarkModel: what the stages take of a processor, in s, the mean of both directions, beside what the
// model of costs says, and the ratio.
func BenchmarkModel(b *testing.B) {
	for _, g := range geometries() {
		for _, tolerance := range []float64{1e-2, 1e-3} {
			b.Run(fmt.Sprintf("%s/tolerance=%g", g.name, tolerance), func(b *testing.B) {
				p := g.problem(b)
				if factorise(b, p, tolerance) == 0 {
					b.Skip("nothing is factorised")
				}
				o := p.Elsewhere.(*Operator)
				took, model := tookOf(b, o), modelOf(o, o.costs)
				for i, stage := range stages {
					b.Run(stage, func(b *testing.B) {
						mean := 0.5 * (took[0][i] + took[1][i])
						b.ReportMetric(0, "ns/op")
						b.ReportMetric(took[0][i], "s-adjoint")
						b.ReportMetric(took[1][i], "s-forward")
						b.ReportMetric(1e-9*model[i], "s-model")
						b.ReportMetric(1e9*mean/model[i], "ratio")
					})
				}
			})
		}
	}
}

// watch adds up the processor's time of stages.
type watch struct {
	now  float64
	took [4]float64
}

func (w *watch) lap(stage int) {
	before := w.now
	w.now = processor()
	w.took[stage] += w.now - before
}

// tookOf are the times of the stages of the adjoint and of the forward, the least of three applications.
func tookOf(b testing.TB, o *Operator) (least [2][4]float64) {
	l, err := kirchhoff.NewPlan(b.Context(), &o.problem)
	if err != nil {
		b.Fatal(err)
	}
	if err := o.memory.take(o); err != nil {
		b.Fatal(err)
	}
	defer o.memory.Unlock()
	sums, image := make([]float64, len(l.Points)), random(1, len(l.Points))
	for n := range 3 {
		for way, apply := range []func(w *watch) error{
			func(w *watch) error { return o.watchAdjoint(w, sums) },
			func(w *watch) error { return o.watchForward(w, image) },
		} {
			w := &watch{now: processor()}
			if err := apply(w); err != nil {
				b.Fatal(err)
			}
			for i, t := range w.took {
				if n == 0 || t < least[way][i] {
					least[way][i] = t
				}
			}
		}
	}
	return least
}

// eachTurn calls f for the traces of each row of a block.
func (o *Operator) eachTurn(f func(t *turn, row, number int)) {
	for n := range o.memory.segments {
		if len(o.memory.segments[n]) > 0 {
			t := o.newTurn(n, &o.memory.threads[0])
			for s := range o.rows(t.block) {
				f(t, s, n)
			}
		}
	}
}

func (o *Operator) watchAdjoint(w *watch, sums []float64) error {
	trace := random(1, o.problem.NT)
	o.eachTurn(func(t *turn, s, n int) {
		t.load(s, func(_ int, row []float32) { copy(row, trace) })
		for _, segment := range o.memory.segments[n] {
			t.into(s, segment, o.memory.spectra[segmentOf{n, segment}])
		}
	})
	w.lap(0)
	to := o.newLanding(sums, 0)
	for i := range o.windows {
		r := o.open(i, false, &o.memory.threads[0])
		w.lap(1)
		for _, batch := range r.batches() {
			r.hold(batch)
			for _, p := range batch {
				r.beam(p, o.memory.spectra[segmentOf{p.number, p.segment}])
			}
			w.lap(2)
			if err := r.image(batch, to); err != nil {
				return err
			}
			w.lap(3)
		}
	}
	return nil
}

func (o *Operator) watchForward(w *watch, image []float32) error {
	with := &o.memory.threads[0]
	for _, e := range o.memory.spectra {
		e.stale = true
	}
	for i := range o.windows {
		r := o.open(i, true, with)
		w.lap(1)
		for _, batch := range r.batches() {
			r.gather(batch, image)
		}
		w.lap(3)
		for _, p := range r.parts {
			r.spread(p, o.memory.spectra[segmentOf{p.number, p.segment}], with)
		}
		w.lap(2)
	}
	trace := random(1, o.problem.NT)
	o.eachTurn(func(t *turn, s, n int) {
		clear(t.lines)
		for _, segment := range o.memory.segments[n] {
			t.back(s, segment, o.memory.spectra[segmentOf{n, segment}])
		}
		t.unload(s, func(_ int, u []float32) { copy(trace, u) })
	})
	w.lap(0)
	return nil
}

// modelOf is what costs say of the stages, in ns.
func modelOf(o *Operator, c costs) (sums [4]float64) {
	c.making, c.makingWeighed = 0, 0
	for n, segments := range o.memory.segments {
		sums[0] += float64(len(segments)) * c.transforms(o.band, o.rows(o.blocks[n]), o.blocks[n].width)
	}
	for i, w := range o.windows {
		seen := map[*skeleton]bool{}
		for _, p := range roomOf(o, i).parts {
			for _, s := range []*skeleton{p.s, p.r} {
				if !seen[s] && s != p.own {
					seen[s] = true
					sums[1] += c.wave * float64(o.band.nf*len(s.delay))
					if !s.lone() {
						sums[3] += c.expansion * float64(w.len()*s.q)
					}
				}
			}
			final := c.last(w.len(), p.s.rank, p.r.q, o.band.taps)
			if p.own != nil {
				final += c.expansion * float64(w.len()*p.r.q)
			}
			sums[2] += c.part(o.band, p.part, w, p.s, p.r, o.rows(p.block), p.width, p.own != nil) - final
			sums[3] += final
		}
	}
	return sums
}

// TestUse: more applications pay for more skeletons, and instruction sets choose differently.
func TestUse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	g := geometry{"nodes", []int{32, 32, 32}, 400, lattice(r, 20, 20, 12, 12, 25, 25), lattice(r, 0, 100, 3, 1, 150, 0), nil, false}
	p := g.problem(t)
	taken := func(use Use) (n int64) {
		o, err := NewPart(t.Context(), p, NewClusters(p, 1e-2, use), 1e-2, alone)
		if err != nil {
			t.Fatal(err)
		}
		if o != nil {
			n = o.Triples()
			if saving := o.Saving(); saving.Direct < gain*saving.Factorised {
				t.Errorf("%+v: parts cost %g ns by the model, their direct sums of the same accuracy %g", use, saving.Factorised, saving.Direct)
			}
		}
		return n
	}
	once, often := taken(Use{"avx512", 1}), taken(Use{"avx512", 40})
	if !(once < often) {
		t.Errorf("%d pairs for one application, %d for 40", once, often)
	}
	if usual := taken(Use{Kernels: "avx512"}); usual < once || usual > often {
		t.Errorf("%d pairs for one application, %d if it is not said, %d for 40", once, usual, often)
	}
	one, other := Use{"avx512", 1}.costs(), Use{"avx2", 1}.costs()
	if ten := (Use{"avx512", 10}).costs(); one == other || math.Abs(one.making-10*ten.making) > 1e-6*one.making {
		t.Errorf("costs %+v and %+v", one, other)
	}
}
