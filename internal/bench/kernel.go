// Package bench measures kernels and traveltimes on this machine, and checks the correctness of
// each timed result next to its figure. docs/measuring.md explains the columns.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/synth"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	kirchhoffgpu "github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// KernelSize describes a problem: sources and receivers along the top of a constant
// velocity of 2000 m/s sampled at 10 m unless Spacing says otherwise, dt 4 ms, an 81-sample
// Ricker wavelet of 20 Hz. In 3-D both lie on square grids.
type KernelSize struct {
	Shape              []int
	Spacing            float64 // m, of the grid; 0: 10
	Sources, Receivers int
	Samples            int
	Wavelet            int  // samples of the wavelet; 0: 81
	Streamer           bool // receivers move with the source: 12.5 m apart, one list of traces
	Dynamic            bool
	Engine             string // "cpu", "reference", or with Card "cuda" or "hip"
	Card               *gpu.Device
	Threads            int
	Runs               int
	// Exact also measures sums that do not depend on the partition, in turn with the
	// others. The engine reference has none.
	Exact bool
}

// KernelResult holds the figures that `lsm bench kernel` prints. Times are medians in nanoseconds
// per (source, receiver, image point), convolution included.
type KernelResult struct {
	Engine     string
	Triples    int64
	Visits     int64 // see kirchhoff.Problem
	DotError   float64
	Verdict    string // "OK" or "FAILED", of the dot test
	TableBytes int64
	BytesPer   float64 // bytes of tables over triples

	Forward, Adjoint float64
	GFlops           [2]float64 // by direction: dist.Forward, dist.Backward, as all pairs below

	// Time with sums that do not depend on the partition, if requested, and its ratio to
	// the time with ordinary sums: the median over pairs of runs, one after the other.
	Exact, ExactRatio [2]float64
	// On a card: its limits, and the shares of them that are reached. CopyShare counts
	// tables, image and data crossing the card's memory once. IssueShare counts the kernel's
	// instructions as kirchhoff/gpu.Instructions has them, without convolution. It is zero where
	// they were not counted: on AMD's cards.
	Card                  *CardLimits
	CopyShare, IssueShare [2]float64
}

// Flops are the floating-point operations of one triple: time sum, weight,
// interpolation and accumulation, six either way; amplitudes add four in 2-D
// (two products and a sum for cos θ, one product), ten in 3-D.
func Flops(dim int, dynamic bool) float64 {
	switch {
	case !dynamic:
		return 6
	case dim == 2:
		return 10
	}
	return 16
}

// Kernel measures one size.
func Kernel(ctx context.Context, size KernelSize) (*KernelResult, error) {
	p, err := size.problem()
	if err != nil {
		return nil, err
	}
	e, info, err := size.engine(ctx, p)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	ops, err := size.operators(e, p)
	if err != nil {
		return nil, err
	}
	limit := 1e-6
	if e.Type() == device.F64 {
		limit = 1e-13
	}
	r := &KernelResult{Verdict: "OK", Engine: info, Triples: p.Triples(), Visits: p.Visits(), TableBytes: e.TableBytes()}
	d := device.Device(device.NewHost(size.Threads))
	if size.Card != nil {
		d = size.Card
	}
	// The dot test is the warm-up: it touches every page.
	for _, op := range ops {
		e, err := dist.DotTest(ctx, d, op, 1)
		if err != nil {
			return nil, err
		}
		r.DotError = max(r.DotError, e)
	}
	if !(r.DotError <= limit) {
		r.Verdict = "FAILED"
	}
	times, err := alternate(ctx, d, ops, size.Runs)
	if err != nil {
		return nil, err
	}
	r.count(size, times)
	if size.Card != nil {
		err = r.countCard(size, float64(4*(p.Grid.Len()+p.NumTraces()*p.NT)))
	}
	return r, err
}

// count turns the times of the operators' runs, ns by direction, into figures.
func (r *KernelResult) count(size KernelSize, times [][2][]float64) {
	for d := range r.GFlops {
		r.GFlops[d] = Flops(len(size.Shape), size.Dynamic) * float64(r.Triples) / median(times[0][d])
		if size.Exact {
			r.Exact[d] = median(times[1][d]) / float64(r.Triples)
			r.ExactRatio[d] = ratio(times[1][d], times[0][d])
		}
	}
	r.Forward = median(times[0][dist.Forward]) / float64(r.Triples)
	r.Adjoint = median(times[0][dist.Backward]) / float64(r.Triples)
	r.BytesPer = float64(r.TableBytes) / float64(r.Triples)
}

