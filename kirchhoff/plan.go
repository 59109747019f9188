package kirchhoff

import (
	"context"
	"math"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Plan holds the values that an engine derives from a problem before it has tables: the tiles of the
// image and the two filters.
type Plan struct {
	Problem Problem // without Velocity and Amplitude
	Tiling
	Scale []float32 // [ImageLen()], the image's share of the weights; nil for 1
	Peak  float64   // see dist.Pieced

	Convolve, Correlate *Filter // the convolution with the wavelet and its transpose

	pairings []pairing
	turned   [2]*Filter // Convolve and Correlate of the turned wavelet; nil where no waves turn
	bands    *bands
}

// makeOutline makes the parts of a plan that need memory.
func makeOutline(p *Problem, m *memory) *Plan {
	lo, hi := p.slab()
	l := &Plan{Problem: *p, Tiling: *newTiling(p.Grid, [2]int{lo, hi}, m), bands: newBands(p, m)}
	if p.Dynamic {
		l.Scale = onHeap[float32](m, p.ImageLen())
	}
	responses := responsesOf(p)
	l.Convolve, l.Correlate = responses[0].filters(p.NT)
	if l.pairings = p.pairings(); len(responses) > 1 {
		l.turned[0], l.turned[1] = responses[1].filters(p.NT)
	}
	l.Problem.Velocity, l.Problem.Amplitude = nil, nil
	return l
}

// fill computes what a plan knows of p.
func (l *Plan) fill(ctx context.Context, p *Problem) (err error) {
	factor := 2.0 // 2/v or, where cos θ = |p_s + p_r|/2, 1/v
	if !angular(p) {
		factor = 1
	}
	for i := range l.Scale {
		v := p.Slowest
		if !unequal(p) {
			v = p.Velocity[i]
		}
		l.Scale[i] = float32(factor / v)
	}
	l.Peak, err = peak(ctx, p, &l.Tiling)
	return err
}

// Gain bounds the factor by which correlation with the wavelet can increase the largest
// sample of a trace: the sum of the absolute values of the taps.
func (l *Plan) Gain() (most float64) {
	for _, f := range l.correlations() {
		sum := 0.0
		for _, v := range f.Taps {
			sum += math.Abs(float64(v))
		}
		most = max(most, slack*sum)
	}
	return most
}

// convolutions are the convolutions of all phases.
func (l *Plan) convolutions() []*Filter { return []*Filter{l.Convolve, l.turned[0]}[:l.phases()] }

// correlations are their transposes.
func (l *Plan) correlations() []*Filter { return []*Filter{l.Correlate, l.turned[1]}[:l.phases()] }

// phases is the number of versions of a trace, see Problem.phases.
func (l *Plan) phases() int {
	if l.turned[0] == nil {
		return 1
	}
	return 2
}

// NewPlan prepares p. It returns the errors of Validate and of given amplitudes.
func NewPlan(ctx context.Context, p *Problem) (*Plan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	l := makeOutline(p, &memory{})
	return l, l.fill(ctx, p)
}

// Of returns the plan for p, some of the traces or an image of the plan's problem. The peak
// stays the same.
func (l *Plan) Of(p *Problem) *Plan {
	q := *l
	q.Problem = *p
	q.Problem.Velocity, q.Problem.Amplitude = nil, nil
	return &q
}

// Outline returns a plan with the filters and with tiles that have no points. Memory
// sizes depend only on these. p must be valid.
func Outline(p *Problem) *Plan { return makeOutline(p, &memory{counting: true}) }

// Layout describes what a table holds for a place in each tile: 64 times, followed by
// Fields − 1 arrays of 64 float32 from which weights are made.
type Layout struct {
	Fields  int  // values of a point: 1 without weights, 3 in 2-D, 5 in 3-D and of unequal slownesses
	Words   int  // 32-bit words of a tile
	Limits  bool // weights depend on the dip or the opening angle, see Fade, or slownesses are unequal
	Unequal bool // vectors are of any length, see Vectors
	Bands   int  // of each trace, see the package comment; 1 without anti-aliasing
	// Aperture is the number of horizontal axes of a problem with an aperture, otherwise 0.
	// Tables do not depend on it.
	Aperture int
}

// Layout says what the rows of tables hold.
func (l *Plan) Layout() Layout {
	m, axes := l.Problem.mode(), 0
	if l.Problem.local() {
		axes = l.Problem.Grid.Dim() - 1
	}
	return Layout{Fields: m.Fields(), Words: m.Row(), Limits: m&simd.Limits != 0, Unequal: unequal(&l.Problem), Bands: l.bands.n, Aperture: axes}
}

// maker makes the tables of places one after the other, on one thread.
type maker struct {
	memory
	slow  slowness
	along [][]float64 // scratch for slopes; nil without bands

	// For the current place:
	at       points
	time     []float64   // [points of its window], s
	gradient [][]float64 // in along
	rays     rays        // in the stretch of tiles at hand, with limits of dip or opening angle
}

func (l *Plan) newMaker(p *Problem, counting bool) *maker {
	k := &maker{memory: memory{counting: counting}}
	n := p.Grid.Len()
	if windows := p.Windows(); windows != nil {
		n = 0
		for _, w := range windows {
			if w != (traveltime.Window{}) {
				n = max(n, w.Grid(p.Grid).Len())
			}
		}
	}
	take := func() []float64 { return alloc[float64](&k.memory, n).S }
	if p.Directed() {
		k.slow = newSlowness(p, take)
	}
	if l.bands.n > 1 {
		k.along, k.gradient = [][]float64{}, make([][]float64, p.Grid.Dim())
		for range p.Grid.Dim() {
			k.along = append(k.along, take())
		}
	}
	return k
}

// takeField takes an arrival of a place.
func (k *maker) takeField(l *Plan, w *weights, place int, window traveltime.Window, b traveltime.Branch) error {
	k.time, k.at = b.Time, newPoints(l.Problem.Grid, window)
	if k.along != nil {
		for a := range k.gradient {
			k.gradient[a] = k.along[a][:len(b.Time)]
		}
		fillGradient(k.gradient, b, window.Grid(l.Problem.Grid))
	}
	if w == nil {
		return nil
	}
	return w.fillFrom(&k.slow, place, window, b)
}
