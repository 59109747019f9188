#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math", "fp-contract=off")

#include "output.h"

#include <math.h>
#include <string.h>

// Reads every value once, and writes those in windows; a row stays in the cache meanwhile.
long eik_split(float *out, const eik_batch *b, const float *from, long most, int used)
{
	const int n = b->n[2], lanes = b->lanes;
	long lost = 0, done[EIK_LANES] = {0};
	const float *row = from + EIK_GHOSTS * lanes;
	for (int x = 0; x < b->n[0]; x++)
		for (int y = 0; y < b->n[1]; y++, row += (n + 2 * EIK_GHOSTS) * lanes) {
			const unsigned in = b->in[0][x] & b->in[1][y];
			for (int l = 0; l < used; l++) {
				if (!(in >> l & 1))
					continue;
				float *dst = out + l * most + done[l];
				int bad = 0;
				for (int j = 0; j < n; j++) {
					dst[j] = row[(long)j * lanes + l];
					bad += !(dst[j] < EIK_UNREACHED / 2);
				}
				lost += bad;
				done[l] += n;
			}
		}
	return lost;
}

void eik_slope(float *dst, const float *t, long total, int n, long inner, double h)
{
	if (n == 1) {
		memset(dst, 0, total * sizeof *dst);
		return;
	}
	const long block = n * inner, last = block - inner;
	const float w = (float)(0.5 / h);
	for (long at = 0; at < total; at += block) {
		const float *s = t + at;
		float *d = dst + at;
		for (long j = 0; j < inner; j++) {
			const float *e = s + last + j;
			if (n == 2) {
				d[j] = d[last + j] = 2 * w * (e[0] - s[j]);
				continue;
			}
			// 4(t1 - t0) - (t2 - t0), the differences first: they are small
			d[j] = w * (4 * (s[inner + j] - s[j]) - (s[2 * inner + j] - s[j]));
			d[last + j] = w * (4 * (e[0] - e[-inner]) - (e[0] - e[-2 * inner]));
		}
		for (long j = inner; j < last; j++)
			d[j] = w * (s[j + inner] - s[j - inner]);
	}
}

// Adds the rows of t that x, y weights combine to a line along z.
static void combine(float *line, const float *t, const eik_resample *r, int i, int j, const float *wx, const float *wy)
{
	const int nz = r->n[2];
	memset(line, 0, nz * sizeof *line);
	for (int a = 0; a < r->width[0]; a++)
		for (int b = 0; b < r->width[1]; b++) {
			const float w = wx[a] * wy[b];
			const float *s = t + ((long)(r->first[0][i] + a - r->lo[0]) * r->n[1] + r->first[1][j] + b - r->lo[1]) * nz;
			for (int k = 0; w != 0 && k < nz; k++)
				line[k] += w * s[k];
		}
}

static void along_z(float *dst, const float *line, const eik_resample *r, const float *w)
{
	for (int k = 0; k < r->m[2]; k++) {
		const float *s = line + r->first[2][k];
		float sum = 0;
		for (int c = 0; c < r->width[2]; c++)
			sum += w[4 * k + c] * s[c];
		dst[k] = sum;
	}
}

void eik_interpolate(float *const dst[4], float *line, const float *t, const eik_resample *r, int gradient)
{
	const int mz = r->m[2];
	for (int i = 0; i < r->m[0]; i++)
		for (int j = 0; j < r->m[1]; j++) {
			const long at = ((long)i * r->m[1] + j) * mz;
			const float *vx = r->value[0] + 4 * i, *vy = r->value[1] + 4 * j;
			combine(line, t, r, i, j, vx, vy);
			along_z(dst[0] + at, line, r, r->value[2]);
			if (!gradient)
				continue;
			along_z(dst[r->dim] + at, line, r, r->slope[2]);
			combine(line, t, r, i, j, r->slope[0] + 4 * i, vy);
			along_z(dst[1] + at, line, r, r->value[2]);
			if (r->dim == 3) {
				combine(line, t, r, i, j, vx, r->slope[1] + 4 * j);
				along_z(dst[2] + at, line, r, r->value[2]);
			}
		}
}

// One row of z, r² = outer + z², for eik_finish; flat in k, so that the compiler
// vectorises it.
static inline __attribute__((always_inline)) void finish_row(double *restrict T, const float *restrict tau,
	double *restrict gx, const float *restrict dx, double *restrict gy, const float *restrict dy,
	double *restrict gz, const float *restrict dz, int n, double x, double y, double oz, double hz, double az,
	double scale, int gradient, int dim)
{
	const double outer = x * x + y * y;
	for (int k = 0; k < n; k++) {
		const double z = oz + k * hz - az; // exactly zero at the source
		const double r = sqrt(outer + z * z), s = tau[k];
		T[k] = scale * (s * r);
		if (gradient) {
			// At the source the gradient has no direction: zero.
			const double c = s * (r > 0 ? 1 / r : 0);
			gx[k] = scale * (c * x + r * dx[k]);
			if (dim == 3)
				gy[k] = scale * (c * y + r * dy[k]);
			gz[k] = scale * (c * z + r * dz[k]);
		}
	}
}