// countCard measures the card's limits. Vectors are the bytes of image and data.
func (r *KernelResult) countCard(size KernelSize, vectors float64) error {
	l, err := MeasureCard(size.Card, size.Runs)
	if err != nil {
		return err
	}
	r.Card = &l
	copied := 1e9 * (float64(r.TableBytes) + vectors) / float64(r.Triples) / l.CopyBytes // ns a triple
	issued := size.instructions()
	for d, took := range [2]float64{r.Forward, r.Adjoint} {
		r.CopyShare[d], r.IssueShare[d] = copied/took, 1e9*issued[d]/l.Issue/took
	}
	return nil
}

// instructions is the number of instructions that the card's kernels issue for a triple, by
// direction; zero if it was not counted.
func (k KernelSize) instructions() (each [2]float64) {
	l := kirchhoff.Layout{Fields: 1}
	if k.Dynamic {
		l.Fields = 2*len(k.Shape) - 1
	}
	counted, ok := kirchhoffgpu.Instructions(l, k.Card.Card().Arch, k.Card.MadeBy(kirchhoffgpu.Programs(l)[0]))
	if ok {
		each[dist.Forward], each[dist.Backward] = counted[0], counted[1]
	}
	return each
}

// engine makes the engine and says what it is.
func (k KernelSize) engine(ctx context.Context, p *kirchhoff.Problem) (kirchhoff.Engine, string, error) {
	work := kirchhoff.Work{Exact: k.Exact}
	if k.Engine == "reference" {
		e, err := kirchhoff.NewReference(ctx, p, kirchhoff.Work{})
		return e, k.Engine, err
	}
	if k.Card != nil {
		e, err := kirchhoffgpu.New(ctx, k.Card, p, work)
		return e, k.Card.Name(), err
	}
	isa, err := kirchhoff.ISA()
	if err != nil {
		return nil, "", err
	}
	e, err := kirchhoff.New(ctx, p, work)
	return e, "cpu/" + isa, err
}

// operators returns the operators of an engine: with ordinary sums and, if requested, with exact
// ones.
func (k KernelSize) operators(e kirchhoff.Engine, p *kirchhoff.Problem) (ops []dist.Operator, err error) {
	image, data := dist.Local(e.Type(), k.Shape...), dist.Local(e.Type(), p.NumTraces(), p.NT)
	ops = append(ops, dist.Lift(e.Kernels()[0], image, data))
	if k.Exact {
		exact, err := dist.LiftWith(dist.LiftOptions{Exact: true}, image, data, e.Kernels()[0])
		return append(ops, exact), err
	}
	return ops, nil
}

// alternate times the operators in turn, so that other programs on the machine disturb
// all of them alike. It returns the ns of each run, by operator and direction.
func alternate(ctx context.Context, d device.Device, ops []dist.Operator, runs int) ([][2][]float64, error) {
	m, err := dist.NewVector(d, ops[0].Domain())
	if err != nil {
		return nil, err
	}
	x, err := dist.NewVector(d, ops[0].Range())
	if err != nil {
		return nil, err
	}
	times := make([][2][]float64, len(ops))
	for range runs {
		for i, op := range ops {
			if err := fill(m); err != nil { // or the powers of the operator overflow
				return nil, err
			}
			for way, apply := range []func() error{
				dist.Forward:  func() error { return op.Apply(ctx, x, m) },
				dist.Backward: func() error { return op.ApplyAdjoint(ctx, m, x) },
			} {
				if err := warm(d, apply); err != nil {
					return nil, err
				}
				ns, err := timed(d, apply)
				if err != nil {
					return nil, err
				}
				times[i][way] = append(times[i][way], ns)
			}
		}
	}
	return times, nil
}

// warming is how long a card works before it is timed: one that has idled has a lower clock.
const warming = 100 * time.Millisecond

// warm keeps a card at work until its clock is up. It does nothing for the processor.
func warm(d device.Device, f func() error) error {
	if _, ok := d.(*gpu.Device); !ok {
		return nil
	}
	for began := time.Now(); time.Since(began) < warming; {
		if err := errors.Join(f(), d.Sync()); err != nil {
			return err
		}
	}
	return nil
}

// median is the median of t, which stays as it is.
func median(t []float64) float64 {
	t = slices.Sorted(slices.Values(t))
	n := len(t)
	return (t[(n-1)/2] + t[n/2]) / 2
}

// ratio is the median of a[i]/b[i].
func ratio(a, b []float64) float64 {
	r := make([]float64, len(a))
	for i := range r {
		r[i] = a[i] / b[i]
	}
	return median(r)
}

