// Package dist holds distributed vectors and the linear operators between them.
//
// One idea carries every distribution: a vector is split over one communicator, its
// Shards, and replicated over another, its Copies. In a least-squares migration the data
// are split over the shot axis of the process grid and replicated over its block axis;
// the image the other way round. Then forward and adjoint are one and the same code,
//
//	zero the destination, run the local kernel, all-reduce over its Copies,
//
// and a dot product is a local sum plus an all-reduce over the Shards. Kernels never see
// a communicator. With one rank both groups have size one and the collectives vanish.
//
// Sums can be made the same to the last bit on every partition. Inner products are, where
// layouts have Units: one float64 for each smallest part that ranks share out, added up
// without rounding. So are the sums of applications with LiftOptions.Exact, of kernels
// that are Pieced. Everything else works element by element.
//
// Operators compose: VStack(A, Scale(λ, R)) is the regularised operator of the
// least-squares problem min ‖A x − d‖² + λ²‖R x‖², so no solver knows λ.
package dist
