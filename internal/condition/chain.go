package condition

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// Gather is the traces of one shot.
type Gather struct {
	Data           []float32 // [len(Traces), NT], changed in place
	Traces         []int32   // their numbers in the survey, ascending
	Offset         []float64 // m, of each trace: receiver minus source along x in 2-D, the distance in 3-D
	*survey.Survey           // the geometry; Data is nil
}

// trace returns the samples of the i-th trace.
func (g *Gather) trace(i int) []float32 { return g.Data[i*g.NT : (i+1)*g.NT] }

// faint reports of each trace whether it is as good as dead beside the others of the shot
// (survey.Levels): scaled to them it would be noise of the same strength.
func (g *Gather) faint() []bool {
	levels, out := survey.Levels{}, make([]bool, len(g.Traces))
	for i := range g.Traces {
		if d, ok := survey.Decade(g.trace(i)); ok {
			levels[d]++
		}
	}
	least := levels.Least()
	for i := range g.Traces {
		d, ok := survey.Decade(g.trace(i))
		out[i] = !ok || d < least
	}
	return out
}

// step changes a gather in place. Several gathers are changed at once.
type step interface {
	apply(g *Gather) error
}

// filter is a step that is a convolution, the same for all traces or nearly so.
type filter interface {
	filter(w *survey.Wavelet) error
}

// learner is a step that looks at all gathers before it changes any. Its measures of each
// shot are added up in the order of the shots.
type learner interface {
	measure(g *Gather) []float64
	learn(ctx context.Context, sum []float64) error
}

// mover is a step that changes where sources and receivers are.
type mover interface {
	Move(s *survey.Survey)
}

// Chain is a list of steps, ready for the traces of one survey.
type Chain struct {
	Steps []string // as [New] reads them, without files beside them
	Files []string // that the steps were read from

	steps  []step
	survey *survey.Survey
	shots  [][]int32 // the traces of each, ascending
}

// New reads steps such as "bandpass=5,10,60,80" for a survey, whose Data is not looked at. first computes
// the first arrivals for steps that go by them; nil: such steps are an error.
func New(texts []string, s *survey.Survey, first Arrivals) (*Chain, error) {
	header := *s
	header.Data = nil
	c := &Chain{survey: &header, shots: shotsOf(s)}
	for _, text := range texts {
		name, values, _ := strings.Cut(text, "=")
		i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
		if i < 0 {
			return nil, fmt.Errorf("step %q: unknown, want one of %s", text, strings.Join(Names(), ", "))
		}
		st, err := kinds[i].parse(values, c.survey)
		if err != nil {
			return nil, fmt.Errorf("step %q: %w; want %s", text, err, kinds[i].usage)
		}
		if m, ok := st.(*arrival); ok {
			if err := m.prepare(first); err != nil {
				return nil, fmt.Errorf("step %q: %w", text, err)
			}
		}
		if t, ok := st.(interface{ text() string }); ok {
			text = t.text()
		}
		if f, ok := st.(interface{ file() string }); ok && f.file() != "" {
			c.Files = append(c.Files, f.file())
		}
		if m, ok := st.(mover); ok { // steps after it see the places where they are then
			m.Move(c.survey)
		}
		c.Steps, c.steps = append(c.Steps, text), append(c.steps, st)
	}
	return c, nil
}

// shotsOf lists the traces of each source that has any.
func shotsOf(s *survey.Survey) [][]int32 {
	shots := make([][]int32, s.NumSources())
	for i := range s.NumTraces() {
		source, _ := s.Pair(i)
		shots[source] = append(shots[source], int32(i))
	}
	return slices.DeleteFunc(shots, func(traces []int32) bool { return len(traces) == 0 })
}

// Survey is the survey without its traces as the steps leave it, except for its wavelet.
func (c *Chain) Survey() *survey.Survey {
	s := *c.survey
	return &s
}

