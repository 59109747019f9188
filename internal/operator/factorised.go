package operator

import (
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/butterfly"
)

// Factorised is what is summed as products of matrices, on all ranks.
type Factorised struct {
	Share    float64 // of the pairs of traces and points
	Promised float64 // kirchhoff.accuracy
	Found    float64 // the largest error of the parts that were sampled, on any rank
	Parts    int     // that were sampled

	Flop, Bytes float64 // of an application, see butterfly.Count
}

// Text says how much is factorised and how far off it is.
func (f *Factorised) Text() string {
	if f.Parts == 0 {
		return "nothing worth factorising"
	}
	return fmt.Sprintf("%.0f %% of the pairs of traces and points factorised, off by %.1e where sampled (at most %g)", 100*f.Share, f.Found, f.Promised)
}

// Counted says what an application takes, by a count.
func (f *Factorised) Counted() string {
	return fmt.Sprintf("%.2g Gflop and %.2g GB an application in either direction", 1e-9*f.Flop, 1e-9*f.Bytes)
}

// partsFound is what this rank tells the others of its parts.
type partsFound struct {
	triples, pairs float64
	butterfly.Found
	butterfly.Count
}

// measure compares a sample of the parts of this rank with direct sums.
func (op *Operator) measure(ctx context.Context, p *kirchhoff.Problem, o *butterfly.Operator) (m *partsFound, err error) {
	m = &partsFound{pairs: float64(p.NumTraces()) * float64(p.ImageLen())}
	if o == nil {
		return m, nil
	}
	defer op.Report.Time("accuracy")()
	m.triples = float64(o.Triples())
	m.Count = o.Count()
	m.Found, err = o.Measure(ctx)
	return m, err
}

// checkBlocks refuses what needs factorised sums, where image blocks leave none.
func (op *Operator) checkBlocks() error {
	if !op.Config.Solver.DefectCorrection {
		return nil
	}
	return status.Usage(fmt.Errorf("solver.defect_correction: all sums are direct: %d image blocks", op.Grid[1]))
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
		s := &kirchhoff.Switch{Elsewhere: o, Off: true}
		p.Elsewhere, op.Direct = s, func(on bool) { s.Off = on }
	default:
		p.Elsewhere = o
	}
}

// judge sets Factorised. Its error says that what was found is above what is promised. It is
// collective.
func (op *Operator) judge(m *partsFound) error {
	if m == nil { // on all ranks
		return nil
	}
	sums, worst := []float64{m.triples, m.pairs, float64(m.Parts), m.Flop(), m.Bytes}, []float64{m.Worst()}
	if err := op.World.Host().AllReduce(sums, comm.Sum); err != nil {
		return err
	}
	if err := op.World.Host().AllReduce(worst, comm.Max); err != nil {
		return err
	}
	f := &Factorised{Share: sums[0] / sums[1], Promised: op.Config.Kirchhoff.Accuracy, Found: worst[0], Parts: int(sums[2]), Flop: sums[3], Bytes: sums[4]}
	op.Factorised, op.Info = f, op.Info+"; "+f.Text()
	op.Report.Event("factorised", "share", f.Share, "promised", f.Promised, "found", f.Found, "parts", f.Parts, "flop", f.Flop, "bytes", f.Bytes)
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
