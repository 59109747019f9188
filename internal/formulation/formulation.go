// Package formulation turns an operator and data into the problem that a solver is
// given: min ‖W (A S x − d)‖² + Σ ‖R x‖². W weighs the data, S cuts the image at the
// topography, and R are rows for damping and regularization. The image is S x, or with a band
// S B x. It works only on values, so the same steps on a device.Counter count their memory.
package formulation

import (
	"context"
	"iter"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Setting holds the parts of a problem on one rank.
type Setting struct {
	Config  config.Solver
	Options solver.Options
	Image   grid.Grid
	World   comm.Comm // all ranks
	Device  device.Device
	Threads int
	Report  *progress.Reporter

	Operator dist.Operator // A
	Data     *dist.Vector  // d, which the problem takes over unless KeepData
	KeepData bool
	Passes   solver.Passes // instead of Data where they are streamed, weights included

	Weights     *dist.Vector            // the diagonal of W; nil: all 1
	Below       *dist.Vector            // the diagonal of S; nil: all 1
	Surface     func(point int) float64 // the element of S at a point of the image; nil: all 1
	Band        *imaging.Band           // of the image, on this rank's columns; nil: none
	Start       *dist.Vector            // the image to start from, taken over; nil: zero
	Coherent    bool                    // the data are predicted once, for weights
	StartSolved bool                    // Start is a reflectivity, no image in the band
	Kept        bool                    // iterations begin with a copy, as solver.Stop.Again has it

	// Again, if not nil, runs a step that applies the operator, once more where a library that carries its
	// sums has failed meanwhile.
	Again func(step func(again bool) error) error

	// Squared makes the operator whose adjoint takes squared weights to the diagonal of
	// AᵀW²A.
	Squared func() (dist.Operator, error)

	// Gather brings an image to rank 0, nil on the others and where nothing is
	// computed. Scatter brings it back.
	Gather  func(*dist.Vector) ([]float32, error)
	Scatter func([]float32, *dist.Layout) (*dist.Vector, error)
}

// Formulation is a problem together with what its solver needs besides.
type Formulation struct {
	Setting *Setting
	Problem solver.Problem
	Start   *dist.Vector // of x; nil stands for zero

	damping float64       // weight of the rows of solver.damping
	below   dist.Operator // all rows below the data's; nil: none
	rows    float64       // what rows below the data's add to the diagonal of AᵀA
	changes []dist.Operator
	data    *dist.Vector // W d; nil where they are streamed
}

// New makes the problem: first with weights and topography, then with rows.
func New(ctx context.Context, s *Setting) (*Formulation, error) {
	f, err := weighted(ctx, s)
	if err != nil {
		return nil, err
	}
	return f, f.addRows(ctx)
}

// weighted is the problem with weights and topography.
func weighted(ctx context.Context, s *Setting) (*Formulation, error) {
	f := &Formulation{Setting: s, Start: s.Start}
	if s.Passes != nil {
		f.Problem = solver.Stream(s.Passes)
	} else {
		d, err := s.WeightedData()
		if err != nil {
			return nil, err
		}
		f.Problem, f.data = solver.Hold(s.weigh(), d), d
	}
	if err := f.cut(); err != nil {
		return nil, err
	}
	return f, f.unband(ctx)
}

// cut multiplies the unknown by S.
func (f *Formulation) cut() error {
	if f.Setting.Below == nil {
		return nil
	}
	if f.Start != nil {
		inverse, err := Diagonal(f.Setting.Device, f.Setting.Below.Layout, func(point int) float64 {
			if w := f.Setting.Surface(point); w >= leastStart {
				return 1 / w
			}
			return 0
		})
		if err != nil {
			return err
		}
		defer inverse.Free()
		if err := dist.Multiply(f.Start, inverse); err != nil {
			return err
		}
	}
	return f.change(dist.Diagonal(f.Setting.Below))
}

// leastStart is the least weight of S at which the start model is not left at zero.
const leastStart = 1e-3

// weigh is W A.
func (s *Setting) weigh() dist.Operator {
	if s.Weights == nil {
		return s.Operator
	}
	return dist.Chain(dist.Diagonal(s.Weights), s.Operator)
}

// Scaled is W A S.
func (s *Setting) Scaled() dist.Operator {
	a := s.weigh()
	if s.Below != nil {
		a = dist.Chain(a, dist.Diagonal(s.Below))
	}
	return a
}

// WeightedData is W d, in a vector of its own if KeepData and else in that of d.
func (s *Setting) WeightedData() (*dist.Vector, error) {
	switch {
	case s.Weights == nil:
		return s.Data, nil
	case s.KeepData:
		return product(s.Data, s.Weights)
	}
	return s.Data, dist.Multiply(s.Data, s.Weights)
}

// Predict is W A y.
func (s *Setting) Predict(ctx context.Context, y *dist.Vector) (*dist.Vector, error) {
	a := s.weigh()
	w := &dist.Work{Ctx: ctx}
	var d *dist.Vector
	w.New(s.Device, a.Range(), &d)
	w.Apply(a, d, y)
	return d, w.Err
}

// Weighed is W d; nil where data are streamed.
func (f *Formulation) Weighed() *dist.Vector { return f.data }

// Reweigh multiplies W and W d by further weights. The caller must restart its solver.
func (f *Formulation) Reweigh(by *dist.Vector) error {
	w := &dist.Work{}
	w.Multiply(f.Setting.Weights, by)
	w.Multiply(f.data, by)
	return w.Err
}

// change changes variables: the solver now looks for x, and its former unknown is C x. The
// caller must change the start.
func (f *Formulation) change(c dist.Operator) (err error) {
	f.changes = append(f.changes, c)
	f.Problem, err = f.Problem.Change(c)
	return err
}

// ReflectivityOf returns what the operator maps to the traces, of an iterate: x itself unless
// variables were changed.
func (f *Formulation) ReflectivityOf(x *dist.Vector) (*dist.Vector, error) {
	return applyAll(x, slices.Backward(f.changes))
}

// ImageOf returns the image of an iterate: with a band S B y where the reflectivity is S y.
func (f *Formulation) ImageOf(x *dist.Vector) (*dist.Vector, error) {
	if f.Setting.Band == nil {
		return f.ReflectivityOf(x)
	}
	first := 0
	if f.Setting.Below != nil {
		first = 1 // S is the first change
	}
	all := slices.Insert(slices.Clone(f.changes), first, onColumns(f.Setting.Band, x.Layout))
	return applyAll(x, slices.Backward(all))
}

// applyAll applies operators to x, one after the other.
func applyAll(x *dist.Vector, all iter.Seq2[int, dist.Operator]) (*dist.Vector, error) {
	w := &dist.Work{Ctx: context.Background()}
	var between *dist.Vector
	for _, a := range all {
		var v *dist.Vector
		w.New(x.Device(), x.Layout, &v)
		w.Apply(a, v, x)
		if between != nil {
			between.Free()
		}
		x, between = v, v
	}
	return x, w.Err
}

// Method is the configured solver.
func (f *Formulation) Method() (*solver.Method, error) {
	o := f.Setting.Options
	return solver.For(f.Problem, f.Setting.Config.Method, o)
}

// Peak is the number of bytes that vectors take at most while a problem is made and
// solved, those that are there already included, for a setting on a device.Counter.
func Peak(s *Setting) (int64, error) {
	ctx, counter := context.Background(), s.Device.(*device.Counter)
	s.Report, s.Options.AdjointFail = progress.Discard(), -1
	f, err := New(ctx, s)
	if err != nil {
		return 0, err
	}
	x := f.Start
	if s.Config.Method == "matching" {
		var r *Matched
		if r, err = f.Match(ctx, imaging.MatchOptions{}); err == nil {
			x = r.X
		}
	} else {
		var m *solver.Method
		if m, err = f.Method(); err != nil {
			return 0, err
		}
		err = m.Init(ctx, f.Problem, f.Start)
		for range 2 {
			if err == nil && s.Kept {
				err = m.Keep()
			}
			if err == nil {
				err = m.Step(ctx)
			}
		}
		x = m.X()
		if err == nil && s.Coherent && s.Passes == nil {
			var predicted *dist.Vector
			if predicted, err = s.Predict(ctx, x); err == nil {
				_, err = dist.NewVector(s.Device, predicted.Layout) // of the weights
			}
		}
	}
	if err == nil {
		_, err = f.ImageOf(x)
	}
	if err == nil && f.Setting.Band != nil {
		_, err = f.ReflectivityOf(x)
	}
	return counter.Peak(), err
}