// Passes is how often Learn and Run together read the survey.
func (c *Chain) Passes() int {
	n := 1
	for _, st := range c.steps {
		if _, ok := st.(learner); ok {
			n++
		}
	}
	return n
}

// Order lists all traces in the order in which shots are read, and where each shot begins there and the
// last one ends.
func (c *Chain) Order() (traces []int32, cuts []int) {
	cuts = []int{0}
	for _, shot := range c.shots {
		traces = append(traces, shot...)
		cuts = append(cuts, len(traces))
	}
	return traces, cuts
}

// Shots is the number of gathers.
func (c *Chain) Shots() int { return len(c.shots) }

// Learn lets the steps that need all traces look at them. Read fills dst, [len(traces), NT], with
// the listed traces; several goroutines call it at once. Done is called after every shot.
func (c *Chain) Learn(ctx context.Context, read func(dst []float32, traces []int32) error, done func()) error {
	for i, st := range c.steps {
		l, ok := st.(learner)
		if !ok {
			continue
		}
		measures := make([][]float64, len(c.shots))
		if err := c.pass(ctx, i, read, func(shot int, g *Gather) error {
			measures[shot] = l.measure(g)
			return nil
		}, done); err != nil {
			return err
		}
		sum := slices.Clone(measures[0])
		for _, m := range measures[1:] {
			for k, v := range m {
				sum[k] += v
			}
		}
		if err := l.learn(ctx, sum); err != nil {
			return fmt.Errorf("step %q: %w", c.Steps[i], err)
		}
	}
	return nil
}

// Run reads every shot, applies the steps and hands it to write, as Learn reads. Learn has been
// called.
func (c *Chain) Run(ctx context.Context, read, write func(data []float32, traces []int32) error, done func()) error {
	return c.pass(ctx, len(c.steps), read, func(_ int, g *Gather) error { return write(g.Data, g.Traces) }, done)
}

// pass reads every shot, applies the first steps and hands it to take.
func (c *Chain) pass(ctx context.Context, steps int, read func([]float32, []int32) error, take func(shot int, g *Gather) error, done func()) error {
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for shot := range c.shots {
		workers.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			g := c.gather(shot)
			if err := read(g.Data, g.Traces); err != nil {
				return err
			}
			for i, st := range c.steps[:steps] {
				if err := st.apply(g); err != nil {
					return fmt.Errorf("step %q: %w", c.Steps[i], err)
				}
			}
			err := take(shot, g)
			done()
			return err
		})
	}
	return workers.Wait()
}

func (c *Chain) gather(shot int) *Gather {
	g := &Gather{Traces: c.shots[shot], Survey: c.survey}
	g.Data = make([]float32, len(g.Traces)*g.NT)
	for _, i := range g.Traces {
		s, r := g.Pair(int(i))
		from, to := g.Source(s), g.Receiver(r)
		h := to[0] - from[0]
		if g.Dim == 3 {
			h = math.Hypot(h, to[1]-from[1])
		}
		g.Offset = append(g.Offset, h)
	}
	return g
}

// Wavelet applies the steps that are convolutions to a wavelet, after Learn. Approximate names
// those whose operator differs from trace to trace, so that the wavelet gets their mean.
func (c *Chain) Wavelet(w survey.Wavelet) (_ survey.Wavelet, changed bool, approximate []string, err error) {
	w.Samples = slices.Clone(w.Samples)
	for i, st := range c.steps {
		f, ok := st.(filter)
		if !ok {
			continue
		}
		changed = true
		if err := f.filter(&w); err != nil {
			return w, true, nil, fmt.Errorf("step %q: %w", c.Steps[i], err)
		}
		if d, ok := st.(*decon); ok && d.design != "survey" {
			approximate = append(approximate, c.Steps[i])
		}
	}
	if changed { // filters lengthen it by all that they may ring
		shorten(&w, weakest*floats.Dot(w.Samples, w.Samples))
	}
	return w, changed, approximate, nil
}
