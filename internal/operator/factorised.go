package operator

import (
	"cmp"
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/butterfly"
)

// Factorised is what is summed as products of matrices, on all ranks.
type Factorised struct {
	Share    float64 // of the pairs of traces and points that count
	Gain     float64 // how many times faster an application is than direct sums of the same accuracy, by a model of costs
	Promised float64 // kirchhoff.accuracy
	Found    float64 // the error of the sample of the rank where it is largest
	Worst    float64 // that of the worst part
	Parts    int     // that were sampled

	Flop, Bytes float64 // of an application, see butterfly.Count
}

// Text says how much is factorised and how far off it is.
func (f *Factorised) Text() string {
	if f.Parts == 0 {
		return "nothing worth factorising"
	}
	return fmt.Sprintf("%.0f %% of the pairs of traces and points factorised, about %.2g times faster than direct sums of the same accuracy, off by %.1e where sampled (at most %g), %.1e in the worst part", 100*f.Share, f.Gain, f.Found, f.Promised, f.Worst)
}

// Counted says what an application takes, by a count.
func (f *Factorised) Counted() string {
	return fmt.Sprintf("%.2g Gflop and %.2g GB an application in either direction", 1e-9*f.Flop, 1e-9*f.Bytes)
}

// partsFound is what this rank tells the others of its parts.
type partsFound struct {
	pairs float64 // of traces and points that count
	butterfly.Saving
	butterfly.Found
	butterfly.Count
}

// factorise has the dense parts of the operator summed as products of matrices, where that is cheaper.
// It returns what it finds of them, nil where all sums are direct on all ranks. It is collective where
// plan.Factorises.
func (op *Operator) factorise(ctx context.Context, p *kirchhoff.Problem) (*partsFound, error) {
	if !plan.Factorises(op.Plan, op.Share) {
		return nil, nil
	}
	stage := op.Report.Stage("skeletons")
	defer stage.End()
	q := op.Problem(plan.Among(op.Plan, op.Share))
	q.Velocity = p.Velocity
	stage.Total(len(op.Clusters.With(q.Positions)), "places")
	q.Progress = func() { stage.Add(1) }
	dense, err := butterfly.NewPart(ctx, q, op.Clusters, op.Config.Kirchhoff.Accuracy, op.longest)
	if err != nil {
		return nil, err
	}
	op.leave(p, dense)
	return op.measure(ctx, p, dense)
}

// longest is the largest number of all ranks, or everyone's error.
func (op *Operator) longest(seconds float64, err error) (float64, error) {
	if err := comm.Together(op.World, BlameInput(err)); err != nil {
		return 0, err
	}
	x := []float64{seconds}
	err = op.ofAll(x, comm.Max)
	return x[0], err
}

// ofAll joins the numbers of all ranks.
func (op *Operator) ofAll(x []float64, how comm.Op) error {
	if op.World.Size() == 1 {
		return nil
	}
	return op.World.Host().AllReduce(x, how)
}

// measure compares a sample of the parts of this rank with direct sums.
func (op *Operator) measure(ctx context.Context, p *kirchhoff.Problem, o *butterfly.Operator) (m *partsFound, err error) {
	m = &partsFound{pairs: float64(p.Triples())}
	if o == nil {
		return m, nil
	}
	defer op.Report.Time("accuracy")()
	m.Saving, m.Count = o.Saving(), o.Count()
	m.Found, err = o.Measure(ctx)
	return m, err
}

// leave leaves to o, nil for none, what it sums of the problem, with solver.defect_correction by a switch
// that is off as yet.
func (op *Operator) leave(p *kirchhoff.Problem, o *butterfly.Operator) {
	correct := op.Config.Solver.DefectCorrection
	switch {
	case o == nil && correct: // but perhaps not on other ranks
		op.Direct = func(bool) {}
	case o == nil:
	case correct:
		s := &kirchhoff.Switch{Elsewhere: kirchhoff.Renumbered(o, op.Share.From), Off: true}
		p.Elsewhere, op.Direct = s, func(on bool) { s.Off = on }
	default:
		p.Elsewhere = kirchhoff.Renumbered(o, op.Share.From)
	}
}

// judge sets Factorised. Its error says that what was found is above what is promised. It is
// collective.
func (op *Operator) judge(m *partsFound) error {
	if m == nil { // on all ranks
		return nil
	}
	sums, worst := []float64{m.pairs, m.Triples, m.Direct, m.Factorised, float64(m.Parts), m.Flop(), m.Bytes}, []float64{m.Off(), m.Worst}
	if err := cmp.Or(op.ofAll(sums, comm.Sum), op.ofAll(worst, comm.Max)); err != nil {
		return err
	}
	f := &Factorised{Promised: op.Config.Kirchhoff.Accuracy, Found: worst[0], Worst: worst[1], Parts: int(sums[4]), Flop: sums[5], Bytes: sums[6]}
	f.Share, f.Gain = butterfly.Saving{Triples: sums[1], Direct: sums[2], Factorised: sums[3]}.Of(sums[0])
	op.Factorised, op.Info = f, op.Info+"; "+f.Text()
	op.Report.Event("factorised", "share", f.Share, "gain", f.Gain, "promised", f.Promised, "found", f.Found, "worst", f.Worst, "parts", f.Parts, "flop", f.Flop, "bytes", f.Bytes)
	if f.Parts == 0 && op.Direct != nil {
		op.Direct = nil
		op.Report.Infof("solver.defect_correction: nothing is factorised, so nothing is to be corrected")
	}
	if f.Found <= f.Promised {
		return nil
	}
	return status.Hint(status.Numerical(fmt.Errorf("kirchhoff.accuracy = %g: factorised sums are off by %.1e in a sample of this survey", f.Promised, f.Found)),
		"a smaller kirchhoff.accuracy has more summed directly; 0 has all")
}
