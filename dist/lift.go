package dist

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// LiftOptions say how the contributions of the ranks are added up. All ranks give
// the same.
type LiftOptions struct {
	// Exact makes the result the same to the last bit on every partition. The kernel must
	// be Pieced. Inner products need Layout.Units as well.
	Exact bool
	// Overlap sums one piece over the ranks while the next is computed. A kernel that is
	// not Pieced has only one piece and does not overlap.
	Overlap bool
	// Choose, if not nil, makes an Exact operator measure its first applications over each
	// carrier of a comm.Switch, and with and without Overlap, and keep the fastest way. Choose
	// then receives the measurement. If a carrier is dropped, it measures again. Results do
	// not depend on the choice.
	Choose func(Choice)
	// KeepOverlap leaves only the choice of carriers, not of Overlap.
	KeepOverlap bool
	// Reach, if not nil, is the part of the image that this rank's kernels map. All ranks
	// give one or none.
	Reach *Reach
	// Timed waits for the device before and after each sum over ranks and at the end of
	// each application, so that Times are of its work where the host does not wait for it.
	Timed bool
	// Observe, if not nil, receives the times of each application on this rank.
	Observe func(Times)
	// InFlight, if not nil, receives when each started sum began and how long it was under
	// way, if the communicator knows when it ended ([comm.Ended]).
	InFlight func(begin time.Time, took time.Duration)
}

// Times are the durations of one application on one rank. Overlap reduces Waiting.
type Times struct {
	Direction Direction
	Total     time.Duration
	Waiting   time.Duration // in and for the collectives that sum the result
	Pieces    int           // summed over the ranks
	Bytes     int64         // of these
	Last      int64         // bytes of the last of them, beside which nothing is computed
}

// Lift makes a distributed operator of a local kernel. If the destination has copies,
// each application makes one all-reduce of all of it.
func Lift(k Kernel, domain, rng *Layout) Operator {
	return &lifted{kernels: []Kernel{k}, domain: domain, rng: rng}
}

// LiftWith is Lift with options and for any number of kernels, which add to one
// destination: (A B …)(x; y; …) = A x + B y + …. Its domain is the stack of a layout for
// each kernel, or that of the only one. It is a collective of all ranks that share domain
// or range. Its errors are marked as lacking resources, where a kernel cannot do what is
// asked, or as numerical, for a Peak that is no number.
//
// With Exact the quantum of an application is a power of two, and 2⁵² times it is at least
// the bound on the result. Without calling the kernel, a source of zeros gives zeros, and a
// source with a NaN or an infinity, or whose bound overflows, gives NaN throughout. The
// Copies of the destination must be the ranks of the source's Shards, as on a process grid.
//
// All ranks get an error of Bound. Any other error of a kernel on only one rank leaves the
// others waiting for it, so the caller must end the run.
func LiftWith(o LiftOptions, domain, rng *Layout, kernels ...Kernel) (Operator, error) {
	if len(kernels) != max(1, len(domain.Parts)) {
		panic(fmt.Sprintf("dist: %d kernels for %v", len(kernels), domain))
	}
	l := &lifted{kernels: kernels, domain: domain, rng: rng, o: o, pieced: o.Exact || o.Overlap}
	for _, k := range kernels {
		if _, ok := k.(Pieced); !ok {
			l.pieced = false
			if o.Exact {
				return nil, status.Resource(fmt.Errorf("dist: sums that do not depend on the partition need a kernel that works in pieces, %T does not", k))
			}
		}
	}
	if err := l.reachOut(); err != nil {
		return nil, err
	}
	if !o.Exact {
		return l, nil
	}
	l.startMeasuring()
	for _, k := range kernels {
		peak, err := l.largestOverRanks(k.(Pieced).Peak())
		if err != nil {
			return nil, err
		}
		l.peaks = append(l.peaks, peak)
	}
	return l, nil
}

// largestOverRanks is the largest value of all ranks.
func (l *lifted) largestOverRanks(v float64) (float64, error) {
	if math.IsNaN(v) { // a maximum may pass it over
		v = math.Inf(1)
	}
	x := []float64{v}
	if err := l.maxOverRanks(x); err != nil {
		return 0, err
	}
	if math.IsInf(x[0], 0) {
		return 0, status.Numerical(errors.New("dist: the largest weight of the kernel is not finite"))
	}
	return x[0], nil
}

// maxOverRanks sets the elements of x to their largest values over all ranks.
func (l *lifted) maxOverRanks(x []float64) error {
	image := l.image()
	for _, c := range []comm.Comm{image.Shards, image.Copies, l.rng.Shards, l.rng.Copies} {
		if c.Size() == 1 {
			continue
		}
		if err := c.Host().AllReduce(x, comm.Max); err != nil {
			return err
		}
	}
	return nil
}

