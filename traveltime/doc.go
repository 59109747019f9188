// Package traveltime computes one-way traveltimes, in seconds, and their gradients, in s/m,
// from source and receiver positions to every point of the image grid. Arrays are in C
// order, axis i of the grid is coordinate column i, z is the fastest axis and points down.
//
// A Method streams its fields: it calls a sink once for each position with a field that is
// valid during the call only. The caller packs each field into its own layout, and no more
// than one field per worker is held here. NewAnalytic is for a constant velocity, NewTable for given
// times, and NewEikonal for any velocity model. RayTracer also finds later arrivals, NewRMS is for
// images in time, and NewCoarse keeps less of another method's fields. NewConverted is for waves that
// go to receivers at other velocities than from sources.
//
// # The eikonal equation, factored
//
// First arrivals solve |∇T|² = s², s = 1/v. At a point source the wavefront's curvature is
// infinite, and any difference formula for T loses its order there for good. So T is split
// into T = R τ with the exact distance R = |x - x_s| (Fomel, Luo and Zhao 2009, Fast sweeping
// method for the factored eikonal equation, J. Comput. Phys. 228; Luo and Qian 2012, Fast
// sweeping methods for factored anisotropic eikonal equations, J. Sci. Comput. 52). With
// ρ = x - x_s, R ∇T = τ ρ + R² ∇τ, and
//
//	|τ ρ + R² ∇τ|² = s² R².
//
// τ is as smooth as the velocity, at the source too, which may lie anywhere: no position is
// rounded to a grid point.
//
// # Differences
//
// Along each axis the neighbour with the smaller T is upwind. With σ = 1 if that is the
// lower one and -1 if not, and τ1, τ2 the values one and two points upwind,
// ∂τ = σ ((1 + w) τ - (1 + 2 w) τ1 + w τ2) / h. With w = 1/2 that is of second order. If the
// second point is later than the first, w falls to zero in proportion to the difference of the
// squares of the two times, until that is the square of the time that a cell takes. w is also
// zero beyond the grid. R times the slope of T away from the upwind side is then A τ - B, with
// q = R²/h,
//
//	A = σ ρ + (1 + w) q,  B = q (τ1 + w (2 τ1 - τ2)),
//
// and τ the larger root of Σ (A τ - B)² = s² R². The root counts if no slope is negative. If
// one is, or there is no root, the axis whose slope is zero latest, at τ = B / A, is left out, and
// so on: what comes out is the one root of Σ max(0, A τ - B)² = s² R². The choice of axes and the order
// therefore do not jump, so rounding decides nothing. The discriminant is computed as Σ A² s² R² - Σ
// (A_i B_j - A_j B_i)², and the root as a difference to a neighbour, so that float32 suffices.
//
// Behind an interface T is about as straight as before, and τ, which is T over R, is not. So where
// velocities jump a share θ of the difference is that of T instead: A τ - B has
// σ ρ ((1 - θ) τ + θ (τ1 + 2 w (τ1 - τ2))) for σ ρ τ, which for θ = 1 is the difference of T along lines
// through the source. Each of the two has errors of h² behind interfaces, of opposite sign. θ depends on the
// largest ratio r of the velocities of two neighbours in a column of the model: it rises from 0 at r = 1.02
// to 3/4 at 1.1, stays, and falls from 5 on, to 0 at 15. Smooth models have θ = 0 and the accuracy of
// τ: with θ = 3/4 the error for v = 1500 + 0.6 z m/s would be 5e-6 rms instead of 0.5e-6. One θ along a
// column keeps the differences linear, which puts interfaces halfway. Jumps along x and y do not count:
// a window does not hold whole rows of the model.
//
// Five points along each axis round the source are not swept. They start from the slowness
// averaged along the straight ray and corrected for its bending. In models that jump by
// large factors within those two cells a detour may be faster; nothing looks for it there.
//
// # Where interfaces lie
//
// Where the slowness jumps from s1 at one node to s2 at the next, the interface lies halfway
// between them, whatever s1 and s2 are and from whichever side a wave comes. Write the
// second-order difference along the wave's way as s = (3 d - d1) / 2, with d and d1 the mean slopes
// of T over the last step and over the one before. Then d - s2 is (s1 - s2) / 3 across the jump, a
// third of that in the next step, and so on: (s1 - s2) / 2 in all, which is half a cell of s1 and
// then s2. It holds for the component of a slanting ray's slowness as well. So a wave takes as
// long there as back. Times at the first nodes behind the interface lack (s1 - s2) h / 6, a third
// of that, and so on.
//
// Both ways through a flat interface differ by at most 0.05 ms at 10 m, for velocities up to ten times as
// large, with places 300 m from the interface and up to 100 m aside. It is 0.05 ms 400 m aside too, up to
// three times, but 0.14 ms for five and 0.5 ms for ten times: rays run along the interface there, on
// its fast side, and what the first nodes lack gets into their times. Errors grow where a front is as strongly
// curved as a cell behind the interface: for a place at the distance a, its radius there is a s2 / s1.
//
// There must be no other difference for large jumps: only in anisotropic media, behind six times
// the slowness, is it of first order. One of first order would put the interface on
// the last node before it, which is another place for each direction of the wave. In anisotropic media
// times from the fast side of a jump by more than five times may be off by some ms. The slowness that
// starts average is, across a jump, linear between nodes, and comes to half a cell of each too. In
// gradients it is the slowness of the linear velocity.
//
// # Sweeping
//
// Gauss-Seidel sweeps run through the grid in all 4 or 8 directions. First-order rounds,
// which only ever lower a time, come first; second-order rounds follow until no time changes
// by more than a millionth. A block of 32 points is swept again only if a time changed that
// could be upwind of one of its points, and only in directions in which its rays run. In
// smooth models the whole costs three to six plain sweeps instead of twelve or more.
//
// Sixteen sources near each other (eight with AVX2) share a batch, one in each SIMD lane,
// because at one grid point they all do the same arithmetic. Every decision, stopping
// included, is taken for each lane alone: a field has the same bits whatever else is computed
// with it, in whatever order and on however many threads. AVX2 and AVX-512 give the same bits.
//
// Where the image grid is not the model's, τ and ∇τ are interpolated by cubics, never T, and
// multiplied by the exact R and ∇R. ∇T = τ ∇R + R ∇τ, or with R g for R.
//
// # Anisotropy
//
// In a transversely isotropic model (Medium.Anisotropy) the slownesses p = ∇T of P waves satisfy
// the acoustic equation of Alkhalifah (2000, An acoustic wave equation for anisotropic media,
// Geophysics 65). With p∥ along the symmetry axis and p⊥ normal to it, v0 the velocity along the
// axis, vn² = v0² (1 + 2δ), vh² = v0² (1 + 2ε) and η = (ε - δ) / (1 + 2δ),
//
//	vh² p⊥² + v0² p∥² (1 - 2 η vn² p⊥²) = 1.
//
// T is split into R g τ: R g is the exact time in the homogeneous medium of the place, in units of
// its slowness along the axis (Luo and Qian 2012; Waheed and Alkhalifah 2017, A fast sweeping
// algorithm for accurate solution of the tilted transversely isotropic eikonal equation using
// factorization, Geophysics 82). g² is a polynomial in the squared cosine between axis and ray.
// The root of the ellipse is followed by three of Newton's steps. Rays do not run along slownesses.
// A root counts if the ray comes from the upwind side of each axis, and along an axis that is left
// out the ray has no component. In first-order rounds, which only ever lower a time, the upwind
// side is the earlier one: this finds the regions in which waves come first. In second-order rounds
// it is that from which the ray of the central difference comes. Where waves meet it is the
// earlier side. Such a front moves by a cell in a sweep only, so first-order times that are off by
// more than about a cell cost many rounds.
//
// 1 + 2ε and 1 + 2δ must be positive, and η from -0.3 to 0.6. A place whose part of the model has
// no anisotropy is solved as in an isotropic model, with the same bits. In very rough models
// times may not settle to 0.2 per cent, which is an error that names the place.
//
// At 20 m the relative error of the times is at most 3e-7 rms in homogeneous media with η up to
// 0.3 and any tilt. It is 2.1e-6 rms for ε = δ = 0.2 and 0.3, tilted by 0 to 60 degrees, and a
// velocity that rises by 0.6 m/s per m. The errors of the gradients are 1e-5 and 1.4e-5 rms. It
// is the same on nodes and between. For the largest η it is 1e-5 rms, for the least 1e-4. A place
// takes 5 to 6 times as long as in an isotropic model in BenchmarkTilted401x301 and
// BenchmarkTilted101x101x101, where all is tilted by 30 degrees and not elliptic. In the model of
// lsm synth thrust, which is so in a fifth, it takes 2.5 times as long (lsm traveltime with
// velocity.anisotropy = "auto" and "none"). These are medians of five of the processor's time.
//
// # Spreading
//
// The geometrical spreading b solves the transport equation ∇·(b² ∇T) = 0. Then b² s dA is the
// same all along a ray tube of section dA (Červený 2001, Seismic ray theory, section 3.10). With
// u the direction in which the ray that arrives at x leaves its source, and s0 the slowness there,
//
//	b² = (s0/s) |∇α| in 2-D, α the angle of u,   b² = (s0/s) dΩ/dA in 3-D,
//
// dΩ the solid angle of u. A ray keeps its u, so ∇T·∇u = 0. This is solved for δ = u - u0, u0 the
// direction of the straight line, by the upwind differences of the times: δ is smooth where T has
// its tip, as τ is, and 0 for straight rays. The slopes of T are central differences here: one-sided
// ones, which the times take upwind, are of first order in the columns beside the source and
// change sides there. Where fronts meet, which is where the slopes on both sides differ by more
// than a tenth of the slowness, the upwind one counts. Five points along each axis round the source
// start from the bending of the straight ray to first order.
//
// The slopes of u come from central differences over points 1, 2, 4 ... apart, the largest that is
// at most D/32. A direction is good to about 1e-7 D/h, since times are float32 numbers, so that over
// a fixed distance b would lose accuracy with the square of D. Fronts meet and u jumps if the slopes
// change by more than 1/2D from one side to the other. There the side with the smaller slopes
// counts. PointSpreading needs σ as well, from ∇T·∇σ = 1 in the same way.
//
// The method keeps and interpolates b over that of a homogeneous medium, between 0 and
// MostSpreading. A head wave's rays leave in one direction, so their b tends to 0. Behind
// obstacles b tends to 0 as well. Reflections from interfaces are not included.
//
// In media of constant gradient, in any direction, the error of b beyond four cells is 0.01 % to
// 0.2 % rms, and below 1 %, where rays stay in the model, at any distance up to 400 cells.
//
// # Rays
//
// RayTracer finds every way by which waves come to a point of a smooth model: rays from the place are traced and kept
// close to each other, and cells between them and their fronts tell what arrives at the points within (Vinje, Iversen and
// Gjøystdal 1993, Traveltime and amplitude estimation using wavefront construction, Geophysics 58; Lambaré, Lucio and Hanyga
// 1996, Two-dimensional multivalued traveltime and amplitude maps by uniform sampling of a ray field, Geophys. J.
// Int. 125). The slowness may be smoothed by a Gaussian before. The traced model is then a sum of cubic
// B-splines on the nodes of the model.
//
// In 2-D that is u = s². With the parameter σ, dσ = v² dT, rays obey dx/dσ = p, dp/dσ = ∇u/2 and dT/dσ = u, and
// Q = ∂x/∂α, what moves with the take-off angle α, the linearised equations (Červený 2001, sections 3.1 and 4.2). They
// are solved by the Runge-Kutta-Nyström method of fourth order, three cells a step.
// Rays start at 128 angles. Between two that are six cells apart somewhere, or differ by 0.06 in direction, a third
// is traced from the source, up to seven times. Neighbouring rays and fronts of equal length cut the plane into
// cells. In each, at the points of the image within, p and the width q of the ray tube are linear across and along,
// p has the length s, and T is the mean over the corners of T + (p + p_c)·(x − x_c)/2. A cell that is wider
// than eight grid cells, where rays part without order, brings nothing.
//
// In 3-D it is v. Rays obey dx/dT = v² p and dp/dT = −∇v/v, and Q and P in ray-centred coordinates dQ/dT = v² P and
// dP/dT = −VQ/v, V the second derivatives of v across the ray; the classical Runge-Kutta method solves them. A front
// is a mesh of triangles, at first that of an icosahedron. An edge whose ends differ by 0.15 in
// direction, by 12 cells, or by 0.3 of det Q is halved by a ray from the source (Rivara 1984). This
// ends when a front has a ray for each 16 points of the image, 2,048 at least and 16,384 at most; then
// edges may be longer. Three tetrahedra fill the prism between a triangle at two fronts. Times at the
// points within are of third order: the mean over the corners of T + (2/3) p·d + d·Md/6, d the way from
// the corner and M = PQ⁻¹, by barycentric weights.
//
// Where q, or an eigenvalue of Q, changes its sign, rays have passed a caustic. b² = (s0/s)/|q| in 2-D and
// (s0/s)/|det Q| in 3-D, Q by the angles of the take-off. At a caustic that has no bound, and waves have. Where rays fold,
// x = x″δ²/2 at the take-off angle δ from the fold, and two rays come to a point at times that differ by (2/3)Px″δ³. The Airy function
// is largest where that is 4/(3ω) (Ludwig 1966, Uniform asymptotic expansions at a caustic, Comm. Pure Appl. Math. 19),
// at q³ = 2x″²/(ωP), and nearer to the fold q is held there. A cell takes x″ and P = ∂p/∂α from its corners, and ω is that of
// RayOptions.Period. In 3-D δ is in the direction in which x changes least. b is at most MostSpreading times that of a homogeneous medium.
//
// No ray comes to points beyond a fold, but waves do. Their amplitude follows the Airy function, down
// to a tenth of its value at the fold. Their phase is halfway between those of the two rays that meet
// there, so they count as two arrivals at one time, that of the fold continued by its slowness and by
// the bending of fronts across it. First arrivals have none.
//
// Behind a cusp three rays come to a point within a small part of a period, and the sum of three such arrivals is too
// large: their wave is Pearcey's integral. Where the three phases differ by half a radian or less they are one arrival, whose
// amplitude and phase are those of the integral for waves of RayOptions.Period, cusps.go.
//
// A field keeps the arrivals of the largest b at a point. Branches hold them by the turns of their
// phase, see Turned. With RayOptions.Fill points that no ray reaches have the first arrival of the
// eikonal equation.
//
// For v = 1500 + 0.6 z m/s at 10 m times are good to 1e-5 of themselves from six cells on, b to 0.3 %, and
// directions to 0.3 degrees. Behind a lens that makes three rays come to a point all have the times of a fine fan
// to 0.02 ms and b to 4 % in 2-D, and at its folds to 35 %; to 0.05 ms and, at 99 of 100, 5 % in 3-D, away from caustics.
// The strongest arrivals of a place take 1.3 times the time of the eikonal equation with its spreading and 4.4 times that of
// first times alone in BenchmarkRays401x301, 1.6 and 5.8 times in BenchmarkRays101x101x101.
//
// # Windows
//
// A caller who needs a part of the image for each place sets Options.Windows: rectangles of
// the image's columns, with all of z. Memory and time of a place are then those of its window
// instead of the image. Analytic times, given tables and NewRMS have the same bits in a
// window as in the whole grid. A Coarse interpolates with the same bits.
//
// The eikonal equation is solved in a window of the model: the image window, Options.Margin
// on each side of it, and the place itself with its start box, wherever it lies. A ray that
// leaves this window is not found: the time where it arrives is then that of a slower one
// inside. Times that no such ray reaches equal those of the whole model. If the velocity
// depends only on z, rays stay between their ends, and no margin is needed.
//
// Places near each other share a batch though their windows differ. The batch holds all of
// them, and a lane leaves out what its own window does not have. So the bits of a field depend
// on its position, window and margin and on the model, not on other places. The window of the
// whole image is solved in the whole model, whatever the margin.
//
// # Accuracy
//
// For v = 1500 + 0.6 z m/s at 10 m, 401×301 or 101³ points, the relative error against the
// closed form is 0.6e-6 to 1.4e-6 rms and 4e-6 at most, on or off the nodes, and that of the
// gradient 4e-5 rms. The error of the times falls with h². Cells ten times longer than high
// cost a factor of ten. In rough models the sampling of the model limits any solver:
// Marmousi smoothed over 50 m gives 0.10 to 0.20 ms rms at 10 m against 2.5 m.
package traveltime
