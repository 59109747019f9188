package formulation

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/dist"
)

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
	top, err := s.top(d, 0)
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

// Free gives the memory back.
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
