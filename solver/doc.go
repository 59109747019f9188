// Package solver finds the x that explains data d best,
//
//	min ‖A x − d‖²,
//
// for a linear operator A that can only be applied, never written down, and data
// that are a vector or pass by in parts (Problem). It knows nothing but dist.Vector
// and dist.Operator: not what an image is, not where memory lies, not how many ranks
// there are. Vectors are real or complex,
// in single or double precision; scalars are float64 throughout. All vectors
// are allocated by Init and updated in place; an iteration copies nothing to
// the host but its inner products.
//
// # Methods
//
// With r = d − A x and s = Aᴴr, minus the gradient of ½‖A x − d‖²:
//
//   - CGLS, the default: conjugate gradients on the normal equations
//     AᴴA x = Aᴴd with the data residual r carried along and s computed from it,
//     which loses half as many digits as forming AᴴA does (Hestenes & Stiefel,
//     J. Res. NBS 49, 1952, section 10; Björck, Numerical Methods for Least
//     Squares Problems, SIAM 1996, algorithm 7.4.1).
//   - LSQR: the same iterates from Golub and Kahan's bidiagonalisation, steadier
//     on ill-conditioned problems, one data vector more (Paige & Saunders, ACM
//     TOMS 8, 1982).
//   - CG on the normal equations themselves (Hestenes & Stiefel 1952).
//   - ISTA and FISTA for min ½‖A x − d‖² + μ‖x‖₁ (Daubechies, Defrise & De Mol
//     2004; Beck & Teboulle, SIAM J. Imaging Sci. 2, 2009).
//
// Started from zero, CGLS, LSQR and CG tend to the solution of least norm
// where A has a null space; from a start model, to the one nearest to it.
//
// # Damping
//
// No method knows of damping. Regularisation is one more row of the operator,
//
//	min ‖A x − d‖² + λ²‖x‖²  =  min ‖(A; λI) x − (d; 0)‖²,
//
// which Problem.AddRows lays out as it does any other rows. The history keeps the
// first row's residual, the data misfit, apart from the whole.
//
// # What is checked while it runs
//
// The adjoint, every iteration: CGLS applies A to p and has Aᴴr = s from before,
// so ⟨A p, r⟩ = ⟨p, s⟩ is a dot-product test with the run's own vectors for the
// price of one dot product. The error is measured relative to ‖A‖‖p‖‖r‖, with
// the largest ‖A p‖/‖p‖ met so far for ‖A‖: relative to ‖A p‖‖r‖ alone, rounding
// would look like a fault as soon as p is a direction that A hardly sees. Every
// method has such an identity; each states its own.
//
// The residual: r is updated by recursion, and rounding lets it drift away from
// d − A x. Every few iterations the true one is computed; its distance from the
// recursive one is reported and, past a bound, corrected (van der Vorst & Ye,
// SIAM J. Sci. Comput. 22, 2000).
//
// Every scalar: NaN or infinity ends the run with failed_nan, before x has been
// touched, so x is the last good iterate.
package solver
