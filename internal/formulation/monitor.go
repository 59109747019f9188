package formulation

import (
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
)

// Baseline x_b and monitor x_m are inverted together (Ayeni and Biondi, Geophysics 75, 2010):
//
//	min ‖W_b(A_b x_b − d_b)‖² + ‖W_m(A_m x_m − d_m)‖² + μ²‖x_m − x_b‖².
//
// With l1 the last term is 2μ‖x_m − x_b‖₁. In the variables x_b and x_m − x_b it is an l1 norm
// of one part, which soft thresholding can do.

// couples reports whether the difference of two images is penalised.
func (s *Setting) couples() bool { return s.Monitor.IsSet() && s.Monitor.Weight > 0 }

// sparseDifference reports whether the solver looks for x_b and x_m − x_b.
func (s *Setting) sparseDifference() bool { return s.Monitor.IsSet() && s.Monitor.Difference == "l1" }

// differenceRows are the row μ(x_m − x_b) of an l2 penalty, or none. μ is the weight times the
// largest singular value of the two operators.
func (f *Formulation) differenceRows(m scales) []dist.Operator {
	if !f.couples() || f.sparseDifference() {
		return nil
	}
	weight := f.Monitor.Weight * m.singular
	f.Report.Infof("difference: l2 with weight %.4g, %g times the largest singular value of the two operators, about %.4g",
		weight, f.Monitor.Weight, m.singular)
	f.coupling = weight
	return []dist.Operator{dist.Scale(weight, difference(f.Problem.Domain()))}
}

// changeToDifference makes the solver look for x_b and x_m − x_b, and finds the weight μ of the
// difference: that of survey.monitor times the largest value of the two migrated images.
func (f *Formulation) changeToDifference(m scales) error {
	if f.couples() {
		f.apart = f.Monitor.Weight * m.image
		f.Report.Infof("difference: l1 with weight %.4g, %g times the largest value of the two migrated images, about %.4g",
			f.apart, f.Monitor.Weight, m.image)
	}
	if f.Start != nil {
		if err := dist.Axpby(-1, f.Start.Parts[0], 1, f.Start.Parts[1]); err != nil {
			return err
		}
	}
	return f.change(onBaseline(f.Problem.Domain()))
}

// difference maps (x_b; x_m) to x_m − x_b.
func difference(pair *dist.Layout) dist.Operator {
	return dist.Map("difference", pair, pair.Parts[0],
		func(w *dist.Work, dst, src *dist.Vector) {
			w.Copy(dst, src.Parts[1])
			w.Axpby(-1, src.Parts[0], 1, dst)
		},
		func(w *dist.Work, dst, src *dist.Vector) {
			w.Copy(dst.Parts[1], src)
			w.Zero(dst.Parts[0])
			w.Axpby(-1, src, 1, dst.Parts[0])
		})
}

// onBaseline maps (x_b; x_m − x_b) to (x_b; x_m).
func onBaseline(pair *dist.Layout) dist.Operator {
	return dist.Map("on baseline", pair, pair,
		func(w *dist.Work, dst, src *dist.Vector) {
			w.Copy(dst, src)
			w.Axpby(1, src.Parts[0], 1, dst.Parts[1])
		},
		func(w *dist.Work, dst, src *dist.Vector) {
			w.Copy(dst, src)
			w.Axpby(1, src.Parts[1], 1, dst.Parts[0])
		})
}

// Joint is the setting of the repeat survey m beside that of the baseline s. Both are of one
// image and the same configuration.
func (s *Setting) Joint(m *Setting, monitor config.Monitor) (*Setting, error) {
	j := *s
	j.Monitor = monitor
	j.Operator = dist.BlockDiag(s.Operator, m.Operator)
	j.Squared = func() (dist.Operator, error) {
		b, err := s.Squared()
		if err != nil {
			return nil, err
		}
		of, err := m.Squared()
		if err != nil {
			return nil, err
		}
		return dist.BlockDiag(b, of), nil
	}
	if s.Below != nil {
		j.Below = &dist.Vector{Layout: j.Operator.Domain(), Parts: []*dist.Vector{s.Below, s.Below}}
	}
	if s.Weights == nil && m.Weights == nil {
		return &j, nil
	}
	j.Weights = &dist.Vector{Layout: j.Operator.Range()}
	for _, of := range []*Setting{s, m} {
		w := of.Weights
		if w == nil {
			var err error
			if w, err = Diagonal(of.Device, of.Operator.Range(), func(int) float64 { return 1 }); err != nil {
				return nil, err
			}
		}
		j.Weights.Parts = append(j.Weights.Parts, w)
	}
	return &j, nil
}
