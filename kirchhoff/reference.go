package kirchhoff

import (
	"context"
	"fmt"
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/workers"
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
	arrivals
	traces    int     // of the data
	rows      []int32 // row of the data of each trace; nil: its own number
	threads   int
	responses []response // by phase

	*correlated
}

// correlated is the memory of an adjoint, shared by all images.
type correlated struct {
	sync.Mutex           // held by an adjoint
	e          []float64 // [ntrace, phase, band, nt], correlated traces
}

// NewReference makes the engine in plain Go and float64, in loops that read like the
// package comment's formulas. Every other engine is tested against it. Its tables are
// kept and take 8 bytes per place and image point, 24 (2-D) or 40 (3-D, or of unequal
// slownesses) with Dynamic or limits of angles. NewReference returns the errors of Validate, of the traveltime method and of ctx. It
// also refuses work that it does not offer, see package engines.
func NewReference(ctx context.Context, p *Problem, w Work) (Engine, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := Refuse("reference", p, w); err != nil {
		return nil, err
	}
	all := &reference{arrivals: newArrivals(p), traces: p.NumTraces(), threads: p.threads(), responses: responsesOf(p), correlated: &correlated{}}
	opt := askRays(p, traveltime.Options{Threads: all.threads, Progress: p.Progress})
	if err := p.Arrivals(ctx, p.usedPlaces(), opt, all.sink(p)); err != nil {
		return nil, err
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
	text := "float64"
	if n := len(e.images); n > 1 {
		text += fmt.Sprintf("; %d images", n)
	}
	return text
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
	return arrays * 8 * int64(p.Grid.Len()) * int64(p.branches())
}

// Forward adds the demigrated traces of the image src to dst.
func (r *reference) Forward(ctx context.Context, dst, src device.Buf) error {
	data, image := r.slices("forward", dst, src)
	return workers.Each(ctx, r.threads, r.p.NumTraces(), func(_, trace int) error {
		nt := r.p.NT
		size := r.bands.n * nt
		all := make([]float64, len(r.responses)*size)
		for _, of := range r.pairings {
			u := all[of.phase*size:]
			for i, m := range image {
				if k, w, a := r.at(trace, r.first+i, of); k >= 0 {
					k += r.band(trace, i, of) * nt
					u[k] += a * m * (1 - w)
					u[k+1] += a * m * w
				}
			}
		}
		for phase, response := range r.responses {
			u := all[phase*size:]
			for band := 1; band < r.bands.n; band++ {
				r.bands.smooth(u[:nt], u[band*nt:(band+1)*nt], band)
			}
			response.convolve(r.row(data, trace), u[:nt])
		}
		return nil
	})
}

// Adjoint adds the migrated image of the traces src to dst.
func (r *reference) Adjoint(ctx context.Context, dst, src device.Buf) error {
	data, image := r.slices("adjoint", src, dst)
	r.Lock()
	defer r.Unlock()
	nt, ntrace, phases := r.p.NT, r.p.NumTraces(), len(r.responses)
	size := r.bands.n * nt
	if len(r.e) < ntrace*phases*size {
		r.e = make([]float64, ntrace*phases*size)
	}
	err := workers.Each(ctx, r.threads, ntrace, func(_, trace int) error {
		for phase, response := range r.responses {
			e := r.e[(trace*phases+phase)*size:][:size]
			clear(e)
			response.correlate(e[:nt], r.row(data, trace))
			for band := 1; band < r.bands.n; band++ {
				r.bands.smooth(e[band*nt:(band+1)*nt], e[:nt], band)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	const chunk = 512 // image points a worker takes at a time
	return workers.Each(ctx, r.threads, (len(image)+chunk-1)/chunk, func(_, c int) error {
		lo, hi := c*chunk, min((c+1)*chunk, len(image))
		for trace := range ntrace {
			for _, of := range r.pairings {
				e := r.e[(trace*phases+of.phase)*size:]
				for i := lo; i < hi; i++ {
					if k, w, a := r.at(trace, r.first+i, of); k >= 0 {
						k += r.band(trace, i, of) * nt
						image[i] += a * (e[k]*(1-w) + e[k+1]*w)
					}
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
