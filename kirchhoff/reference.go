package kirchhoff

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// referenceEngine holds the operator of each image in plain Go and float64. Its buffers
// are float64 on the host: the image [ImageLen()], the data [ntrace, nt].
type referenceEngine struct {
	p      Problem
	images []*reference
}

// reference is the operator of one image.
type reference struct {
	p       Problem
	traces  int     // of the data
	rows    []int32 // row of the data of each trace; nil: its own number
	first   int     // points of the grid before the slab
	threads int
	h       []float64

	time [][]float64 // by place, [Grid.Len()], s; nil where no trace uses the place
	slow []slowness  // by place; with weights only

	dip, opening simd.Window
	unequal      bool

	bands *bands
	slope [][]float32 // by place, [tile]; with several bands
	tile  []int32     // [ImageLen()]; with several bands

	*correlated
}

// correlated is the memory of an adjoint, shared by all images.
type correlated struct {
	sync.Mutex           // held by an adjoint
	e          []float64 // [ntrace, band, nt], correlated traces
}

// NewReference makes the engine in plain Go and float64, in loops that read like the
// package comment's formulas. Every other engine is tested against it. Its tables are
// kept and take 8 bytes per place and image point, 24 (2-D) or 40 (3-D, or of unequal
// slownesses) with Dynamic or limits of angles. Its errors are those of Validate, of the traveltime method and of ctx. It
// also refuses work that it does not offer, see package engines.
func NewReference(ctx context.Context, p *Problem, w Work) (Engine, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := Refuse("reference", p, w); err != nil {
		return nil, err
	}
	lo, _ := p.slab()
	all := &reference{p: *p, traces: p.NumTraces(), first: lo * p.plane(), threads: p.threads(), h: p.Taps(), dip: p.Dip().kernel(), opening: p.Opening.kernel(), unequal: unequal(p), correlated: &correlated{}}
	all.time = make([][]float64, p.Positions.Len())
	all.slow = make([]slowness, p.Positions.Len())
	var ends *weights
	if p.Directed() {
		ends = newWeights(p)
		all.p.Velocity = slices.Clone(p.Velocity)
	}
	take := func() []float64 { return make([]float64, p.Grid.Len()) }
	tiles := all.makeBands(p)
	sink := func(place int, f traveltime.Field) error {
		all.time[place] = slices.Clone(f.Time)
		if tiles != nil {
			var along [][]float64
			for range p.Grid.Dim() {
				along = append(along, take())
			}
			traveltime.CentralGradient(along, f.Time, p.Grid)
			for tile := range tiles.Tiles {
				all.slope[place] = append(all.slope[place], all.bands.slope(along, tiles, tile, newPoints(p.Grid, f.Window)))
			}
		}
		if ends == nil {
			return nil
		}
		all.slow[place] = newSlowness(p, take)
		err := ends.of(&all.slow[place], place, f)
		all.slow[place].ray = [3][]float64{}
		return err
	}
	opt := askRays(p, traveltime.Options{Threads: all.threads, Progress: p.Progress})
	if err := p.Times.Solve(ctx, p.Positions, p.usedPlaces(), opt, sink); err != nil {
		return nil, fmt.Errorf("kirchhoff: traveltimes: %w", err)
	}
	e := &referenceEngine{p: all.p}
	for _, c := range w.images() {
		r := *all
		if !c.All {
			r.p.Positions, r.rows = p.Positions.Of(c.Traces), c.Traces
		}
		if c.Opening != (Window{}) {
			r.p.Opening = c.Opening
			r.opening = c.Opening.kernel()
		}
		e.images = append(e.images, &r)
	}
	return e, nil
}

// makeBands prepares anti-aliasing, if p has any, and returns the tiles that it works on.
func (r *reference) makeBands(p *Problem) *Tiling {
	var m memory
	if r.bands = newBands(p, &m); r.bands.n == 1 {
		return nil
	}
	lo, hi := p.slab()
	t := newTiling(p.Grid, [2]int{lo, hi}, &m)
	r.slope, r.tile = make([][]float32, p.Positions.Len()), make([]int32, p.ImageLen())
	for tile := range t.Tiles {
		for _, n := range t.slots(tile) {
			if n >= 0 {
				r.tile[n] = int32(tile)
			}
		}
	}
	return t
}

