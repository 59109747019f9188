package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	kernels "github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Operator is the demigration operator of a plan on all ranks: from the image
// [nx, (ny,) nz], or a stack of one for each class, to the data [ntrace, nt], in the
// engine's precision.
type Operator struct {
	Plan   *Plan
	Here   *Here
	Share  *Share
	Traces *RankTraces // nil without any

	dist.Operator
	Engine kirchhoff.Engine
	Info   string       // engine, instruction set, memory of the tables
	Stream *dist.Stream // where traces are streamed: what applies the operator then

	team, teams comm.Comm // with teams of ranks: this rank's with the same column, and one of each team and column
}

// Build computes the traveltimes and makes the operator, on all ranks. It is the
// long part of getting ready; its progress is reported place by place.
func BuildOperator(ctx context.Context, p *Plan, h *Here, s *Share, t *RankTraces) (*Operator, error) {
	op := &Operator{Plan: p, Here: h, Share: s, Traces: t}
	if err := comm.Together(h.Ranks.World, op.join()); err != nil {
		return nil, err
	}
	m := CountMemory(p, s)
	err := m.Check()
	if err == nil {
		err = op.load()
	}
	if err == nil {
		err = op.build(ctx, m)
	}
	if err := h.late(err); err != nil {
		return nil, err
	}
	if err := comm.Together(h.Ranks.World, op.recover()); err != nil {
		return nil, err
	}
	if m.Stream {
		return op, comm.Together(h.Ranks.World, op.liftStream(m.Groups))
	}
	lifted, err := op.Lift(op.LiftOptions())
	if err := comm.Together(h.Ranks.World, err); err != nil {
		return nil, err
	}
	op.Operator = op.Here.timed(lifted)
	if e, ok := op.Engine.(*kernels.Engine); ok {
		return op, op.registerSums(e)
	}
	return op, nil
}

// join finds the ranks that share this rank's part of the image, and those that hold others.
func (op *Operator) join() (err error) {
	if !op.Share.Local() {
		return nil
	}
	team, member := op.Share.Team()
	if op.team, err = op.Here.AllRanks.Split(team*op.Here.Grid[1]+op.Share.Column(), op.Share.Rank); err == nil {
		op.teams, err = op.Here.AllRanks.Split(member, op.Share.Rank)
	}
	if err == nil {
		watch.Name(op.team, "team")
		watch.Name(op.teams, "teams")
	}
	return err
}

// LiftOptions says how contributions of the ranks are added up.
func (op *Operator) LiftOptions() dist.LiftOptions {
	overlap := op.Plan.Config.Comm.Overlap
	o := dist.LiftOptions{
		Exact:       op.Plan.Exact(),
		Overlap:     overlap != "off",
		KeepOverlap: overlap != "auto" || op.Plan.Config.Comm.Accumulate == "onesided", // which hides nothing
		Choose:      op.sayChoice,
		Reach:       op.reach(),
	}
	if op.Here.Ranks.Report.Books() {
		o.InFlight = func(begin time.Time, took time.Duration) {
			op.Here.Ranks.Report.Beside(device.LaneSums, device.MarkAllReduce, begin, took, took)
		}
	}
	return o
}

// sayChoice reports how sums go over ranks, and why.
func (op *Operator) sayChoice(c dist.Choice) {
	taken := c.Ways[c.Taken]
	op.Here.taken = taken.Carrier
	type row struct {
		Carrier string  `json:"carrier"`
		Overlap bool    `json:"overlap"`
		Seconds float64 `json:"seconds"`
	}
	var rows []row
	for _, w := range c.Ways {
		rows = append(rows, row{w.Carrier, w.Overlap, w.Took.Seconds()})
	}
	op.Here.Ranks.Report.Event("carriers", "taken", taken.Carrier, "overlap", taken.Overlap, "ways", rows)
	if several := rows[0].Carrier != rows[1].Carrier; several {
		op.Here.Ranks.Report.Infof("comm.backend: auto takes %s. Forward and adjoint take on the slowest rank:", taken.Carrier)
		for _, r := range rows {
			op.Here.Ranks.Report.Infof("  %-20s %-16s %.3g s", r.Carrier, map[bool]string{true: "with overlap", false: "without overlap"}[r.Overlap], r.Seconds)
		}
	}
	hidden, with, without, both := c.Hidden()
	if !both {
		return
	}
	text := "off: it is slower"
	if taken.Overlap {
		text = fmt.Sprintf("on: it hides %.0f %% of the sums over ranks", 100*hidden)
	}
	op.Here.Ranks.Report.Infof("comm.overlap: %s (forward and adjoint take %.3g s with, %.3g s without, of which sums %.3g s)",
		text, with.Took.Seconds(), without.Took.Seconds(), without.Sums.Seconds())
}

