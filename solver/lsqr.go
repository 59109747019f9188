package solver

import (
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
// A start model is taken off the data first. ‖Aᴴr‖ is φ̄'α'|c| (their equation 5.2). The
// residual is carried along for the misfit of the first row and the drift alone, by
// r' = σ²r − cφ̄'u' (from Q's last column). An iteration takes one forward and one adjoint.
// There are three vectors of data and three of image besides x and d.
//
// The adjoint error is that of ⟨A v, u⟩ = ⟨v, Aᴴu⟩, relative to ‖A‖; u and v have norm one.
// The drift is reported; nothing is replaced, since r does not drive the iteration. The
// scalars of its state are α, ρ̄, φ̄, ⟨v, Aᴴu⟩ and the lower bound of ‖A‖.
type LSQR struct {
	*Method
	u, q, r *dist.Vector // data
	v, w, z *dist.Vector // image

	alpha, rhobar, phibar float64
	vz, vzIm              float64 // ⟨v, Aᴴu⟩
}

func (c *LSQR) scalars() map[string]*float64 {
	return map[string]*float64{"alpha": &c.alpha, "rhobar": &c.rhobar, "phibar": &c.phibar,
		"vz": &c.vz, "vz_im": &c.vzIm, "norm": &c.bound}
}

// vectors are x, the bidiagonalisation's u and v, the direction w and the residual r.
func (c *LSQR) vectors() map[string]*dist.Vector {
	return map[string]*dist.Vector{"x": c.x, "u": c.u, "v": c.v, "w": c.w, "r": c.r}
}

func (c *LSQR) allocate() {
	c.data(&c.u, &c.q, &c.r)
	c.images(&c.v, &c.w, &c.z)
}

func (c *LSQR) start(x0 *dist.Vector) {
	c.subtract(c.r, x0)
	first, beta, _ := c.norms(c.r)
	c.normalise(c.u, c.r, beta)
	c.do.ApplyAdjoint(c.a, c.z, c.u)
	c.alpha = c.do.Norm(c.z)
	c.finite("the gradient norm", c.alpha)
	c.normalise(c.v, c.z, c.alpha)
	c.vz, c.vzIm = c.alpha, 0
	c.phibar, c.rhobar = beta, c.alpha
	c.record(first, beta, c.alpha*beta)
	c.do.Copy(c.w, c.v)
}

// normalise sets dst = src/norm, or zero where the norm is.
func (c *LSQR) normalise(dst, src *dist.Vector, norm float64) {
	switch {
	case norm != 0:
		c.do.Axpby(1/norm, src, 0, dst)
	case c.do.Err == nil:
		c.do.Err = dst.Zero()
	}
}

func (c *LSQR) step() {
	if c.alpha == 0 || c.phibar == 0 {
		c.stay()
		return
	}
	beta := c.forward()
	rho := math.Hypot(c.rhobar, beta)
	cs, sn := c.rhobar/rho, beta/rho
	phi, phibar := cs*c.phibar, sn*c.phibar
	if !finite(rho) || !finite(phi) {
		c.fail("the norm of A v − α u", beta)
	}
	c.do.Axpby(-cs*phibar, c.u, sn*sn, c.r)
	c.do.ApplyAdjoint(c.a, c.z, c.u)
	c.do.Axpby(1, c.z, -beta, c.v)
	first, total, dots := c.norms(c.r, dist.Pair{c.v, c.v}, dist.Pair{c.v, c.z})
	alpha := math.Sqrt(real(dots[0]))
	c.finite("the gradient norm", alpha)
	c.normalise(c.v, c.v, alpha)
	c.do.Axpby(phi/rho, c.w, 1, c.x)
	c.do.Axpby(1, c.v, -sn*alpha/rho, c.w)
	if c.due(c.st.Iteration + 1) {
		c.subtract(c.q, c.x)
		c.drift(c.q, c.r, total, c.st.DataNorm)
	}
	c.vz, c.vzIm = 0, 0
	if alpha > 0 {
		c.vz, c.vzIm = real(dots[1])/alpha, imag(dots[1])/alpha
	}
	c.alpha, c.rhobar, c.phibar = alpha, -cs*alpha, phibar
	c.record(first, total, phibar*alpha*math.Abs(cs))
}

// forward takes the first half of the bidiagonalisation, after the test of the
// adjoint: it sets u to the next one, of norm one, and returns β.
func (c *LSQR) forward() (beta float64) {
	c.do.Apply(c.a, c.q, c.v)
	dots := c.do.Dots(dist.Pair{c.q, c.q}, dist.Pair{c.q, c.u})
	qq := math.Sqrt(real(dots[0]))
	c.finite("the norm of A v", qq)
	c.seen(qq, 1)
	c.agree(dots[1], complex(c.vz, c.vzIm), c.bound)
	c.do.Axpby(1, c.q, -c.alpha, c.u)
	beta = c.do.Norm(c.u)
	c.normalise(c.u, c.u, beta)
	return beta
}
