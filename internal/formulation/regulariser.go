package formulation

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
)

// Regulariser is a kind of row R of the problem, which solver.regularization names.
type Regulariser struct {
	// Rows makes R, with derivatives in grid steps, for images like a migrated one.
	Rows func(s *Setting, migrated *dist.Vector) (dist.Operator, error)
	// HostBytes is the memory, in bytes, that Rows takes on rank 0 besides vectors. nil
	// means none.
	HostBytes func(image grid.Grid) int64
}

var regularisers = map[string]*Regulariser{}

// register adds a kind and offers it to the configuration, with what it does as a
// sentence without its period.
func register(name, help string, kind *Regulariser) bool {
	regularisers[name] = kind
	return config.Register("solver.regularization", config.Choice{Name: name, Help: help})
}

// RegulariserOf is the kind of a name, nil for none.
func RegulariserOf(name string) *Regulariser { return regularisers[name] }

// addRows adds the rows of solver.damping and solver.regularization.
func (f *Formulation) addRows(ctx context.Context) error {
	var m scales
	defer m.close()
	kind := RegulariserOf(f.Setting.Config.Regularization)
	if f.Setting.Config.RegWeight == 0 {
		kind = nil
	}
	relative := f.Setting.Config.PenaltyScale == "relative"
	if relative && f.Setting.Config.Damping > 0 || kind != nil {
		end := f.Setting.Report.Time("scales")
		err := f.Setting.again(func() (err error) {
			m.close()
			m, err = f.measure(ctx)
			return comm.Together(f.Setting.World, err)
		})
		end()
		if err != nil {
			return err
		}
	}
	if text := f.dampingText(m.singular); text != "" {
		f.Setting.Report.Infof("%s", text)
	}
	f.damping = f.Setting.Config.Damping
	if relative {
		f.damping *= m.singular
	}
	var rows []dist.Operator
	if d := f.damping; d > 0 {
		rows = append(rows, dist.Scale(d, dist.Identity(f.Problem.Domain())))
	}
	if kind != nil {
		penalty, err := f.regularization(kind, m)
		if err != nil {
			return err
		}
		rows = append(rows, penalty)
	}
	var err error
	f.Problem, err = f.Problem.AddRows(rows...)
	return err
}

// regularization is the row r √λ R of the problem, λ the largest eigenvalue of AᵀA. R is
// the same in every class.
func (f *Formulation) regularization(kind *Regulariser, m scales) (dist.Operator, error) {
	defer f.Setting.Report.Time("regularization")()
	stack, err := Stack(m.migrated, 1)
	if err != nil {
		return nil, err
	}
	r, err := kind.Rows(f.Setting, stack)
	if err != nil {
		return nil, err
	}
	if n := len(m.migrated.Parts); n > 0 {
		r = dist.BlockDiag(slices.Repeat([]dist.Operator{r}, n)...)
	}
	weight := f.Setting.Config.RegWeight * m.singular
	f.Setting.Report.Infof("regularization: %s with weight %.4g, %g times the largest singular value of the operator, about %.4g",
		f.Setting.Config.Regularization, weight, f.Setting.Config.RegWeight, m.singular)
	return dist.Scale(weight, r), nil
}
