// From the sweeps' scaled tau, lanes innermost, to fields of one source.
#ifndef LSM_TRAVELTIME_OUTPUT_H
#define LSM_TRAVELTIME_OUTPUT_H

#include "sweep.h"

// Splits tau, or an array like it, of the first used lanes into out [used][most], each in C
// order of the points of its window, at most most of them. Returns the number of values that
// no wave reached.
long eik_split(float *out, const eik_batch *b, const float *from, long most, int used);

// Second-order derivative of t along an axis of n points that lie inner apart,
// one-sided at the ends; zero where n is 1.
void eik_slope(float *dst, const float *t, long total, int n, long inner, double h);

// Value and derivative of t at the points of another grid, by cubic (or lower)
// interpolation along each axis. t begins at point lo of the source grid. first[a][i] is the
// first of width[a] points of that grid on axis a for point i, and value[a], slope[a] their
// weights, [m][4]. dst[0] is the value,
// dst[1 + a] the derivative (when gradient is not 0). line is scratch, [n[2]].
typedef struct {
	int dim;
	int n[3], m[3]; // points of t, of the destination
	int lo[3];
	int width[3];
	const int *first[3];
	const float *value[3], *slope[3];
} eik_resample;
void eik_interpolate(float *const dst[4], float *line, const float *t, const eik_resample *r, int gradient);

// T = R tau and, where grad[0] is not null, grad T = tau grad R + R grad tau,
// with R = |x - at|. slope[a] is the derivative of tau per metre. Axes are x, (y,) z of n points; the
// first is point lo of the grid. scale is the unit of tau in s/m. With cone, R g takes the place of R:
// [EIK_CONE + 3] as in eik_batch, the axis' y zero in 2-D. In 3-D tau and the slopes have wide rows
// along y for each x, T and grad n[1].
void eik_finish(double *T, double *const grad[3], const float *tau, const float *const slope[3], int dim,
	const int lo[3], const int n[3], int wide, const double origin[3], const double spacing[3], const double at[3],
	const double *cone, double scale);

#endif
