// Package moveout measures what is left of the moveout in images by offset.
//
// With the right velocity a reflector lies at one depth in the images of all offsets. In a
// homogeneous medium of slowness s, migrated with the slowness s_m, it lies at
//
//	z(x)² = z0² + (γ² − 1) x²/4,   γ = s / s_m,
//
// x the offset and z0 the depth at offset 0 (Al-Yahya 1989, Velocity analysis by iterative
// profile migration, Geophysics 54). γ is also the velocity of the migration over the true one:
// below 1 the migration was too slow and gathers curve upwards. In time, with the
// root-mean-square velocity v of the migration, what remains of normal moveout is
//
//	τ(x)² = τ0² + (γ² − 1) x²/v².
//
// Both are z² = z0² + (γ² − 1) x²/c² with c = 2 in depth and c = v in time. γ is that of an average
// over what lies above; package tomography says where it comes from.
//
// The semblance along a curve, with the sums over the offsets of a gather and a window of
// depths, is the normalised sum of cross-correlations (Neidell and Taner 1971, Semblance and
// other coherency measures for multichannel data, Geophysics 36),
//
//	S(z0, γ) = Σ_z ((Σ_x a)² − Σ_x a²) / Σ_z (N − 1) Σ_x a².
//
// With the illumination w of the classes (Gathers.Light) each pair of traces counts with the product of
// theirs, and classes that hardly any trace lights at a point do not count there:
//
//	S(z0, γ) = Σ_z ((Σ_x w a)² − Σ_x w² a²) / Σ_z (Σ_x w Σ_x w a² − Σ_x w² a²).
//
// It is 1 where all N traces are alike along it, and 0 on average for noise. A trajectory γ(z0) of
// one place maximises the sum of the semblances, weighted by energy, less a penalty on the squares
// of its steps. Dynamic programming finds it (Viterbi 1967). A second search is drawn to the median
// of the first ones nearby. Places lie along a line, or on a lattice of columns below a surface;
// everything else is the same in 2-D and 3-D.
//
// If the velocity changes within a spread, moveout does not follow such a curve. Correlation with the
// sum of the other offsets says how far off it each one lies (Shift).
package moveout