// Lift joins the ranks' parts of the operator.
func (op *Operator) Lift(o dist.LiftOptions) (dist.Operator, error) {
	domain := op.imageLayout()
	if n := op.Plan.Classes.N; n > 0 {
		domain = dist.Stack(slices.Repeat([]*dist.Layout{domain}, n)...)
	}
	return dist.LiftWith(o, domain, op.dataLayout(), op.Engine.Kernels()...)
}

// imageLayout is the image's, split along x over blocks or, with an aperture, over teams and
// blocks.
func (op *Operator) imageLayout() *dist.Layout {
	plane, width := op.Plan.Geometry.Plane(), kirchhoff.SlabPoints(op.Plan.Geometry.Image.Dim())
	l := &dist.Layout{
		Shape: op.Plan.Geometry.Image.Shape, Off: op.Share.Own[0] * plane, N: op.Plan.Geometry.Points(op.Share),
		Type: op.Plan.Type(), Shards: op.Here.BlockAxis, Copies: op.Here.ShotAxis,
	}
	if op.Share.Local() {
		l.Shards, l.Copies = op.teams, op.team
	}
	if op.Plan.Exact() {
		l.Units = []int{}
		for x := op.Share.Own[0]; x < op.Share.Own[1]; x += width {
			l.Units = append(l.Units, x*plane-l.Off)
		}
	}
	return l
}

// reach is what this rank's kernels map of the image, nil for what it holds.
func (op *Operator) reach() *dist.Reach {
	if !op.Share.Local() {
		return nil
	}
	plane := op.Plan.Geometry.Plane()
	r := &dist.Reach{Off: op.Share.Slab[0] * plane, N: op.Plan.Geometry.Reached(op.Share)}
	r.Units, r.Sums = op.Plan.Problem(op.Share).Slabs()
	for i := range r.Units {
		r.Units[i] *= plane
	}
	return r
}

// dataLayout is that of the data, split over shots.
func (op *Operator) dataLayout() *dist.Layout {
	nt := op.Plan.Geometry.Survey.NT
	l := &dist.Layout{
		Shape: op.Plan.Geometry.DataShape(), Off: op.Share.First * nt, N: op.Share.Traces() * nt,
		Type: op.Plan.Type(), Shards: op.Here.ShotAxis, Copies: op.Here.BlockAxis,
	}
	if op.Plan.Exact() {
		for _, first := range op.Share.Shots {
			l.Units = append(l.Units, first*nt)
		}
	}
	return l
}

// load reads the parts of the velocity models that this rank needs, unless the plan has them.
func (op *Operator) load() error {
	slabs := op.Plan.ModelSlabs(op.Share)
	if op.Plan.Times.Source.Holds(slabs[survey.AtSource]) && op.Plan.Times.Receiver.Holds(slabs[survey.AtReceiver]) {
		return nil
	}
	source, receiver, err := op.Plan.Inputs.ReadSlabs(slabs)
	if err == nil {
		op.Plan, err = op.Plan.With(source, receiver)
	}
	return err
}

// LoadAll returns the plan with the whole velocity models at hand.
func LoadAll(p *Plan) (*Plan, error) {
	var all [2][2]int
	for role, m := range [2]traveltime.Medium{survey.AtSource: p.Times.Source, survey.AtReceiver: p.Times.Receiver} {
		if !m.IsConstant() {
			all[role][1] = m.Grid.Shape[0]
		}
	}
	if all == [2][2]int{} {
		return p, nil
	}
	source, receiver, err := p.Inputs.ReadSlabs(all)
	if err != nil {
		return nil, err
	}
	return p.With(source, receiver)
}

// build makes this rank's part in the memory that was foreseen.
func (op *Operator) build(ctx context.Context, m Memory) (err error) {
	p := op.weighed(op.Share)
	stage := op.Here.Ranks.Report.Stage("traveltimes")
	defer stage.End()
	stage.Total(op.Share.Places.Len(), "places")
	p.Progress = func() { stage.Add(1) }
	p.Compact = m.Compact
	if m.Coarse > 0 {
		_, opt := p.TimesNeeded()
		coarse, err := traveltime.NewCoarse(ctx, p.Times, p.Positions, CoarseFactor, opt)
		if err != nil {
			return BlameInput(err)
		}
		p.Times = coarse
	}
	w := kirchhoff.Work{Cuts: m.Groups, Remake: m.Recompute, Budget: m.Budget, Exact: op.Plan.Exact(), Whole: op.Share.Local(),
		Classes: op.Plan.Classes.Of(op.Plan.Geometry.Shots.List(op.Share.First, op.Share.Last))}
	switch {
	case op.Here.Card != nil:
		op.Engine, err = kernels.New(ctx, op.Here.Card, p, w)
	case op.Plan.Hardware.Engine == "reference":
		op.Engine, err = kirchhoff.NewReference(ctx, p, w)
	default:
		op.Engine, err = kirchhoff.New(ctx, p, w)
	}
	if err != nil {
		return BlameInput(err)
	}
	op.Info = fmt.Sprintf("engine %s: %s", op.Engine.Name(), op.Engine.Info())
	if w.Classes != nil {
		op.Info += " by " + op.Plan.Classes.By()
	}
	return nil
}

