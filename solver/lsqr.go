package solver

import (
	"context"
	"math"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// LSQR solves the least-squares problem by Golub and Kahan's bidiagonalisation
//
//	β u' = A v − α u,  α' v' = Aᴴu' − β v,
//
// and a QR factorisation of the bidiagonal matrix by plane rotations, which
// updates x along a direction w (Paige & Saunders, ACM TOMS 8, 1982, section 4):
//
//	ρ = √(ρ̄² + β²),  c = ρ̄/ρ,  σ = β/ρ,  θ = σα',  ρ̄' = −cα',  φ = cφ̄,  φ̄' = σφ̄
//	x = x + (φ/ρ) w,  w = v' − (θ/ρ) w.
//
// A start model is taken off the data first. ‖Aᴴr‖ is φ̄'α'|c| (their equation
// 5.2). The residual itself, which LSQR does not need, is carried along for the
// misfit of the first row and the drift, by r' = σ²r − cφ̄'u' (from Q's last
// column): one forward, one adjoint, three vectors of data and three of image
// besides x and d.
//
// The adjoint error is that of ⟨A v, u⟩ = ⟨v, Aᴴu⟩, relative to ‖A‖; u and v have
// norm one. The drift is reported; nothing is replaced, since r does not drive
// the iteration.
type LSQR struct {
	core
	u, q, r *dist.Vector // data
	v, w, z *dist.Vector // image

	alpha, rhobar, phibar float64
	vz, vzIm              float64 // ⟨v, Aᴴu⟩
}

// NewLSQR returns the method with the given options.
func NewLSQR(o Options) *LSQR { return &LSQR{core: core{name: "lsqr", opt: o}} }

func (c *LSQR) scalars() []scalar {
	return []scalar{{"alpha", &c.alpha}, {"rhobar", &c.rhobar}, {"phibar", &c.phibar},
		{"vz", &c.vz}, {"vz_im", &c.vzIm}, {"norm", &c.norm}}
}

// State implements Method. Its scalars are α, ρ̄, φ̄, ⟨v, Aᴴu⟩ and the lower bound
// of ‖A‖.
func (c *LSQR) State() *State { return c.export(c.scalars()) }

// Vectors implements Method: x, the bidiagonalisation's u and v, the direction
// w and the residual r.
func (c *LSQR) Vectors() map[string]*dist.Vector {
	return map[string]*dist.Vector{"x": c.x, "u": c.u, "v": c.v, "w": c.w, "r": c.r}
}

func (c *LSQR) allocate() error {
	if err := allocate(c.data, &c.u, &c.q, &c.r); err != nil {
		return err
	}
	return allocate(c.image, &c.v, &c.w, &c.z)
}

// Resume implements Method.
func (c *LSQR) Resume(a dist.Operator, d *dist.Vector, s *State) error {
	if err := c.resume(a, d, s, c.scalars()); err != nil {
		return err
	}
	return c.allocate()
}

// Init implements Method.
func (c *LSQR) Init(ctx context.Context, a dist.Operator, d, x0 *dist.Vector) error {
	if err := c.begin(a, d, x0); err != nil {
		return err
	}
	if err := c.allocate(); err != nil {
		return err
	}
	if err := c.start(ctx, c.r, x0 != nil); err != nil {
		return err
	}
	first, beta, _, err := dotsWithRows(c.r)
	if err != nil {
		return err
	}
	if !finite(beta) {
		return c.nan("the residual norm", beta)
	}
	if err := normalise(c.u, c.r, beta); err != nil {
		return err
	}
	if err := a.ApplyAdjoint(ctx, c.z, c.u); err != nil {
		return err
	}
	if c.alpha, err = dist.Norm(c.z); err != nil {
		return err
	}
	if !finite(c.alpha) {
		return c.nan("the gradient norm", c.alpha)
	}
	if err := normalise(c.v, c.z, c.alpha); err != nil {
		return err
	}
	c.vz, c.vzIm = c.alpha, 0
	c.phibar, c.rhobar = beta, c.alpha
	c.st.History.add(first, beta, c.alpha*beta)
	c.st.Stationary = c.stationary(c.alpha*beta, beta)
	return dist.Copy(c.w, c.v)
}

// normalise sets dst = src/norm, or zero where the norm is.
func normalise(dst, src *dist.Vector, norm float64) error {
	if norm == 0 {
		return dst.Zero()
	}
	return dist.Axpby(1/norm, src, 0, dst)
}

// Step implements Method.
func (c *LSQR) Step(ctx context.Context) error {
	if c.alpha == 0 || c.phibar == 0 {
		return c.stay()
	}
	beta, err := c.forward(ctx)
	if err != nil {
		return err
	}
	rho := math.Hypot(c.rhobar, beta)
	cs, sn := c.rhobar/rho, beta/rho
	phi, phibar := cs*c.phibar, sn*c.phibar
	if !finite(rho) || !finite(phi) {
		return c.nan("the norm of A v − α u", beta)
	}
	if err := dist.Axpby(-cs*phibar, c.u, sn*sn, c.r); err != nil {
		return err
	}
	if err := c.a.ApplyAdjoint(ctx, c.z, c.u); err != nil {
		return err
	}
	if err := dist.Axpby(1, c.z, -beta, c.v); err != nil {
		return err
	}
	first, total, dots, err := dotsWithRows(c.r, [2]*dist.Vector{c.v, c.v}, [2]*dist.Vector{c.v, c.z})
	if err != nil {
		return err
	}
	alpha := math.Sqrt(real(dots[0]))
	switch {
	case !finite(alpha):
		return c.nan("the gradient norm", alpha)
	case !finite(total):
		return c.nan("the residual norm", total)
	}
	if err := normalise(c.v, c.v, alpha); err != nil {
		return err
	}
	if err := dist.Axpby(phi/rho, c.w, 1, c.x); err != nil {
		return err
	}
	if err := dist.Axpby(1, c.v, -sn*alpha/rho, c.w); err != nil {
		return err
	}
	if c.due(c.st.Iteration + 1) {
		if _, err := c.drift(ctx, c.q, c.r, total, c.st.DataNorm); err != nil {
			return err
		}
	}
	c.vz, c.vzIm = 0, 0
	if alpha > 0 {
		c.vz, c.vzIm = real(dots[1])/alpha, imag(dots[1])/alpha
	}
	c.alpha, c.rhobar, c.phibar = alpha, -cs*alpha, phibar
	c.st.Iteration++
	gradient := phibar * alpha * math.Abs(cs)
	c.st.History.add(first, total, gradient)
	c.st.Stationary = c.stationary(gradient, total)
	return nil
}

// forward takes the first half of the bidiagonalisation, after the test of the
// adjoint: it sets u to the next one, of norm one, and returns β.
func (c *LSQR) forward(ctx context.Context) (beta float64, err error) {
	if err := c.a.Apply(ctx, c.q, c.v); err != nil {
		return 0, err
	}
	dots, err := dist.Dots([2]*dist.Vector{c.q, c.q}, [2]*dist.Vector{c.q, c.u})
	if err != nil {
		return 0, err
	}
	qq := math.Sqrt(real(dots[0]))
	if !finite(qq) {
		return 0, c.nan("the norm of A v", qq)
	}
	c.seen(qq, 1)
	if err := c.adjoint(dots[1], complex(c.vz, c.vzIm), c.norm); err != nil {
		return 0, err
	}
	if err := dist.Axpby(1, c.q, -c.alpha, c.u); err != nil {
		return 0, err
	}
	if beta, err = dist.Norm(c.u); err != nil {
		return 0, err
	}
	return beta, normalise(c.u, c.u, beta)
}
