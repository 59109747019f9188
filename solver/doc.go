// Package solver finds the x that explains data d best,
//
//	min ‖A x − d‖²,
//
// for a linear operator A that can only be applied, and data that are a vector or pass by
// in parts (Problem). It uses only dist.Vector and dist.Operator. It does not depend on the
// meaning of an image, the place of memory, or the number of ranks. Vectors are
// in single or double precision; scalars are float64 throughout. Init allocates
// all vectors, which are updated in place. An iteration copies nothing to the host but its
// inner products.
//
// # Methods
//
// With r = d − A x and s = Aᵀr, minus the gradient of ½‖A x − d‖²:
//
//   - CGLS, the default: conjugate gradients on the normal equations AᵀA x = Aᵀd. It
//     carries the residual r along and computes s from it, which loses half as many
//     digits as forming AᵀA does.
//   - CG: on the normal equations themselves.
//
// Started from zero, both tend to the solution of least norm where A has a
// null space; from a start model, to the one nearest to it.
//
// No method knows of damping. It is one more row of the operator,
//
//	min ‖A x − d‖² + λ²‖x‖²  =  min ‖(A; λI) x − (d; 0)‖²,
//
// which Problem.AddRows adds as it does any other rows. The history keeps the residual of
// the first row, the data misfit, apart from the whole.
//
// # What is checked while it runs
//
// The adjoint, in every iteration: CGLS applies A to p and already has Aᵀr = s. ⟨A p, r⟩
// = ⟨p, s⟩ is therefore a dot-product test with the run's own vectors, at the cost of one
// dot product. The error is measured relative to ‖A‖‖p‖‖r‖, with the largest ‖A p‖/‖p‖
// met so far for ‖A‖: relative to ‖A p‖‖r‖, rounding would look like a fault as soon as A
// hardly sees p. Each method states its own identity.
//
// The residual: r is updated by recursion, and rounding lets it drift away from d − A x.
// Every few iterations the true one is computed. Its distance from the recursive one is
// reported and, past a bound, corrected (van der Vorst & Ye, SIAM J. Sci. Comput. 22, 2000).
//
// Every scalar: NaN or infinity ends the run with failed_nan before x has been touched, so
// x is the last good iterate.
package solver