// weighed is the problem of a share with what dynamic weights need of the slab.
func (op *Operator) weighed(s *Share) *kirchhoff.Problem {
	p := op.Plan.Problem(s)
	if p.Dynamic {
		p.Velocity = op.Plan.Times.Source.On(op.Plan.Geometry.Image, s.Slab)
	}
	return p
}

// BlameInput marks an error as one of the input unless a package below has marked it,
// such as for a place that the traveltime method refuses.
func BlameInput(err error) error {
	err = FileError(err)
	if status.Code(err) == status.Other {
		return status.Input(err)
	}
	return err
}

// Reader fills dst with the points of an image from number first on.
type PointReader func(dst []float32, first int) error

// Points reads an image that is in memory.
func ReadPoints(image []float32) PointReader {
	return func(dst []float32, first int) error {
		copy(dst, image[first:first+len(dst)])
		return nil
	}
}

// ImageVector is this rank's share of an image, in each of several classes. It is collective.
func (op *Operator) ImageVector(read PointReader) (*dist.Vector, error) {
	v, err := dist.NewVector(op.Here.Device, op.Domain())
	if err == nil {
		err = op.readImage(v, read)
	}
	return v, comm.Together(op.Here.Ranks.World, err)
}

// readImage fills this rank's share of an image.
func (op *Operator) readImage(v *dist.Vector, read PointReader) error {
	l := op.imageLayout()
	part := make([]float32, min(GatherChunk, l.N))
	for first := 0; first < l.N; first += len(part) {
		part = part[:min(len(part), l.N-first)]
		if err := read(part, l.Off+first); err != nil {
			return FileError(err)
		}
		for _, class := range v.Rows() {
			if err := device.Upload(class.Buf.Slice(first, len(part)), part); err != nil {
				return err
			}
		}
	}
	return nil
}

// Data moves this rank's traces into a vector of the operator's range, nil where they
// are streamed.
func (op *Operator) Data() (*dist.Vector, error) {
	data := op.Traces.Samples
	op.Traces.Samples = nil // the vector has them now
	if op.Plan.Held.Stream {
		return nil, nil
	}
	if op.Range().Type == device.F32 && op.Here.Device == device.Device(op.Here.Host) {
		return &dist.Vector{Layout: op.Range(), Buf: device.Wrap(op.Here.Host, data)}, nil
	}
	d, err := dist.NewVector(op.Here.Device, op.Range())
	if err != nil {
		return nil, err
	}
	return d, device.Upload(d.Buf, data)
}

// liftStream spreads the operator of streamed traces over the ranks.
func (op *Operator) liftStream(cuts []int) (err error) {
	domain, rng := op.imageLayout(), op.dataLayout()
	o := dist.StreamOptions{LiftOptions: op.LiftOptions(), Device: op.Here.Device}
	if op.Operator, err = dist.LiftWith(dist.LiftOptions{Reach: o.Reach}, domain, rng, op.Engine.Kernels()[0]); err != nil {
		return err
	}
	if t := op.Traces; t != nil {
		if longest, _ := TwoLongest(cuts); op.Here.Card != nil {
			if err := t.onCard(longest * op.Plan.Geometry.Survey.NT); err != nil {
				return err
			}
		}
		o.Read = func(ctx context.Context) (func() (device.Buf, error), func(), error) {
			return t.read(ctx, cuts, t.feed)
		}
		o.Norm, o.Largest, o.LargestOnce = t.norm, t.sum, t.sumOnce
		if t.Weight != nil {
			o.Weigh = t.Weigh
		}
	}
	op.Stream, err = dist.NewStream(op.Engine.Groups(), domain, rng, o)
	return err
}

// timed books the time of an operator's two directions in the closing table.
func (h *Here) timed(a dist.Operator) dist.Operator {
	return dist.Map("timed", a.Domain(), a.Range(),
		func(w *dist.Work, dst, src *dist.Vector) {
			defer h.Ranks.Report.Time("forward")()
			w.Apply(a, dst, src)
		},
		func(w *dist.Work, dst, src *dist.Vector) {
			defer h.Ranks.Report.Time("adjoint")()
			w.ApplyAdjoint(a, dst, src)
		})
}
