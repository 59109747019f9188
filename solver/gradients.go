package solver

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// gradients are the first gradients of a run, of unit length, to which later ones are
// made orthogonal. That of iterate k is number k.
type gradients struct {
	g    []*dist.Vector
	list [][2]*dist.Vector // scratch
}

func newGradients(n int, image func() (*dist.Vector, error)) (gradients, error) {
	k := gradients{g: make([]*dist.Vector, n)}
	for i := range k.g {
		if err := allocate(image, &k.g[i]); err != nil {
			return k, err
		}
	}
	return k, nil
}

// until are those of the iterates up to k.
func (k *gradients) until(iterate int) []*dist.Vector { return k.g[:min(iterate+1, len(k.g))] }

// keep stores s, of squared norm γ, as the gradient of an iterate.
func (k *gradients) keep(iterate int, s *dist.Vector, gamma float64) error {
	if iterate >= len(k.g) || gamma == 0 {
		return nil
	}
	return dist.Axpby(1/math.Sqrt(gamma), s, 0, k.g[iterate])
}

// pairs are those whose inner products the next gradient s needs: ⟨s, s⟩, ⟨p, s⟩ and
// one with each kept up to iterate k.
func (k *gradients) pairs(iterate int, s, p *dist.Vector) [][2]*dist.Vector {
	k.list = append(k.list[:0], [2]*dist.Vector{s, s}, [2]*dist.Vector{p, s})
	for _, g := range k.until(iterate) {
		k.list = append(k.list, [2]*dist.Vector{g, s})
	}
	return k.list
}

// remove makes s orthogonal, given these inner products, and returns ‖s‖².
func (k *gradients) remove(iterate int, s *dist.Vector, dots []complex128) (gamma float64, err error) {
	gamma = real(dots[0])
	for i, g := range k.until(iterate) {
		d := dots[2+i]
		if err = dist.AxpbyComplex(-d, g, 1, s); err != nil {
			return 0, err
		}
		gamma -= real(d)*real(d) + imag(d)*imag(d)
	}
	return max(gamma, 0), nil
}
