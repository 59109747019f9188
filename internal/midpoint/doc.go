// Package midpoint looks at a line before migration: traces sorted by common midpoint, normal moveout, velocity
// spectra and stacks.
//
// Where layers are flat, a reflection whose two-way time is τ at offset 0 arrives at the offset x at
//
//	t(x)² = τ² + x²/V²,
//
// V the root-mean-square velocity above it, while x is small beside the depth (Dix 1955, Seismic velocities from
// surface measurements, Geophysics 20; Taner and Koehler 1969, Velocity spectra, Geophysics 34). Times of a midpoint
// count from its floating datum, the mean z of its sources and receivers: t is that of the traces as they were
// recorded. Delays that a static correction would remove, such as those of a hill between a source and
// a receiver, stay in them.
package midpoint