// band returns the band in which a trace meets point i of the slab.
func (r *reference) band(trace, i int) int {
	if r.bands.n == 1 {
		return 0
	}
	s, rec := r.p.Positions.Source[trace], r.p.Positions.Receiver[trace]
	return simd.Band(r.bands.n, r.slope[s][r.tile[i]], r.slope[rec][r.tile[i]])
}

// smooth adds trace x, smoothed by a band's triangle, to y. It is its own transpose.
func (r *reference) smooth(y, x []float64, band int) {
	f := r.bands.triangle[band]
	for n := range y {
		for j, tap := range f.Taps {
			if at := n + j + f.First; at >= 0 && at < len(x) {
				y[n] += float64(tap) * x[at]
			}
		}
	}
}

func (e *referenceEngine) Name() string         { return "reference" }
func (e *referenceEngine) Type() device.Type    { return device.F64 }
func (e *referenceEngine) Groups() dist.Grouped { return nil }
func (e *referenceEngine) Intact() error        { return nil } // nothing is known of these tables
func (e *referenceEngine) Close()               {}             // the tables are the garbage collector's business

func (e *referenceEngine) Kernels() (out []dist.Kernel) {
	for _, r := range e.images {
		out = append(out, r)
	}
	return out
}

func (e *referenceEngine) Info() string {
	if n := len(e.images); n > 1 {
		return fmt.Sprintf("float64; %d images", n)
	}
	return "float64"
}

func (e *referenceEngine) TableBytes() int64 {
	return int64(len(e.p.usedPlaces())) * e.p.referencePlace()
}

// referencePlace is the memory of the reference engine's table of one place: times,
// amplitudes, and angles or unit vectors.
func (p *Problem) referencePlace() int64 {
	arrays := int64(1)
	switch {
	case !p.Directed():
	case angular(p):
		arrays = 3
	default:
		arrays = 5
	}
	return arrays * 8 * int64(p.Grid.Len())
}

// Forward adds the demigrated traces of the image src to dst.
func (r *reference) Forward(ctx context.Context, dst, src device.Buf) error {
	data, image := r.slices("forward", dst, src)
	return parallel(ctx, r.threads, r.p.NumTraces(), func(_, trace int) error {
		u := make([]float64, r.bands.n*r.p.NT)
		for i, m := range image {
			if k, w, a := r.at(trace, r.first+i); k >= 0 {
				k += r.band(trace, i) * r.p.NT
				u[k] += a * m * (1 - w)
				u[k+1] += a * m * w
			}
		}
		nt := r.p.NT
		for band := 1; band < r.bands.n; band++ {
			r.smooth(u[:nt], u[band*nt:(band+1)*nt], band)
		}
		convolve(r.row(data, trace), u[:nt], r.h, r.p.Wavelet.Zero)
		return nil
	})
}

// Adjoint adds the migrated image of the traces src to dst.
func (r *reference) Adjoint(ctx context.Context, dst, src device.Buf) error {
	data, image := r.slices("adjoint", src, dst)
	r.Lock()
	defer r.Unlock()
	nt, ntrace := r.p.NT, r.p.NumTraces()
	size := r.bands.n * nt
	if len(r.e) < ntrace*size {
		r.e = make([]float64, ntrace*size)
	}
	err := parallel(ctx, r.threads, ntrace, func(_, trace int) error {
		e := r.e[trace*size : (trace+1)*size]
		clear(e)
		correlate(e[:nt], r.row(data, trace), r.h, r.p.Wavelet.Zero)
		for band := 1; band < r.bands.n; band++ {
			r.smooth(e[band*nt:(band+1)*nt], e[:nt], band)
		}
		return nil
	})
	if err != nil {
		return err
	}
	const chunk = 512 // image points a worker takes at a time
	return parallel(ctx, r.threads, (len(image)+chunk-1)/chunk, func(_, c int) error {
		lo, hi := c*chunk, min((c+1)*chunk, len(image))
		for trace := range ntrace {
			e := r.e[trace*size : (trace+1)*size]
			for i := lo; i < hi; i++ {
				if k, w, a := r.at(trace, r.first+i); k >= 0 {
					k += r.band(trace, i) * nt
					image[i] += a * (e[k]*(1-w) + e[k+1]*w)
				}
			}
		}
		return ctx.Err()
	})
}

