package operator

import (
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/butterfly"
)

// factorise has the dense parts of the operator summed as products of matrices, where that is cheaper,
// and says how much it is. It is collective where plan.Factorises.
func (op *Operator) factorise(ctx context.Context, p *kirchhoff.Problem) (text string, err error) {
	if !plan.Factorises(op.Plan, op.Share) {
		return "", nil
	}
	stage := op.Report.Stage("skeletons")
	defer stage.End()
	whole := plan.Among(op.Plan, op.Share)
	q := op.Problem(whole)
	stage.Total(len(op.Clusters.With(q.Positions)), "places")
	q.Progress = func() { stage.Add(1) }
	dense, err := butterfly.NewPart(ctx, q, op.Clusters, op.Config.Kirchhoff.Accuracy, op.longest)
	if err != nil {
		return "", err
	}
	pairs := []float64{0, float64(p.NumTraces()) * float64(p.ImageLen())} // factorised, and all
	if dense != nil {
		p.Elsewhere = kirchhoff.Renumbered(dense, op.Share.From)
		pairs[0] = float64(dense.Triples())
	}
	if err := op.ofAll(pairs, comm.Sum); err != nil || pairs[0] == 0 {
		return "; nothing worth factorising", err
	}
	return fmt.Sprintf("; %.0f %% of the pairs of traces and points factorised", 100*pairs[0]/pairs[1]), nil
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
