package formulation

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Light is the diagonal of S AᵀW²A S, for several images by class a stack of theirs.
func (s *Setting) Light(ctx context.Context) (*dist.Vector, error) {
	squared, err := s.Squared()
	if err != nil {
		return nil, err
	}
	w := &dist.Work{Ctx: ctx}
	var w2, d *dist.Vector
	w.New(s.Device, squared.Range(), &w2)
	if s.Weights != nil {
		w.Copy(w2, s.Weights)
		w.Multiply(w2, s.Weights)
	} else {
		w.Do(func() error { return each(w2, w2, func(int, float64) float64 { return 1 }) })
	}
	w.New(s.Device, squared.Domain(), &d)
	w.ApplyAdjoint(squared, d, w2)
	if s.Below != nil {
		w.Multiply(d, s.Below)
		w.Multiply(d, s.Below)
	}
	if w.Err == nil {
		w2.Free()
	}
	return d, w.Err
}

// leastLight is ε: what points lit by less would gain is mostly noise.
const leastLight = 0.01

// Illumination says how strongly each point of each class is lit: D + ε max D, with the
// diagonal D of S AᵀW²A S by class, its largest value of all classes and ε = leastLight.
type Illumination struct {
	by  *dist.Vector
	top float64 // max D
}

// Illumination finds it, at the price of an adjoint.
func (s *Setting) Illumination(ctx context.Context) (*Illumination, error) {
	d, err := s.Light(ctx)
	if err != nil {
		return nil, err
	}
	top, err := s.maxOverRanks(d, func(v float64) float64 { return v })
	if err == nil && (math.IsNaN(top) || math.IsInf(top, 0)) {
		err = status.Numerical(fmt.Errorf("the diagonal of the operator is not finite (%g)", top))
	}
	if err != nil {
		return nil, err
	}
	return &Illumination{d, top}, eachRow(d, d, func(v float64) float64 {
		if top == 0 {
			return 1
		}
		return v + leastLight*top
	})
}

// Normalize turns a migrated image, a stack by class, into a reflectivity in place: it
// divides every point by (D + ε max D) / (1 + ε).
func (l *Illumination) Normalize(x *dist.Vector) error { return divide(x, l.by, 1+leastLight) }

// Mean is the mean of the images by class, weighted at every point by the illumination.
func (l *Illumination) Mean(x *dist.Vector) (*dist.Vector, error) {
	lit, err := product(x, l.by)
	if err != nil {
		return nil, err
	}
	defer lit.Free()
	mean, err := Stack(lit, 1)
	if err != nil {
		return nil, err
	}
	all, err := Stack(l.by, 1)
	if err != nil {
		return nil, err
	}
	defer all.Free()
	return mean, divide(mean, all, 1)
}

// Shares turns it, in place, into D / max D, which it returns: 0 where a class lights nothing.
func (l *Illumination) Shares() (*dist.Vector, error) {
	return l.by, eachRow(l.by, l.by, func(v float64) float64 {
		if l.top == 0 {
			return 0
		}
		return max(0, v/l.top-leastLight)
	})
}

// Free frees the memory.
func (l *Illumination) Free() { l.by.Free() }

// divide multiplies x by a factor and divides it by y, element by element.
func divide(x, y *dist.Vector, factor float64) error {
	w := &dist.Work{}
	var gain *dist.Vector
	w.New(x.Device(), x.Layout, &gain)
	w.Do(func() error { return eachRow(gain, y, func(v float64) float64 { return factor / v }) })
	w.Multiply(x, gain)
	if w.Err == nil {
		gain.Free()
	}
	return w.Err
}
