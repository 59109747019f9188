// Package tomography turns residual moveout into a change of the velocity model.
//
// Unknown is the relative change of slowness δ = Δs/s, on a coarse grid of knots of cubic
// B-splines, δ(x) = Σ c_k B_k(x). The new velocity is v exp(−δ).
//
// # Rows in depth
//
// A pick says where a reflector lies in the images of the offsets, z_h. For each offset the two
// rays of its reflection lead from the image point to a source and a receiver whose slowness
// vectors add up to the reflector's normal. The rays follow −∇T of the traveltime fields. If the
// slowness changes, the time along them changes by Δt = ∫ δ p·dx, p = ∇T: rays are stationary, and
// p·dx = s dl in isotropic media. In anisotropic ones it is the change for parameters ε, δ and
// directions that stay, since times are then proportional to the slowness along the axis. The
// image keeps the time of the data, so its point moves along z by
//
//	Δz = −Δt / (p_s + p_r)_z,
//
// and |p_s + p_r| = 2 s cos θ with the angle of incidence θ in isotropic media, its z component
// 2 s cos θ cos φ with the dip φ (Stork 1992, Reflection tomography in the postmigrated domain,
// Geophysics 57; Woodward et al. 2008, A decade of tomography, Geophysics 73).
//
// A gather is flat where z_h + Δz_h is the same for all offsets. With the mean over the offsets
// of a pick taken off, rows and data are, z_h on the pick's curve plus its shift,
//
//	w (K_h − mean K) c = −w (z_h − mean z),   K_hk = −∫ B_k p·dx / (p_s + p_r)_z,
//
// w the pick's certainty. In 3-D the image of an offset is a stack over azimuths: K_h and z_h are means
// over pairs of rays, one for each sector of azimuth.
//
// # Rows in time
//
// A pick of γ, the velocity of the migration over the velocity that makes the gather flat, measures
// δ at its point: w Σ c_k B_k(x) = w ln γ.
//
// # Solution
//
// CGLS minimises ‖A c − d‖² + (λ b)² Σ_a (n_a/24)² ‖D_a c‖²/N + (μ b)² ‖c‖²/N, with D_a the
// differences of neighbouring knots along an axis of n_a intervals, N knots and b² the sum over the rows
// of (Σ_k |A_k|)². Sums over knots stand for integrals, and n_a D_a for derivatives, so that closer knots
// are not smoothed less. Rows that do not fit count less and less:
// the solution is repeated with weights 1/√(1 + (r/σ)²), σ the median of |r| times 1.5 (Holland and
// Welsch 1977). Coefficients, and with them δ, are then cut to the bounds.
package tomography