// lifted is a row of kernels, each with its own part of the domain.
type lifted struct {
	kernels     []Kernel
	domain, rng *Layout
	o           LiftOptions
	pieced      bool       // they are Pieced and work so
	peaks       []float64  // of the kernels; Exact only
	measuring   *measuring // nil: what o.Overlap says
	halo        *halo      // nil: kernels map what the rank holds
}

func (l *lifted) Domain() *Layout { return l.domain }
func (l *lifted) Range() *Layout  { return l.rng }

// image is the layout of one kernel's part of the domain. All parts are spread alike.
func (l *lifted) image() *Layout {
	if l.domain.Parts != nil {
		return l.domain.Parts[0]
	}
	return l.domain
}

func (l *lifted) Apply(ctx context.Context, dst, src *Vector) error {
	mustEqual("apply", l.rng, dst.Layout)
	mustEqual("apply", l.domain, src.Layout)
	return l.observed(Forward, dst, func(a *application) error {
		for i, k := range l.kernels {
			x, err := a.fetch(src.Rows()[i])
			if err != nil {
				return err
			}
			if err := a.add(ctx, i, k.Forward, dst, x); err != nil {
				return err
			}
		}
		return a.sum(dst)
	})
}

func (l *lifted) ApplyAdjoint(ctx context.Context, dst, src *Vector) error {
	mustEqual("adjoint", l.domain, dst.Layout)
	mustEqual("adjoint", l.rng, src.Layout)
	return l.observed(Backward, dst, func(a *application) error {
		for i, to := range dst.Rows() {
			err := a.landing(to, func(to *Vector) error {
				if err := a.add(ctx, i, l.kernels[i].Adjoint, to, src); err != nil {
					return err
				}
				return a.sum(to)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// application is an application of lifted kernels under way.
type application struct {
	*lifted
	copies  comm.Comm // of the destination
	device  device.Device
	overlap bool
	kept    bool // its times are kept for a choice
	alone   bool // sums are timed to their end, with no kernel under way
	times   Times
}

func (l *lifted) application(d Direction, on device.Device) *application {
	a := &application{lifted: l, copies: l.rng.Copies, device: on, overlap: l.o.Overlap, alone: l.o.Timed, times: Times{Direction: d}}
	if d == Backward {
		a.copies = l.image().Copies
	}
	return a
}

// observed zeroes dst, runs an application into it and reports the times.
func (l *lifted) observed(d Direction, dst *Vector, f func(a *application) error) error {
	if err := dst.Zero(); err != nil {
		return err
	}
	a := l.application(d, dst.Device())
	counts, err := a.measure(d)
	if err != nil {
		return err
	}
	end := timing(&a.times.Total)
	if err := f(a); err != nil {
		return err
	}
	if counts || a.alone {
		if err := a.device.Sync(); err != nil {
			return err
		}
	}
	end()
	if a.kept {
		l.measuring.of[d] = append(l.measuring.of[d], a.times)
	}
	if l.o.Observe != nil {
		l.o.Observe(a.times)
	}
	return nil
}

// add adds the result of kernel i for a source to the destination. In pieces it adds sums
// over the copies, otherwise only this rank's part, which sum then completes.
func (a *application) add(ctx context.Context, i int, whole func(ctx context.Context, dst, src device.Buf) error, dst, src *Vector) error {
	if !a.pieced {
		return whole(ctx, dst.Buf, src.Buf)
	}
	quantum, done, err := a.quantum(i, dst, src)
	if err != nil || done {
		return err
	}
	app, err := a.kernels[i].(Pieced).Begin(ctx, a.times.Direction, dst.Buf, src.Buf, quantum)
	if err != nil {
		return err
	}
	return a.carry(app)
}

// sum sums a whole destination over its copies, unless that was done in pieces.
func (a *application) sum(dst *Vector) error {
	if a.pieced {
		return nil
	}
	if err := a.sumNow(dst.Buf); err != nil || !a.lands() {
		return err
	}
	return a.land(dst.Layout.Shards, dst.Buf, func(element int) int { return element - a.halo.Off })
}

// sumNow sums a buffer over the copies.
func (a *application) sumNow(buf device.Buf) error {
	r, err := a.start(buf)
	if err != nil {
		return err
	}
	return a.wait(r)
}

// timing begins to time what its result ends, and then adds that to a duration.
func timing(to *time.Duration) (end func()) {
	began := time.Now()
	return func() { *to += time.Since(began) }
}

// carry computes an application piece by piece and sums finished pieces over the copies
// while later ones are computed. Pieces are finished in order, so at most Ahead are under
// way. After an error it waits for the sums under way, because they use their buffers.
func (a *application) carry(app Application) (err error) {
	if a.lands() {
		return a.landPieced(app)
	}
	ahead := 1
	if a.overlap && a.copies.Size() > 1 {
		ahead = app.Ahead()
	}
	var under []comm.Request // of the last pieces taken
	defer func() {
		if err != nil {
			for _, r := range under {
				err = errors.Join(err, r.Wait())
			}
		}
	}()
	for i := 0; i < app.Pieces() || len(under) > 0; {
		if len(under) == ahead || i == app.Pieces() {
			r := under[0]
			under = under[1:]
			if err := a.wait(r); err != nil {
				return err
			}
			if err := app.Finish(i - len(under) - 1); err != nil {
				return err
			}
			continue
		}
		buf, err := app.Sum(i)
		if err != nil {
			return err
		}
		r, err := a.start(buf)
		if err != nil {
			return err
		}
		under = append(under, r)
		i++
	}
	return nil
}

// start begins to sum a buffer over the copies.
func (a *application) start(buf device.Buf) (comm.Request, error) {
	if a.copies.Size() == 1 {
		return comm.Done, nil
	}
	a.times.Pieces++
	a.times.Last = int64(buf.Len()) * int64(buf.Type().Size())
	a.times.Bytes += a.times.Last
	if a.alone {
		if err := a.device.Sync(); err != nil {
			return nil, err
		}
	}
	defer a.device.Mark(device.MarkAllReduce)()
	defer timing(&a.times.Waiting)()
	if a.overlap && a.pieced {
		began := time.Now()
		r, err := a.copies.StartAllReduce(buf)
		if err != nil || a.o.InFlight == nil {
			return r, err
		}
		return flight{r, began, a.o.InFlight}, nil
	}
	if err := a.copies.AllReduce(buf); err != nil || !a.alone {
		return comm.Done, err
	}
	return comm.Done, a.device.Sync()
}

// flight is a started sum whose time is reported.
type flight struct {
	comm.Request
	began time.Time
	tell  func(begin time.Time, took time.Duration)
}

func (f flight) Wait() error {
	err := f.Request.Wait()
	if ended := comm.Ended(f.Request); !ended.IsZero() {
		f.tell(f.began, ended.Sub(f.began))
	}
	return err
}

func (a *application) wait(r comm.Request) error {
	if r == comm.Done {
		return nil
	}
	if a.alone {
		if err := a.device.Sync(); err != nil {
			return errors.Join(err, r.Wait())
		}
	}
	defer a.device.Mark(device.MarkWaitForSums)()
	defer timing(&a.times.Waiting)()
	if err := r.Wait(); err != nil || !a.alone {
		return err
	}
	return a.device.Sync()
}

// quantum chooses the quantum of an application, 0 if sums need not be exact. If the
// bound already determines the result, it adds that to dst and sets done.
func (a *application) quantum(i int, dst, src *Vector) (q float64, done bool, err error) {
	if !a.o.Exact {
		return 0, false, nil
	}
	parts, mine := a.kernels[i].(Pieced).Bound(a.times.Direction, src.Buf)
	bound, err := a.bound(src, parts, mine, a.peaks[i])
	switch {
	case err != nil || bound == 0:
		return 0, true, err
	case lost(bound):
		return 0, true, spoil(dst.Buf)
	default:
		return quantum(bound), false, nil
	}
}

// bound is the bound on a result that follows from those on the parts of its source. Parts
// of an image count on the rank that holds them.
func (a *application) bound(src *Vector, parts []float64, mine error, peak float64) (float64, error) {
	if a.halo != nil && a.times.Direction == Forward {
		parts = a.halo.units(parts)
	}
	sum, err := SumExactly(src.Layout.Shards, parts, mine)
	return sum * peak, err
}

// quantum returns a power of two; 2⁵² times it is at least the bound. It is never so
// small that its reciprocal overflows or it has lost bits, since kernels may divide by
// it.
func quantum(bound float64) float64 {
	const minNormal = -1022
	return math.Ldexp(1, max(exponent(bound)-52, minNormal))
}

// exponent is the least e with v < 2ᵉ.
func exponent(v float64) int {
	_, e := math.Frexp(v)
	return e
}

// lost reports whether a bound is NaN or infinite, which means that the result is lost too.
func lost(bound float64) bool { return math.IsNaN(bound) || math.IsInf(bound, 0) }

// spoil sets all elements to NaN.
func spoil(b device.Buf) error { return b.Device().Axpby(math.NaN(), b, 0, b) }
