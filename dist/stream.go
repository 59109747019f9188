package dist

import (
	"context"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// Grouped is the kernel of an operator A whose data do not fit in memory. It works on them
// group by group. A group is a stretch of this rank's data made of whole Units. As with
// Pieced, sums can be made independent of how the work is divided, groups included.
type Grouped interface {
	// Peak and Bound are as in Pieced. Bound is only called with Forward.
	Peak() float64
	Bound(d Direction, src device.Buf) ([]float64, error)
	// Gain bounds the adjoint's bound divided by Peak, for data in which the largest
	// samples of the traces add up to 1.
	Gain() float64

	// Groups is the number of groups.
	Groups() int
	// Group returns the elements [lo, hi) of this rank's data that belong to group i.
	Group(i int) (lo, hi int)
	// Open makes a group ready. Only one group may be open at a time.
	Open(ctx context.Context, i int) (Group, error)

	// Clear starts an adjoint, to which groups are then added with Add. Begin ends it:
	// the application adds the sums to dst.
	Clear(ctx context.Context) error
	Begin(ctx context.Context, dst device.Buf, quantum float64) Application
}

// Group is one group of the data under way.
type Group interface {
	Pieced // asked to begin a Forward and to bound a Backward
	// Add adds the adjoint of the group's data to the sums. It may directly follow their
	// Bound.
	Add(ctx context.Context, src device.Buf, quantum float64) error
	Close()
}

// StreamOptions are the options of a Stream. They must be the same on all ranks.
type StreamOptions struct {
	LiftOptions
	Device device.Device
	// Read starts reading the data d. Ranks with copies of the data read the same. next
	// returns this rank's data group by group, in order; the caller may change them, and
	// they are valid until the next call. close ends the reading.
	Read func(ctx context.Context) (next func() (device.Buf, error), close func(), err error)
	// Weigh, if not nil, multiplies the elements of this rank's data that begin at lo by
	// their weights.
	Weigh func(lo int, data device.Buf) error
	// Norm is ‖W d‖.
	Norm float64
	// Largest is the sum, over all traces of all ranks, of the largest sample of W²d;
	// LargestOnce is that of W d.
	Largest, LargestOnce float64
}

// Stream applies what least squares need of an operator A whose data d are not held: an
// application passes over the groups and has one of them at a time. W weighs the data.
//
// With Exact the quantum of an adjoint follows from a bound on its source, which is known
// only once the source has passed. It is guessed from the application before and checked
// afterwards: a pass whose bound lies above the guess, or so far below it that digits were
// lost, is repeated. Guess and check do not depend on the partition.
type Stream struct {
	k    Grouped
	o    StreamOptions
	of   *lifted // without a kernel
	peak float64
	work device.Buf // of the largest group

	// growth bounds W²A p relative to ‖p‖, level bounds the source of a gradient, both from
	// their last passes; 0 before the first.
	growth, level float64
	again         int // passes done again
}

// NewStream makes the operator from domain to rng. No vector of layout rng is allocated.
// It is a collective, with the errors of LiftWith.
func NewStream(k Grouped, domain, rng *Layout, o StreamOptions) (*Stream, error) {
	s := &Stream{of: &lifted{domain: domain, rng: rng, o: o.LiftOptions, pieced: true}, k: k, o: o}
	err := s.of.reachOut()
	if err != nil {
		return nil, err
	}
	if s.peak, err = s.of.largestOverRanks(k.Peak()); err != nil {
		return nil, err
	}
	if o.Weigh == nil {
		s.o.Weigh = func(int, device.Buf) error { return nil }
	}
	most := 0
	for i := range k.Groups() {
		lo, hi := k.Group(i)
		most = max(most, hi-lo)
	}
	s.work, err = o.Device.Alloc(most, rng.Type)
	return s, err
}

// Domain and Range are the layouts of A.
func (s *Stream) Domain() *Layout { return s.of.domain }
func (s *Stream) Range() *Layout  { return s.of.rng }

// Device is where images are.
func (s *Stream) Device() device.Device { return s.o.Device }

// DataNorm is ‖W d‖.
func (s *Stream) DataNorm() (float64, error) { return s.o.Norm, nil }

// Carried returns the numbers that an application takes from the one before. If they are
// saved and restored, the next application gives the same bits.
func (s *Stream) Carried() []*float64 { return []*float64{&s.growth, &s.level} }

// Again is how often a pass was done again.
func (s *Stream) Again() int { return s.again }

// Guesses are slightly too high, which costs digits that can be spared. A pass is
// repeated if the bound lies above the guess or far below it.
const (
	margin = 0x1p5
	waste  = 10 // bits that may be lost
)

// Normal sets q = AᵀW²A p and returns ‖W A p‖².
func (s *Stream) Normal(ctx context.Context, q, p *Vector) (square float64, err error) {
	size, err := Norm(p)
	if err != nil {
		return 0, err
	}
	t, err := s.run(ctx, q, &pass{Stream: s, x: p, weights: 2}, margin*s.growth*size)
	if err == nil && t.bound > 0 && size > 0 {
		s.growth = t.bound / size
	}
	return t.square, err
}

// Gradient sets g = AᵀW²(d − A x) and returns ‖W(d − A x)‖². A nil x stands for zero.
func (s *Stream) Gradient(ctx context.Context, g, x *Vector) (square float64, err error) {
	guess := 2 * s.level // residuals shrink
	if s.level == 0 {
		guess = s.o.Largest * s.k.Gain()
	}
	t, err := s.run(ctx, g, &pass{Stream: s, x: x, read: true, weights: 2}, guess)
	if err != nil || t.bound == 0 {
		return t.square, err
	}
	s.level = t.bound
	if s.growth == 0 && t.square > 0 {
		// ‖g‖ is at least ‖g‖²/‖r‖, and g is assumed to be as peaked as the residual r.
		size, err := Norm(g)
		if err != nil {
			return 0, err
		}
		s.growth = t.bound * size / t.square
	}
	return t.square, nil
}

// Adjoint sets m = AᵀW d.
func (s *Stream) Adjoint(ctx context.Context, m *Vector) error {
	_, err := s.run(ctx, m, &pass{Stream: s, read: true, weights: 1}, s.o.LargestOnce*s.k.Gain())
	return err
}

// Predict computes A x, or with read d − A x, group by group. It passes each group to f
// with its place in this rank's data. All ranks call f equally often, the last times with
// nothing, so f may be a collective.
func (s *Stream) Predict(ctx context.Context, x *Vector, read bool, f func(lo int, data device.Buf) error) error {
	p := &pass{Stream: s, x: x, read: read}
	if err := p.begin(ctx); err != nil {
		return err
	}
	defer p.end()
	rounds := []float64{float64(s.k.Groups())}
	if err := s.of.rng.Shards.Host().AllReduce(rounds, comm.Max); err != nil {
		return err
	}
	for i := range int(rounds[0]) {
		lo, data, err := s.of.rng.N, s.work.Slice(0, 0), error(nil)
		if i < s.k.Groups() {
			err = p.group(ctx, i, func(_ Group, at, _ int, d device.Buf) error {
				lo, data = at, d
				return nil
			})
		}
		if err := comm.Together(s.of.rng.Shards, err); err != nil {
			return err
		}
		if err := f(lo, data); err != nil {
			return err
		}
	}
	return nil
}

// Compare passes W A x and W d to f, group by group, with the group's place in this rank's data.
func (s *Stream) Compare(ctx context.Context, x *Vector, f func(lo int, predicted, data device.Buf) error) error {
	p := &pass{Stream: s, x: x, read: true, apart: true}
	if err := p.begin(ctx); err != nil {
		return err
	}
	defer p.end()
	var err error
	for i := 0; i < s.k.Groups() && err == nil; i++ {
		err = p.group(ctx, i, func(_ Group, lo, hi int, data device.Buf) error {
			predicted := s.work.Slice(0, hi-lo)
			if err := s.o.Weigh(lo, predicted); err != nil {
				return err
			}
			if err := s.o.Weigh(lo, data); err != nil {
				return err
			}
			return f(lo, predicted, data)
		})
	}
	return comm.Together(s.of.rng.Shards, err)
}

// Reweighed says that the weights of the data have become less, and what ‖W d‖ is now.
func (s *Stream) Reweighed(norm float64) { s.o.Norm = norm }

// tally holds what a pass finds out besides its result, over all ranks.
type tally struct{ square, bound float64 }

// run does a pass into dst, and repeats it if the guess was wrong.
func (s *Stream) run(ctx context.Context, dst *Vector, p *pass, guess float64) (t tally, err error) {
	mustEqual("stream", s.of.domain, dst.Layout)
	for first := true; ; first = false {
		e := exponent(guess * s.peak)
		if s.o.Exact {
			p.quantum = quantum(guess * s.peak)
		}
		if t, err = p.sum(ctx); err != nil {
			return t, err
		}
		bound := t.bound * s.peak
		switch {
		case s.o.Exact && lost(bound):
			return t, spoil(dst.Buf)
		case s.o.Exact && first && bound > 0 && (exponent(bound) > e || exponent(bound) < e-waste):
			s.again++
			guess = t.bound
			continue
		}
		if err := dst.Zero(); err != nil {
			return t, err
		}
		a := s.of.application(Backward, s.o.Device)
		return t, a.landing(dst, func(dst *Vector) error { return a.carry(s.k.Begin(ctx, dst.Buf, p.quantum)) })
	}
}

// pass is one way over all groups of this rank.
type pass struct {
	*Stream
	x       *Vector // nil: zero
	read    bool    // the source is d − A x, otherwise A x
	apart   bool    // with read: the source is d, beside A x in work
	weights int     // how often the source is multiplied by W before the adjoint
	quantum float64 // of the adjoint

	near    *Vector // what the groups need of x
	next    func() (device.Buf, error)
	close   func()
	zero    bool    // A x is
	forward float64 // quantum of A x
	lost    bool    // A x is no number
}

// begin gets ready for the first group.
func (p *pass) begin(ctx context.Context) (err error) {
	p.zero, p.lost = p.x == nil, false
	a := p.of.application(Forward, p.o.Device)
	if p.x != nil {
		if p.near, err = a.fetch(p.x); err != nil {
			return err
		}
	}
	if p.x != nil && p.o.Exact {
		parts, mine := p.k.Bound(Forward, p.near.Buf)
		bound, err := a.bound(p.x, parts, mine, p.peak)
		if err != nil {
			return err
		}
		p.zero = bound == 0
		p.lost = lost(bound)
		p.forward = quantum(bound)
	}
	if !p.read {
		return nil
	}
	p.next, p.close, err = p.o.Read(ctx)
	return p.of.rng.together(err)
}

func (p *pass) end() {
	if p.close != nil {
		p.close()
	}
}

// sum sums the adjoint of all groups.
func (p *pass) sum(ctx context.Context) (t tally, err error) {
	if err := p.begin(ctx); err != nil {
		return t, err
	}
	defer p.end()
	if err := p.k.Clear(ctx); err != nil {
		return t, err
	}
	var squares, bounds []float64
	switch {
	case p.lost:
		squares, bounds = []float64{math.NaN()}, []float64{math.NaN()}
	case p.zero && !p.read:
	default:
		for i := range p.k.Groups() {
			err = p.group(ctx, i, func(g Group, lo, hi int, data device.Buf) error {
				square, bound, err := p.add(ctx, g, lo, hi, data)
				squares, bounds = append(squares, square...), append(bounds, bound...)
				return err
			})
			if err != nil {
				break
			}
		}
	}
	// Ranks that share the data failed together. All others learn of the error here.
	if err := comm.Together(p.of.rng.Shards, err); err != nil {
		return t, err
	}
	if t.square, err = SumExactly(p.of.rng.Shards, squares, nil); err != nil {
		return t, err
	}
	t.bound, err = SumExactly(p.of.rng.Shards, bounds, nil)
	return t, err
}

// add adds the adjoint of a group's predicted data to the sums. It returns the squares of
// the group's units and the parts of its bound.
func (p *pass) add(ctx context.Context, g Group, lo, hi int, data device.Buf) (squares, bounds []float64, err error) {
	if err := p.o.Weigh(lo, data); err != nil {
		return nil, nil, err
	}
	if squares, err = p.squares(lo, hi, data); err != nil {
		return nil, nil, err
	}
	if p.weights == 2 {
		if err := p.o.Weigh(lo, data); err != nil {
			return nil, nil, err
		}
	}
	defer p.o.Device.Mark(Backward.String())()
	if bounds, err = g.Bound(Backward, data); err != nil {
		return nil, nil, err
	}
	return squares, bounds, g.Add(ctx, data, p.quantum)
}

// group opens a group on the ranks that share its data, predicts elements lo to hi and
// passes them to f.
func (p *pass) group(ctx context.Context, i int, f func(g Group, lo, hi int, data device.Buf) error) error {
	g, err := p.k.Open(ctx, i)
	if g != nil {
		defer g.Close()
	}
	if err := comm.Together(p.of.rng.Copies, err); err != nil {
		return err
	}
	lo, hi := p.k.Group(i)
	data, err := p.predict(ctx, g, hi-lo)
	if err != nil {
		return err
	}
	return f(g, lo, hi, data)
}

// predict computes the source of the adjoint of a group of n elements, without weights.
func (p *pass) predict(ctx context.Context, g Group, n int) (device.Buf, error) {
	var d device.Buf
	if p.read {
		var err error
		end := p.o.Device.Mark(device.MarkWaitForData)
		d, err = p.next()
		end()
		if err := comm.Together(p.of.rng.Copies, err); err != nil || p.zero && !p.apart {
			return d, err
		}
	}
	defer p.o.Device.Mark(Forward.String())()
	y := p.work.Slice(0, n)
	of := y
	if p.apart {
		of = d
	}
	if err := p.o.Device.Zero(y); err != nil || p.zero {
		return of, err
	}
	if p.lost {
		return of, spoil(y)
	}
	app, err := g.Begin(ctx, Forward, y, p.near.Buf, p.forward)
	if err != nil {
		return nil, err
	}
	if err := p.of.application(Forward, p.o.Device).carry(app); err != nil || !p.read || p.apart {
		return of, err
	}
	return d, p.o.Device.Axpby(-1, y, 1, d)
}

// squares returns the sum of squares of each of a group's units.
func (s *Stream) squares(lo, hi int, data device.Buf) ([]float64, error) {
	var pairs [][2]device.Buf
	for _, u := range s.of.rng.stretches(lo, hi) {
		part := data.Slice(u[0]-lo, u[1])
		pairs = append(pairs, [2]device.Buf{part, part})
	}
	return s.o.Device.Dots(pairs...)
}
