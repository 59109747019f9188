package kirchhoff

import (
	"cmp"
	"fmt"
	"math"
	"runtime"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Problem describes one operator. The engines read it while they are made and
// keep no reference to its slices but Positions' trace lists; it must not
// change afterwards.
type Problem struct {
	Grid      grid.Grid         // image points
	Positions *survey.Positions // places, and the two places of each trace
	// Slab is the range [lo, hi) of indices along the grid's first axis that this
	// operator maps; zeros stand for the whole grid. Both are multiples of SlabPoints
	// or the grid's end; with lo = hi the operator maps no points. Times and weights
	// are the same as for the whole grid.
	Slab [2]int

	NT int     // samples per trace, at least 2
	DT float64 // s, sampling interval
	T0 float64 // s, time of the first sample

	Wavelet       survey.Wavelet
	WaveletFilter WaveletFilter

	Times traveltime.Method // its grid must equal Grid

	// DipLimit is nil, or where the taper starts and where it cuts, in degrees: of the
	// dip of the reflector that a pair of rays illuminates, which is the angle between
	// the sum of their slowness vectors and the vertical. Opening is the window of the
	// angle between the two vectors, as a limit or as a class of a gather.
	DipLimit []float64
	Opening  Window

	// Aperture is nil, or along each horizontal axis how far, in m, image points may lie
	// from a trace's midpoint, halfway between source and receiver; 0 stands for no limit.
	// The weight of a trace at x is multiplied along each axis k with a limit a by f(|x_k −
	// c_k|), c the midpoint: f(u) is 1 for u ≤ a − b, ½ + ½ cos(π (u − a + b)/b) up to a
	// and 0 from there on, b = min(ApertureTaper, a).
	Aperture      []float64
	ApertureTaper []float64 // m, along each horizontal axis
	// AllWindows are the windows of the places of the whole survey, see Windows; nil stands for
	// the windows of this problem's traces. Margin is how far beyond them, in m, rays may run:
	// traveltime.Options has the same.
	AllWindows []traveltime.Window
	Margin     float64

	// Antialias is nil, or the distance, in m, between neighbouring traces along each
	// horizontal axis. Traces are smoothed over the change of traveltime across it. It is
	// 0 along an axis without neighbours. See the package comment.
	Antialias []float64
	// Slowest is the least velocity in any direction, in m/s, or 0 where it is not known.
	// Antialias needs it, and weights of unequal slownesses do. On a card it says how finely
	// times can be held.
	Slowest float64

	Dynamic bool
	// AngleLimit is nil, or where the taper starts and where it cuts, in
	// degrees from the vertical (Dynamic only). Nil stands for (0, 1000), as in
	// the operator's definition; only angles beyond 100 degrees notice it, by
	// less than 3 per cent.
	AngleLimit []float64
	// Velocity is [ImageLen()], m/s, at the points of the slab; needed with Dynamic only, and
	// not for unequal slownesses.
	Velocity []float64
	// Amplitude returns given spreading factors b of one place, [Grid.Len()];
	// nil computes them from distances. It may be called concurrently, and its
	// result is only read.
	Amplitude func(place int) ([]float64, error)
	// Spreading says that the factors b are those of the rays of Times, not of distances, where
	// Amplitude is nil. traveltime.Spreads must be true of Times.
	Spreading traveltime.Spreading
	// TakeoffLimit is nil, or where the taper starts and where it cuts, in degrees from the
	// vertical, of rays as they leave source and receiver (Dynamic only). It also needs Times that
	// spread.
	TakeoffLimit []float64
	// MaxDistance holds the largest distances, in m, from a source and from a
	// receiver to an image point over the whole survey; zeros stand for those
	// of this problem's own places (see MaxDistance the function). A rank that
	// holds a part of a survey sets them, or the weights would depend on the
	// partition.
	MaxDistance [2]float64

	// Present is nil, or the share of places and boxes of tiles in which each branch has arrivals, as
	// SampleBranches finds it. Needs counts on it.
	Present []float64
	present *presence // what New finds; nil: everywhere

	Threads  int    // 0 means all processors
	Progress func() // called after each place's table, maybe from several goroutines at once; may be nil
}

// NumTraces is the number of traces.
func (p *Problem) NumTraces() int { return len(p.Positions.Source) }

// SlabPoints is the width along the first axis of the slabs that a grid of dim axes
// is cut into: eight tiles in 2-D, four in 3-D.
func SlabPoints(dim int) int {
	if dim == 2 {
		return 64
	}
	return 16
}

// slab is Slab, or the whole grid.
func (p *Problem) slab() (lo, hi int) {
	if p.Slab == [2]int{} {
		return 0, p.Grid.Shape[0]
	}
	return p.Slab[0], p.Slab[1]
}

// plane is the number of points that share an index of the first axis.
func (p *Problem) plane() int { return p.Grid.Len() / p.Grid.Shape[0] }

// ImageLen is the number of image points in the slab.
func (p *Problem) ImageLen() int {
	lo, hi := p.slab()
	return (hi - lo) * p.plane()
}

func (p *Problem) threads() int {
	if p.Threads > 0 {
		return p.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// Validate returns the first fault found in p, or nil.
func (p *Problem) Validate() error {
	if err := p.Grid.Validate(); err != nil {
		return fmt.Errorf("kirchhoff: image: %w", err)
	}
	if err := p.checkSlab(); err != nil {
		return err
	}
	dim, w := p.Grid.Dim(), p.Wavelet
	switch {
	case p.Positions == nil || p.NumTraces() == 0:
		return fmt.Errorf("kirchhoff: no traces")
	case p.Positions.Dim != dim:
		return fmt.Errorf("kirchhoff: positions have %d columns, the image has %d axes", p.Positions.Dim, dim)
	case p.Times == nil:
		return fmt.Errorf("kirchhoff: no traveltime method")
	case !p.Times.Grid().Equal(p.Grid):
		g := p.Times.Grid()
		return fmt.Errorf("kirchhoff: traveltimes (%s) are on %v from %v, the image on %v from %v",
			p.Times.Name(), g, g.Origin, p.Grid, p.Grid.Origin)
	case p.NT < 2:
		return fmt.Errorf("kirchhoff: traces have %s, need at least 2", readable.Count(p.NT, "sample"))
	case !(p.DT > 0) || math.IsInf(p.DT, 0):
		return fmt.Errorf("kirchhoff: dt is %g s, must be positive", p.DT)
	case math.IsNaN(p.T0) || math.IsInf(p.T0, 0):
		return fmt.Errorf("kirchhoff: t0 is %g s, must be finite", p.T0)
	case len(w.Samples) == 0 || w.Zero < 0 || w.Zero >= len(w.Samples):
		return fmt.Errorf("kirchhoff: wavelet of %d samples has its zero at sample %d", len(w.Samples), w.Zero)
	}
	if err := cmp.Or(p.checkAperture(), p.checkLimits(), p.checkAntialias(), checkUnequal(p)); err != nil {
		return err
	}
	if !p.Dynamic {
		return nil
	}
	if err := checkVelocity(p); err != nil {
		return err
	}
	if a := p.AngleLimit; a != nil && (len(a) != 2 || !(a[0] >= 0) || !(a[1] > 0) || a[0] > a[1]) {
		return fmt.Errorf("kirchhoff: angle limit is %v degrees, must be start and cut with 0 <= start <= cut", a)
	}
	return checkRays(p)
}

func checkVelocity(p *Problem) error {
	if unequal(p) {
		return nil
	}
	if n := p.ImageLen(); len(p.Velocity) != n {
		return fmt.Errorf("kirchhoff: dynamic weights need the velocity at the slab's %d points, got %d", n, len(p.Velocity))
	}
	for i, v := range p.Velocity {
		if !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("kirchhoff: velocity at point %d of the slab is %g m/s, must be positive", i, v)
		}
	}
	return nil
}

func (p *Problem) checkSlab() error {
	lo, hi := p.slab()
	n, width := p.Grid.Shape[0], SlabPoints(p.Grid.Dim())
	if lo < 0 || lo > hi || hi > n {
		return fmt.Errorf("kirchhoff: slab %v lies outside the image's %d points along x", p.Slab, n)
	}
	for _, x := range p.Slab {
		if x%width != 0 && x != n {
			return fmt.Errorf("kirchhoff: slab %v begins or ends at %d, neither a multiple of %d nor the image's end, %d", p.Slab, x, width, n)
		}
	}
	return nil
}

// MaxDistance returns the largest distances, in m, from the sources and from the
// receivers of p's traces to a point of g. Over the ranks of a run, take maxima.
func MaxDistance(g grid.Grid, p *survey.Positions) (source, receiver float64) {
	var most [2]float64
	for i, used := range [2][]int32{p.Source, p.Receiver} {
		for _, place := range listDistinct(p.Len(), used) {
			// No point is farther away than a corner, since distance is a convex function.
			sum := 0.0
			for a, x := range p.At(place) {
				d := max(math.Abs(x-g.Origin[a]), math.Abs(x-g.End(a)))
				sum += d * d
			}
			most[i] = max(most[i], math.Sqrt(sum))
		}
	}
	return most[0], most[1]
}

// usedPlaces lists, in ascending order, the places that some trace uses.
func (p *Problem) usedPlaces() []int {
	return listDistinct(p.Positions.Len(), p.Positions.Source, p.Positions.Receiver)
}

// listDistinct returns, in ascending order, the places below n that some list holds.
func listDistinct(n int, lists ...[]int32) (out []int) {
	used := make([]bool, n)
	for _, list := range lists {
		for _, place := range list {
			used[place] = true
		}
	}
	for place, u := range used {
		if u {
			out = append(out, place)
		}
	}
	return out
}