// row is a trace of the data.
func (r *reference) row(data []float64, trace int) []float64 {
	if r.rows != nil {
		trace = int(r.rows[trace])
	}
	return data[trace*r.p.NT : (trace+1)*r.p.NT]
}

// at returns where grid point i falls on a trace: between samples k and k+1, at a
// fraction w, with weight a. k is −1 if the point makes no contribution.
func (r *reference) at(trace, i int) (k int, w, a float64) {
	s, rec := r.p.Positions.Source[trace], r.p.Positions.Receiver[trace]
	q := (r.time[s][i] + r.time[rec][i] - r.p.T0) / r.p.DT
	if !(q > -1 && q < float64(r.p.NT-1)) {
		return -1, 0, 0
	}
	k = int(q)
	w = q - float64(k)
	if a = r.p.taper(int(s), int(rec), i); a == 0 || !r.p.Directed() {
		if a == 0 {
			k = -1
		}
		return k, w, a
	}
	a *= r.slow[s].amp[i] * r.slow[rec].amp[i]
	if a == 0 {
		return -1, 0, 0
	}
	if r.p.limited() {
		dip, opening := r.angles(int(s), int(rec), i)
		a *= at(r.dip, dip) * at(r.opening, opening)
	}
	if !r.p.Dynamic {
		return k, w, a
	}
	if r.unequal {
		return k, w, a * sum(r.slow[s].direction(i), r.slow[rec].direction(i)) / r.p.Slowest
	}
	return k, w, a * 2 * r.cosine(int(s), int(rec), i) / r.p.Velocity[i-r.first]
}

// cosine returns cos θ, where θ is half the angle between the slowness vectors.
func (r *reference) cosine(s, rec, i int) float64 {
	if r.p.Grid.Dim() == 2 {
		return math.Cos((r.slow[s].angle[i] - r.slow[rec].angle[i]) / 2)
	}
	return sum(r.slow[s].direction(i), r.slow[rec].direction(i)) / 2
}

// sum is |a + b|.
func sum(a, b [3]float64) float64 {
	x, y, z := a[0]+b[0], a[1]+b[1], a[2]+b[2]
	return math.Sqrt(x*x + y*y + z*z)
}

// angles returns the dip and the opening angle of a pair of rays, in radians.
func (r *reference) angles(s, rec, i int) (dip, opening float64) {
	if r.slow[s].angle != nil {
		return angles2(r.slow[s].angle[i], r.slow[rec].angle[i])
	}
	return angles3(r.slow[s].direction(i), r.slow[rec].direction(i))
}

// direction is the vector at point i, where tables hold vectors.
func (s *slowness) direction(i int) [3]float64 {
	return [3]float64{s.unit[0][i], s.unit[1][i], s.unit[2][i]}
}

// slices returns the elements of a data and an image buffer. It panics if a size is wrong.
func (r *reference) slices(op string, data, image device.Buf) (d, m []float64) {
	d, m = device.Slice[float64](data), device.Slice[float64](image)
	checkSizes(op, &r.p, r.traces, len(d), len(m))
	return d, m
}

func checkSizes(op string, p *Problem, traces, data, image int) {
	if data != traces*p.NT || image != p.ImageLen() {
		panic(fmt.Sprintf("kirchhoff: %s with %d samples and %d image points, want %d and %d",
			op, data, image, traces*p.NT, p.ImageLen()))
	}
}
