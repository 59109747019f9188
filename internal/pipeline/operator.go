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

	"github.com/kirchhoff-lsm/lsm/internal/formulation"
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
	plan    *Plan
	process *Process
	share   *Share
	traces  *RankTraces // nil without any

	lifted dist.Operator
	engine kirchhoff.Engine
	Info   string       // engine, instruction set, memory of the tables
	stream *dist.Stream // where traces are streamed: what applies the operator then

	set *formulation.Setting // of the problem without data, from its first use on

	team, teams comm.Comm // with teams of ranks: this rank's with the same column, and one of each team and column
}

// Linear is the linear operator of all ranks, from the image to the traces.
func (op *Operator) Linear() dist.Operator { return op.lifted }

// BuildOperator computes the traveltimes and makes the operator, on all ranks. It is the
// long part of getting ready; its progress is reported place by place.
func BuildOperator(ctx context.Context, p *Plan, h *Process, s *Share, t *RankTraces) (*Operator, error) {
	op := &Operator{plan: p, process: h, share: s, traces: t}
	if err := comm.Together(h.Ranks.World, op.joinTeams()); err != nil {
		return nil, err
	}
	m := CountMemory(p, s)
	err := m.Check()
	if err == nil {
		err = op.readModels()
	}
	if err == nil {
		err = op.buildEngine(ctx, m)
	}
	if err := h.togetherWhenLate(err); err != nil {
		return nil, err
	}
	if err := comm.Together(h.Ranks.World, op.allowFallback()); err != nil {
		return nil, err
	}
	if m.Stream {
		return op, comm.Together(h.Ranks.World, op.liftStream(m.Groups))
	}
	lifted, err := op.Lift(op.LiftOptions())
	if err := comm.Together(h.Ranks.World, err); err != nil {
		return nil, err
	}
	op.lifted = op.process.bookTimes(lifted)
	return op, nil
}

// joinTeams finds the ranks that share this rank's part of the image, and those that hold others.
func (op *Operator) joinTeams() (err error) {
	if !op.share.Local() {
		return nil
	}
	team, member := op.share.Team()
	if op.team, err = op.process.AllRanks.Split(team*op.process.Grid[1]+op.share.Column(), op.share.Rank); err == nil {
		op.teams, err = op.process.AllRanks.Split(member, op.share.Rank)
	}
	if err == nil {
		watch.Name(op.team, "team")
		watch.Name(op.teams, "teams")
	}
	return err
}

// LiftOptions says how contributions of the ranks are added up.
func (op *Operator) LiftOptions() dist.LiftOptions {
	overlap := op.plan.Config.Comm.Overlap
	o := dist.LiftOptions{
		Exact:       op.plan.Exact(),
		Overlap:     overlap != "off",
		KeepOverlap: overlap != "auto" || op.plan.Config.Comm.Accumulate == "onesided", // which hides nothing
		Choose:      op.sayChoice,
		Reach:       op.imageReach(),
	}
	if op.process.Ranks.Report.Books() {
		o.InFlight = func(begin time.Time, took time.Duration) {
			op.process.Ranks.Report.Beside(device.LaneSums, device.MarkAllReduce, begin, took, took)
		}
	}
	return o
}

