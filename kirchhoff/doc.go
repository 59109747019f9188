// Package kirchhoff is the Kirchhoff demigration operator and its exact adjoint.
//
// # The operator
//
// An image m[i] on a grid of points i makes the trace of source s and receiver
// r by summation along diffraction traveltimes (Santos, Schleicher, Tygel and
// Hubral, "Seismic modeling by demigration", Geophysics 65, 2000; Schneider,
// "Integral formulation for migration in two and three dimensions", Geophysics
// 43, 1978). With one-way times t from package traveltime,
//
//	q = (t[s,i] + t[r,i] − t0) / dt,   k = trunc(q),   w = q − k,
//
// and if 0 ≤ k < nt−1 the trace u receives
//
//	u[k]   += A m[i] (1 − w)
//	u[k+1] += A m[i] w,
//
// after which it is convolved with the wavelet h whose sample at time zero is z,
//
//	d[n] = Σ_j h[j] u[n − j + z],
//
// zero outside the trace. No cell volume and no dt enter. The adjoint is the
// exact transpose: correlate, e[n] = Σ_j h[j] d[n + j − z], then
// m[i] += A (e[k] (1 − w) + e[k+1] w), summed over all traces.
//
// k truncates towards zero, so a q in (−1, 0), which only a positive t0 can
// make, belongs to k = 0 with a negative w.
//
// # Wavelet filter
//
// A sum along traveltime curves integrates half a time over each horizontal axis: by stationary
// phase, ∫ exp(−iω a x²/2) dx = √(2π / (iω a)). With WaveletFilter = HalfDerivatives the wavelet is
// differentiated as often, W(f) √(i 2π f) in 2-D and W(f) i 2π f in 3-D, as a linear convolution whose
// taps go on after the wavelet's end (see Problem.Taps). PyLopsFilter has W(f) √(i 2π f) and
// W(f) (−i 2π f), circular over the wavelet's own length.
//
// # Dynamic weights
//
// A = 1 unless Dynamic is set. Then, as in PyLops' Kirchhoff operator and Yang
// and Zhang (Geophysical Prospecting 67, 2019),
//
//	A = 2 cos θ b[s,i] b[r,i] / v[i] · taper(a_s) taper(a_r)
//
// where θ is half the angle between the two slowness vectors ∇t, taken by
// central differences of the tables with the true spacing (one-sided at the
// edges). In 2-D a = atan2(∂t/∂x, ∂t/∂z) and cos θ = cos((a_s − a_r)/2); in 3-D
// with unit vectors p = ∇t/|∇t|, cos θ = |p_s + p_r|/2 and a = acos(p_z); a
// point where ∇t vanishes makes no contribution in 3-D and has a = 0 in 2-D.
// The geometrical spreading is b = (ρ + ε)^(−1/2) in 2-D and 1/(ρ + ε) in 3-D,
// ρ the distance from the place to the point and ε one hundredth of the sum of
// the largest source and receiver distances of the whole survey (MaxDistance).
//
// AngleLimit (lo, hi) drops a pair unless |a_s| < hi and |a_r| < hi, and for
// each of the two that is ≥ lo multiplies by R[floor(20 (|a| − lo)/(hi − lo))],
// R[0] = 1, R[j] = ½ − ½ cos(π (20 − j)/19) for j = 1 … 20.
//
// # Unequal slownesses
//
// In anisotropic media and for converted waves (traveltime.Unequal) the slownesses p_s and p_r
// of two rays at a point differ in length. The reflector's normal lies along their sum, so
// weights take p = ∇t with its magnitude, in 2-D too, and
//
//	A = |p_s + p_r| b[s,i] b[r,i] · taper(a_s) taper(a_r),
//
// which is the formula above where both lengths are 1/v. No velocity enters. Central differences
// fall short of |∇t| by a share of the order of (h/D)², D the distance from the place. A |p|
// above 1.05/c, c the least velocity in any direction (Problem.Slowest), is that of a difference
// across points that no ray reaches or at an edge, and is cut to that. A point where ∇t vanishes
// makes no contribution in 2-D either. AngleLimit is one of rays: a is the angle of the ray, or
// group direction, that traveltime.Rays makes of ∇t. The dip below is the dip of p_s + p_r, and the
// opening angle lies between p_s and p_r.
//
// # Dip and opening angle
//
// A pair of rays with directions p_s and p_r at a point (unit vectors along ∇t, as with
// dynamic weights) illuminates a reflector normal to p_s + p_r. Its dip is the angle
// between that sum and the vertical, 0 to 180 degrees; the opening angle is the one
// between p_s and p_r, twice θ. With a_s and a_r as above they are |a_s + a_r|/2 and
// |a_s − a_r| in 2-D (180 degrees minus and 360 degrees minus these, if |a_s − a_r|
// exceeds 180 degrees). DipLimit and Opening multiply A, which is 1 without Dynamic, by
// half periods of a cosine that run linearly in these angles, see Window. A point where
// ∇t vanishes has a = 0 in 2-D and makes no contribution in 3-D; neither does, in both, a
// point where ∇t is not a number, between two that a ray does not reach.
//
// The tables of the cpu engine tell cones in which the directions of a place's rays, or unequal
// slownesses, lie in the parts of a box. Kernels are not given pairs of a trace and a box whose cones lie so
// that the windows are 0 all over the box.
//
// # Several arrivals
//
// Waves may come to a point by several ways (traveltime.Turned). Then every pair of an arrival from the source and one
// to the receiver adds, with the times, amplitudes and directions of both. At each caustic a wave turns by a quarter of
// a period: a pulse f becomes −H f, with the Hilbert transform H cos = sin (Červený 2001, section 5.9). With κ caustics
// on both ways the trace is that of the wavelet for even κ and of the turned wavelet −H h for odd κ, times −1 where
// κ/2, rounded down, is odd. Engines hold a table for each branch of a place, where it has arrivals, and go through all
// pairings of branches.
//
// # Aperture
//
// With Aperture a trace counts only at image points near its midpoint c = (x_s + x_r)/2: A
// is multiplied, along each horizontal axis k with a limit a_k, by f(|x_k − c_k|), where f
// is 1 up to a_k − b_k, falls by half a period of a cosine over the taper b_k, and is 0 from
// a_k on. Points outside cost nothing. Tables are made box by box of 64×64 points
// (16×16×16 in 3-D), for the places of traces that may count there. For each block of traces
// and each box the kernels get a list of only those pairs. It also leaves out pairs whose
// times lie off the record in the whole box. Traveltimes are solved in windows of the model
// around the boxes that a place needs, see Windows.
//
// # Anti-aliasing
//
// Sums over traces alias where the time changes from trace to trace by more than half a
// period. With Antialias a trace is smoothed there by a triangle (Claerbout, "Earth
// soundings analysis", 1992; Lumley, Claerbout and Bevc, "Anti-aliased Kirchhoff 3-D
// migration", SEG 1994). Its half-length, in samples, is the change
//
//	τ = σ_s + σ_r,   σ = max |∂t/∂x_a| Δ_a / (2 dt)
//
// with ∂t/∂x_a the central differences of the tables along a horizontal axis, Δ_a the
// spacing along it and the largest over the axes (Abma, Sun and Bernitsas, "Antialiasing
// methods in Kirchhoff migration", Geophysics 64, 1999) and over the points of a tile of
// 64. docs/numerics/operator.md says why these slopes and this spacing. Differences above 1.05
// times the largest slowness are left out.
//
// Triangles come in half-lengths 2^(b/2), b = 1, 2, …; band 0 is the trace itself. A pair
// meets a tile in the band b nearest to τ in logarithm, ⌊2 log₂ τ + ½⌋, at least 0. With
// S_b the sums over the points of band b's tiles and T_b the triangle, of unit sum and cut
// off at the record's ends, the forward is Σ_b T_b S_b, then the wavelet. T_b is symmetric,
// so the adjoint reads T_b of the correlated trace. Which band it is depends only on the
// geometry, the tables and the grid.
//
// # The Hessian of a target
//
// Hessian makes AᵀW²A over a window of the image, block by block and without data. Inner products of
// the convolution's columns say all that matters of wavelet, bands and weights of samples.
//
// # Axis order and units
//
// The image buffer holds ImageLen() elements in C order, z fastest: those of Slab,
// which a rank of many may hold alone. The data buffer holds [ntrace, nt] samples in the
// order of Positions.Source. Metres, seconds, m/s, degrees. Kernels add into their
// destination, as dist.Kernel asks.
//
// # Engines and their work
//
// An Engine is made of a Problem, which says what the operator is, and of Work, which
// says how to go through it. New makes the engine for the host's processor, NewReference
// the one that every other is tested against, package gpu those for cards. Package engines
// tells what each of them offers.
//
// An engine works in units. A unit is some traces, the tiles of the image that they meet,
// and tables of the places that they use there. Work is a policy for units:
//
//	resident       one unit of all traces, its tables kept
//	recomputed     units of few enough places, their tables made in every application
//	streamed       units of whole shots, whose traces are read when they are needed
//	several images units for each image, on the same tables
//
// Only units.go depends on why there are several. Needs finds the memory that an engine takes: it
// runs the code that allocates with a memory that only counts.
//
// # The cpu engine
//
// New makes the operator in float32 for the host's vector units, with C kernels for
// AVX-512, AVX2 and any other processor, chosen at run time. Package internal/simd has the
// layout of its tables, and docs/performance.md says what makes it fast. It differs from
// the reference by 1e-6 of the largest value or less. Its two directions are adjoint to
// float32 rounding, as they use the same expressions for q, k and w.
//
// Times in a trace's last interval or just before its first sample decide whether a point
// counts at all. There a float32 may decide otherwise than a float64 if q lies within
// rounding of the edge. Only there may the engines differ by more.
//
// # The double engine
//
// NewDouble makes the operator without limits of dip and opening angle, apertures and anti-aliasing
// in float64 for the same vector units. With traces of up to some thousand samples it
// differs from the reference by 1e-12 of the largest value or less, except for times within rounding of a
// trace's ends. The C library offers it.
//
// # Order, threads and ranks
//
// Results depend only on the problem, the engine and its set of kernels, and not on
// the number of threads: in the adjoint threads take tiles, in the forward blocks
// of traces, and every sum has a fixed order. Two sets of kernels may differ by
// rounding.
//
// The kernels of the cpu engine are dist.Pieced. With a quantum they give the same bits
// too for any units, and however ranks share out shots and slabs, each with its Slab and a
// Subset of the Positions, in the order of source places. Every float32 sum then lies within
// one unit, which no partition cuts. In the adjoint a unit is a tile and a run, the traces of one
// source whose receivers lie in one cell of 16 by their numbers in the whole survey. In the
// forward it is a trace and a box of 64×64 points (16×16×16 in 3-D). How a trace
// is summed depends only on the length of its run. Each such sum is rounded to a common
// quantum and added in float64, which is exact.
package kirchhoff
