package pipeline

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/agreement"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/solver"
)

const (
	fallsInARow = 3    // iterations in a row after which a solve ends whose halves agree less and less
	muchApart   = 0.05 // loss of agreement that is worth a warning
)

// measureAgreement returns on all ranks how well the images of the odd and of the even shots agree. take, if not nil, is handed
// the agreement around each point on rank 0. It is collective.
func (op *Operator) measureAgreement(halves *dist.Vector, take func(first int, local []float32) error) (whole float64, err error) {
	defer op.process.Ranks.Report.Time("agreement of halves")()
	a, b := halves.Parts[0], halves.Parts[1]
	squares, err := dist.Dots([2]*dist.Vector{a, a}, [2]*dist.Vector{b, b})
	if err != nil {
		return 0, err
	}
	first, err := op.process.Whole(a)
	if err != nil {
		return 0, err
	}
	var scan *agreement.Scan
	if op.process.Ranks.Root() {
		scan = agreement.NewScan(op.plan.Geometry.Image.Shape, math.Sqrt(squares[0]), math.Sqrt(squares[1]), take)
	}
	err = op.process.Gather(b, op.plan.Geometry.Plane(), func(at int, part []float32) error { return scan.Add(first[at:at+len(part)], part) })
	if err == nil && scan != nil {
		whole, err = scan.End()
	}
	if err := op.process.Ranks.Together(err); err != nil {
		return 0, err
	}
	all, err := comm.GatherJSON(op.process.Ranks.World.Host().AllGather, whole)
	if err != nil {
		return 0, err
	}
	return all[0], nil
}

// judgeHalves finds how well the halves of a result agree. With output.filter = "agreement" it multiplies its image,
// their mean or sum, by the Wiener filter of the agreement. If a share γ of the power of each half is in both, the
// filter is the share of it in the power of their mean, 2γ/(1+γ).
func (op *Operator) judgeHalves(r *Result) (err error) {
	if op.plan.Config.Output.Filter != "agreement" {
		r.Agreed, err = op.measureAgreement(r.Classes, nil)
		return err
	}
	var filter []float32
	if op.process.Ranks.Root() {
		filter = make([]float32, 0, op.plan.Geometry.Image.Len())
	}
	r.Agreed, err = op.measureAgreement(r.Classes, func(_ int, local []float32) error {
		for _, g := range local {
			filter = append(filter, 2*max(0, g)/(1+max(0, g)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	v, err := op.process.Spread(filter, r.Image.Layout)
	if err == nil {
		err = dist.Multiply(r.Image, v)
		v.Free()
	}
	return err
}

// recordAgreement returns how well the halves of an iterate agree, and adds it to the history. It is nil without halves.
func (s *solving) recordAgreement(m *solver.Method) (*float64, error) {
	if !s.op.plan.Classes.Halves() {
		return nil, nil
	}
	images, err := s.f.ImageOf(m.X())
	if err != nil {
		return nil, err
	}
	whole, err := s.op.measureAgreement(images, nil)
	if images != m.X() {
		images.Free()
	}
	h := &m.State().History
	h.Agreement = append(h.Agreement, whole)
	return &whole, err
}

// halvesGrowApart reports whether the halves have agreed less after each of the last iterations, of one problem, and
// much less than before.
func halvesGrowApart(s *solver.State) bool {
	h := s.History.Agreement
	h = h[min(len(h), max(0, s.Restarted-1)):] // begins with the last one before the restart
	if len(h) <= fallsInARow || slices.Max(h)-h[len(h)-1] < muchApart {
		return false
	}
	h = h[len(h)-fallsInARow-1:]
	for i := range fallsInARow {
		if h[i+1] >= h[i] {
			return false
		}
	}
	return true
}

// warnOfHalvesApart warns where later iterations have taken the halves apart.
func warnOfHalvesApart(ranks Ranks, h []float64) {
	if len(h) == 0 || !ranks.Root() {
		return
	}
	best, last := slices.Max(h), h[len(h)-1]
	if best-last > muchApart {
		ranks.Report.Warn(fmt.Sprintf("images of the odd and of the even shots agree by %.3f after %s, and agreed by %.3f after %d: what was added since is not in all shots (solver.iterations, solver.damping)",
			last, readable.Count(len(h), "iteration"), best, slices.Index(h, best)+1))
	}
}
