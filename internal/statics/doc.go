// Package statics finds the static corrections and the surface-consistent amplitudes of a survey: what
// sources and receivers, and the ground right below them, do to all their traces alike.
//
// A static correction is the time that is added to all times of a trace, that of its source plus that of its
// receiver. Corrections come
//
//   - from elevations, to a datum, with a replacement velocity and uphole times ([Elevation]);
//
//   - from first breaks ([Pick]): a first arrival that the refractor below the weathered layer guides takes, from
//     source s to receiver r at the offset x,
//
//     t = d_s + d_r + ∫ p dx,
//
//     p the refractor's slowness. The delay of a place with z_w of weathered ground of velocity v_w below it is
//     d = z_w cos i / v_w, sin i = v_w p (Gardner 1939, An areal plan of mapping subsurface structure by
//     refraction shooting, Geophysics 4; Hampson and Russell 1984, First-break interpretation using
//     generalized linear inversion, SEG Expanded Abstracts) ([Delays]);
//
//   - from reflections: shifts of sources and receivers that give the stack of all midpoints the most power
//     (Ronen and Claerbout 1985, Surface-consistent residual statics estimation by stack-power maximization,
//     Geophysics 50) ([Residual]).
//
// Amplitudes of traces are products of terms of the source, the receiver, the offset and the midpoint (Taner and
// Koehler 1981, Surface consistent corrections, Geophysics 46) ([Amplitudes]).
package statics