// The same with R g for R. N is R times the gradient of R g, as in sweep_tilted.h.
static inline __attribute__((always_inline)) void finish_tilted(double *restrict T, const float *restrict tau,
	double *restrict gx, const float *restrict dx, double *restrict gy, const float *restrict dy,
	double *restrict gz, const float *restrict dz, int n, double x, double y, double oz, double hz, double az,
	const double *restrict cone, double scale, int gradient, int dim)
{
	const double outer = x * x + y * y, mx = cone[EIK_CONE], my = cone[EIK_CONE + 1], mz = cone[EIK_CONE + 2];
	for (int k = 0; k < n; k++) {
		const double z = oz + k * hz - az;
		const double r2 = outer + z * z, r = sqrt(r2), s = tau[k], q = mx * x + my * y + mz * z;
		const double w = q * q * (r > 0 ? 1 / r2 : 0), c = 2 * w - 1;
		double f = cone[EIK_CONE - 1], d = 0;
#pragma GCC unroll 16
		for (int j = EIK_CONE - 2; j >= 0; j--) {
			if (gradient)
				d = d * c + f;
			f = f * c + cone[j];
		}
		const double g = sqrt(f);
		T[k] = scale * (s * (r * g));
		if (gradient) {
			d = 2 * d / g;
			const double radial = g - d * w, axial = d * q, u = s * (r > 0 ? 1 / r : 0);
			gx[k] = scale * (u * (radial * x + axial * mx) + r * g * dx[k]);
			if (dim == 3)
				gy[k] = scale * (u * (radial * y + axial * my) + r * g * dy[k]);
			gz[k] = scale * (u * (radial * z + axial * mz) + r * g * dz[k]);
		}
	}
}

#define FINISH(NAME, TARGET) \
	static TARGET void NAME(double *T, const float *tau, double *const *g, const float *const *d, int n, \
		double x, double y, double oz, double hz, double az, const double *cone, double scale, int dim) \
	{ \
		if (cone && !g[0]) \
			finish_tilted(T, tau, 0, 0, 0, 0, 0, 0, n, x, y, oz, hz, az, cone, scale, 0, 2); \
		else if (cone && dim == 2) \
			finish_tilted(T, tau, g[0], d[0], 0, 0, g[1], d[1], n, x, y, oz, hz, az, cone, scale, 1, 2); \
		else if (cone) \
			finish_tilted(T, tau, g[0], d[0], g[1], d[1], g[2], d[2], n, x, y, oz, hz, az, cone, scale, 1, 3); \
		else if (!g[0]) \
			finish_row(T, tau, 0, 0, 0, 0, 0, 0, n, x, y, oz, hz, az, scale, 0, 2); \
		else if (dim == 2) \
			finish_row(T, tau, g[0], d[0], 0, 0, g[1], d[1], n, x, y, oz, hz, az, scale, 1, 2); \
		else \
			finish_row(T, tau, g[0], d[0], g[1], d[1], g[2], d[2], n, x, y, oz, hz, az, scale, 1, 3); \
	}

FINISH(finish_plain, )
#if defined(__x86_64__)
FINISH(finish_avx2, __attribute__((target("avx2"))))
FINISH(finish_avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))))
#endif

// Reads tau and the slopes once and writes T and the gradients once.
void eik_finish(double *T, double *const grad[3], const float *tau, const float *const slope[3], int dim,
	const int lo[3], const int n[3], int wide, const double origin[3], const double spacing[3], const double at[3],
	const double *cone, double scale)
{
	void (*row)(double *, const float *, double *const *, const float *const *, int,
		double, double, double, double, double, const double *, double, int) = finish_plain;
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		row = finish_avx512;
	else if (__builtin_cpu_supports("avx2"))
		row = finish_avx2;
#endif
	const int z = dim - 1, ny = dim == 3 ? n[1] : 1;
	for (int i = 0; i < n[0]; i++)
		for (int j = 0; j < ny; j++) {
			const long o = ((long)i * ny + j) * n[z], from = ((long)i * wide + j) * n[z];
			double *g[3] = {0};
			const float *d[3] = {0};
			for (int a = 0; a < dim && grad[0]; a++)
				g[a] = grad[a] + o, d[a] = slope[a] + from;
			row(T + o, tau + from, g, d, n[z], origin[0] + (lo[0] + i) * spacing[0] - at[0],
				dim == 3 ? origin[1] + (lo[1] + j) * spacing[1] - at[1] : 0, origin[z], spacing[z], at[z], cone, scale, dim);
		}
}