// sayChoice reports how sums go over ranks, and why.
func (op *Operator) sayChoice(c dist.Choice) {
	taken := c.Ways[c.Taken]
	op.process.taken = taken.Carrier
	type row struct {
		Carrier string  `json:"carrier"`
		Overlap bool    `json:"overlap"`
		Seconds float64 `json:"seconds"`
	}
	var rows []row
	for _, w := range c.Ways {
		rows = append(rows, row{w.Carrier, w.Overlap, w.Took.Seconds()})
	}
	op.process.Ranks.Report.Event("carriers", "taken", taken.Carrier, "overlap", taken.Overlap, "ways", rows)
	if several := rows[0].Carrier != rows[1].Carrier; several {
		op.process.Ranks.Report.Infof("comm.backend: auto takes %s. Forward and adjoint take on the slowest rank:", taken.Carrier)
		for _, r := range rows {
			op.process.Ranks.Report.Infof("  %-20s %-16s %.3g s", r.Carrier, map[bool]string{true: "with overlap", false: "without overlap"}[r.Overlap], r.Seconds)
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
	op.process.Ranks.Report.Infof("comm.overlap: %s (forward and adjoint take %.3g s with, %.3g s without, of which sums %.3g s)",
		text, with.Took.Seconds(), without.Took.Seconds(), without.Sums.Seconds())
}

// Lift joins the ranks' parts of the operator.
func (op *Operator) Lift(o dist.LiftOptions) (dist.Operator, error) {
	domain := op.imageLayout()
	if n := op.plan.Classes.N; n > 0 {
		domain = dist.Stack(slices.Repeat([]*dist.Layout{domain}, n)...)
	}
	return dist.LiftWith(o, domain, op.dataLayout(), op.engine.Kernels()...)
}

// imageLayout returns the image's, split along x over blocks or, with an aperture, over teams and
// blocks.
func (op *Operator) imageLayout() *dist.Layout {
	plane, width := op.plan.Geometry.Plane(), kirchhoff.SlabPoints(op.plan.Geometry.Image.Dim())
	l := &dist.Layout{
		Shape: op.plan.Geometry.Image.Shape, Off: op.share.Own[0] * plane, N: op.plan.Geometry.Points(op.share),
		Type: op.plan.Type(), Shards: op.process.BlockAxis, Copies: op.process.ShotAxis,
	}
	if op.share.Local() {
		l.Shards, l.Copies = op.teams, op.team
	}
	if op.plan.Exact() {
		l.Units = []int{}
		for x := op.share.Own[0]; x < op.share.Own[1]; x += width {
			l.Units = append(l.Units, x*plane-l.Off)
		}
	}
	return l
}

// imageReach returns what this rank's kernels map of the image, nil for what it holds.
func (op *Operator) imageReach() *dist.Reach {
	if !op.share.Local() {
		return nil
	}
	plane := op.plan.Geometry.Plane()
	r := &dist.Reach{Off: op.share.Slab[0] * plane, N: op.plan.Geometry.Reached(op.share)}
	r.Units, r.Sums = op.plan.Problem(op.share).Slabs()
	for i := range r.Units {
		r.Units[i] *= plane
	}
	return r
}

// dataLayout is the layout of the data, split over shots.
func (op *Operator) dataLayout() *dist.Layout {
	nt := op.plan.Geometry.Survey.NT
	l := &dist.Layout{
		Shape: op.plan.Geometry.DataShape(), Off: op.share.First * nt, N: op.share.Traces() * nt,
		Type: op.plan.Type(), Shards: op.process.ShotAxis, Copies: op.process.BlockAxis,
	}
	if op.plan.Exact() {
		for _, first := range op.share.Shots {
			l.Units = append(l.Units, first*nt)
		}
	}
	return l
}

// readModels reads the parts of the velocity models that this rank needs, unless the plan has them.
func (op *Operator) readModels() error {
	slabs := op.plan.ModelSlabs(op.share)
	if op.plan.Times.Source.Holds(slabs[survey.AtSource]) && op.plan.Times.Receiver.Holds(slabs[survey.AtReceiver]) {
		return nil
	}
	source, receiver, err := op.plan.Inputs.ReadSlabs(slabs)
	if err == nil {
		op.plan, err = op.plan.With(source, receiver)
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
	if p.Times.Source.Holds(all[survey.AtSource]) && p.Times.Receiver.Holds(all[survey.AtReceiver]) {
		return p, nil
	}
	source, receiver, err := p.Inputs.ReadSlabs(all)
	if err != nil {
		return nil, err
	}
	return p.With(source, receiver)
}

// buildEngine makes this rank's part in the memory that was foreseen.
func (op *Operator) buildEngine(ctx context.Context, m Memory) (err error) {
	p := op.describeShare(op.share)
	stage := op.process.Ranks.Report.Stage("traveltimes")
	defer stage.End()
	stage.Total(op.share.Places.Len(), "places")
	p.Progress = func() { stage.Add(1) }
	if m.Coarse > 0 {
		_, opt := p.TimesNeeded()
		coarse, err := traveltime.NewCoarse(ctx, p.Times, p.Positions, CoarseFactor, opt)
		if err != nil {
			return BlameInput(err)
		}
		p.Times = coarse
	}
	w := kirchhoff.Work{Cuts: m.Groups, Remake: m.Recompute, Budget: m.Budget, Exact: op.plan.Exact(), Whole: op.share.Local(),
		Classes: op.plan.Classes.Of(op.plan.Geometry.Shots.List(op.share.First, op.share.Last))}
	switch {
	case op.process.Card != nil:
		op.engine, err = kernels.New(ctx, op.process.Card, p, w)
	case op.plan.Hardware.Engine == "reference":
		op.engine, err = kirchhoff.NewReference(ctx, p, w)
	default:
		op.engine, err = kirchhoff.New(ctx, p, w)
	}
	if err != nil {
		return BlameInput(err)
	}
	op.Info = fmt.Sprintf("engine %s: %s", op.engine.Name(), op.engine.Info())
	if w.Classes != nil {
		op.Info += " by " + op.plan.Classes.By()
	}
	return nil
}

// describeShare returns the problem of a share with what dynamic weights need of the slab.
func (op *Operator) describeShare(s *Share) *kirchhoff.Problem {
	p := op.plan.Problem(s)
	if p.Dynamic {
		p.Velocity = op.plan.Times.Source.On(op.plan.Geometry.Image, s.Slab)
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

// PointReader fills dst with the points of an image from number first on.
type PointReader func(dst []float32, first int) error

// ReadPoints reads an image that is in memory.
func ReadPoints(image []float32) PointReader {
	return func(dst []float32, first int) error {
		copy(dst, image[first:first+len(dst)])
		return nil
	}
}

// ImageVector is this rank's share of an image, in each of several classes. It is collective.
func (op *Operator) ImageVector(read PointReader) (*dist.Vector, error) {
	v, err := dist.NewVector(op.process.Device, op.lifted.Domain())
	if err == nil {
		err = op.readImage(v, read)
	}
	return v, comm.Together(op.process.Ranks.World, err)
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
	data := op.traces.Samples
	op.traces.Samples = nil // the vector has them now
	if op.plan.Held.Stream {
		return nil, nil
	}
	if op.lifted.Range().Type == device.F32 && op.process.Device == device.Device(op.process.Host) {
		return &dist.Vector{Layout: op.lifted.Range(), Buf: device.Wrap(op.process.Host, data)}, nil
	}
	d, err := dist.NewVector(op.process.Device, op.lifted.Range())
	if err != nil {
		return nil, err
	}
	return d, device.Upload(d.Buf, data)
}

// liftStream spreads the operator of streamed traces over the ranks.
func (op *Operator) liftStream(cuts []int) (err error) {
	domain, rng := op.imageLayout(), op.dataLayout()
	o := dist.StreamOptions{LiftOptions: op.LiftOptions(), Device: op.process.Device}
	if op.lifted, err = dist.LiftWith(dist.LiftOptions{Reach: o.Reach}, domain, rng, op.engine.Kernels()[0]); err != nil {
		return err
	}
	if t := op.traces; t != nil {
		if longest, _ := FindTwoLongest(cuts); op.process.Card != nil {
			if err := t.prepareCard(longest * op.plan.Geometry.Survey.NT); err != nil {
				return err
			}
		}
		o.Read = func(ctx context.Context) (func() (device.Buf, error), func(), error) {
			return t.startReading(ctx, cuts, t.feed)
		}
		o.Norm, o.Largest, o.LargestOnce = t.norm, t.sum, t.sumOnce
		if t.Weight != nil {
			o.Weigh = t.Weigh
		}
	}
	op.stream, err = dist.NewStream(op.engine.Groups(), domain, rng, o)
	return err
}

// bookTimes books the time of an operator's two directions in the closing table.
func (h *Process) bookTimes(a dist.Operator) dist.Operator {
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
