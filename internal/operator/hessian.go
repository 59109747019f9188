package operator

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	kernels "github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
)

// Hessian is AᵀW²A of a target, made on the host or on a card: see kirchhoff.Hessian.
type Hessian interface {
	Len() int
	Points() []int32
	Cuts() []int
	Add(ctx context.Context, dst []float64, rows, cols [2]int, w2 []float32) error
	Close()
}

var _, _ Hessian = (*kirchhoff.Hessian)(nil), (*kernels.Hessian)(nil)

// NewHessian makes that of an engine, which is the card's if h has one. There it may keep so many
// bytes of what each block needs anew.
func NewHessian(ctx context.Context, h *Here, engine string, p *kirchhoff.Problem, t kirchhoff.Target, keep int64) (Hessian, error) {
	if h.Card != nil {
		k, err := kernels.NewHessian(ctx, h.Card, p, t, keep)
		if err != nil {
			return nil, BlameInput(err)
		}
		return k, nil
	}
	k, err := kirchhoff.NewHessian(ctx, engine, p, t)
	if err != nil {
		return nil, BlameInput(err)
	}
	return k, nil
}
