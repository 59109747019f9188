// Package synth makes small synthetic surveys whose answer is known.
//
// A Case has the true velocity, a smooth velocity to migrate with, the true
// reflectivity on the same grid, a survey without data, and the configuration
// that images it. The caller makes the data with the product's own forward
// operator: d = L(smooth) · reflectivity, so that least squares has an exact
// answer to come close to, and may add seeded noise with AddNoise. The case ava brings
// its own data, of ray theory, to test amplitudes with what the operator does not know.
//
// Velocities are in m/s, positions in m with z down, times in s; arrays are in
// C order, [nx, nz] or [nx, ny, nz]. Density is constant, so the reflection
// coefficient of a contrast at normal incidence is half the step in ln v.
//
// Geology is a function of position. A grid point takes the mean slowness of
// its cell, sampled several times along each axis, because a dipping layer cut
// into whole cells is a staircase whose every step diffracts. The geology is
// stretched to the grid: a finer grid shows the same section in more detail.
//
// Everything is a plain function of the options: no clock, no global
// generator.
package synth