// timed is how many nanoseconds f takes, until the device is done.
func timed(d device.Device, f func() error) (ns float64, err error) {
	if err := d.Sync(); err != nil {
		return 0, err
	}
	begin := time.Now()
	err = errors.Join(f(), d.Sync())
	return float64(time.Since(begin).Nanoseconds()), err
}

// medianOf is the median of several runs of f, in nanoseconds.
func medianOf(runs int, d device.Device, f func() error) (ns float64, err error) {
	t := make([]float64, runs)
	for i := range t {
		if t[i], err = timed(d, f); err != nil {
			return 0, err
		}
	}
	return median(t), nil
}

func fill(v *dist.Vector) error {
	x := make([]float32, v.Buf.Len())
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	return device.Upload(v.Buf, x)
}

// problem lays the geometry out.
func (k KernelSize) problem() (*kirchhoff.Problem, error) {
	dim := len(k.Shape)
	g, err := square(k.Shape, cmp.Or(k.Spacing, spacing))
	if err != nil {
		return nil, err
	}
	times, err := traveltime.NewAnalytic(2000, g)
	if err != nil {
		return nil, err
	}
	s := &survey.Survey{Dim: dim, Fixed: true, NT: k.Samples, DT: 0.004}
	s.Wavelet = centred(synth.Ricker(20, s.DT), cmp.Or(k.Wavelet, 81))
	if k.Streamer {
		k.tow(s, g)
	} else {
		s.Sources = k.spread(g, k.Sources, 0.3)
		s.Receivers = k.spread(g, k.Receivers, 0.5)
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &kirchhoff.Problem{
		Slowest: 2000,
		Grid:    g, Positions: s.Distinct(true), NT: s.NT, DT: s.DT, Wavelet: s.Wavelet,
		Times: times, Dynamic: k.Dynamic, Velocity: slices.Repeat([]float64{2000}, g.Len()), AngleLimit: []float64{72, 90}, Threads: k.Threads,
	}, nil
}

// spacing is the spacing of most grids, in metres.
const spacing = 10

// square is a grid from the origin with a spacing of h m along all axes.
func square(shape []int, h float64) (grid.Grid, error) {
	dim := len(shape)
	g := grid.Grid{Origin: make([]float64, dim), Spacing: slices.Repeat([]float64{h}, dim), Shape: shape}
	return g, g.Validate()
}

// spread lays n positions along x, or over a square of x and y, at the top; the
// shift, in parts of the distance, keeps sources off the receivers.
func (k KernelSize) spread(g grid.Grid, n int, shift float64) []float64 {
	var xyz []float64
	if g.Dim() == 2 {
		for i := range n {
			xyz = append(xyz, (float64(i)+shift)/float64(n)*g.End(0), 0)
		}
		return xyz
	}
	side := int(math.Ceil(math.Sqrt(float64(n))))
	for i := range n {
		x, y := float64(i%side)+shift, float64(i/side)+shift
		xyz = append(xyz, x/float64(side)*g.End(0), y/float64(side)*g.End(1), 0)
	}
	return xyz
}

// tow moves a streamer of Receivers channels, 12.5 m apart, by 25 m a shot: one place for every
// station that a channel occupied.
func (k KernelSize) tow(s *survey.Survey, g grid.Grid) {
	s.Fixed = false
	const step = 12.5
	rest := make([]float64, g.Dim()-1) // y and z, or z
	stations := k.Receivers + 2*(k.Sources-1) + 1
	for i := range stations {
		s.Receivers = append(append(s.Receivers, step*float64(i)), rest...)
	}
	for i := range k.Sources {
		s.Sources = append(append(s.Sources, step*float64(k.Receivers+2*i)+step/2), rest...)
		for c := range k.Receivers {
			s.SourceIndex = append(s.SourceIndex, int32(i))
			s.ReceiverIndex = append(s.ReceiverIndex, int32(2*i+k.Receivers-1-c))
		}
	}
}

// centred pads or cuts a wavelet to n samples around its zero.
func centred(w survey.Wavelet, n int) survey.Wavelet {
	out := survey.Wavelet{Samples: make([]float64, n), DT: w.DT, Zero: n / 2}
	for i := range out.Samples {
		if at := i - out.Zero + w.Zero; at >= 0 && at < len(w.Samples) {
			out.Samples[i] = w.Samples[at]
		}
	}
	return out
}

func (k KernelSize) String() string {
	shape, kind := strings.ReplaceAll(strings.Trim(fmt.Sprint(k.Shape), "[]"), " ", "×"), ""
	if k.Streamer {
		kind = " streamer"
	}
	return fmt.Sprintf("%d×%d×(%s)%s, nt %d", k.Sources, k.Receivers, shape, kind, k.Samples)
}
