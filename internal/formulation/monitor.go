package formulation

import (
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
)

// Baseline x_b and monitor x_m are inverted together (Ayeni and Biondi, Geophysics 75, 2010):
//
//	min ‖W_b(A_b x_b − d_b)‖² + ‖W_m(A_m x_m − d_m)‖² + μ²‖x_m − x_b‖².

// couples reports whether the difference of two images is penalised.
func (s *Setting) couples() bool { return s.Monitor.IsSet() && s.Monitor.Weight > 0 }

// differenceRows are the row μ(x_m − x_b), or none. μ is the weight times the
// largest singular value of the two operators.
func (f *Formulation) differenceRows(m scales) []dist.Operator {
	if !f.couples() {
		return nil
	}
	weight := f.Monitor.Weight * m.singular
	f.Report.Infof("difference: l2 with weight %.4g, %g times the largest singular value of the two operators, about %.4g",
		weight, f.Monitor.Weight, m.singular)
	f.coupling = weight
	return []dist.Operator{dist.Scale(weight, difference(f.Problem.Domain()))}
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
