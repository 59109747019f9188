#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math", "fp-contract=off")

#include "output.h"
#include "sweep.h"

#include <math.h>
#include <string.h>

// Reads and writes every value once; a row stays in the cache meanwhile.
long eik_split(float *out, const float *tau, long rows, int n, int lanes, int used)
{
	const long field = rows * n;
	long lost = 0;
	for (long r = 0; r < rows; r++) {
		const float *row = tau + (r * (n + 2 * EIK_GHOSTS) + EIK_GHOSTS) * lanes;
		for (int l = 0; l < used; l++) {
			float *dst = out + l * field + r * n;
			int bad = 0;
			for (int j = 0; j < n; j++) {
				dst[j] = row[(long)j * lanes + l];
				bad += !(dst[j] < EIK_UNREACHED / 2);
			}
			lost += bad;
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
			const float *s = t + ((long)(r->first[0][i] + a) * r->n[1] + r->first[1][j] + b) * nz;
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

void eik_finish(double *T, double *const grad[3], const float *tau, const float *const slope[3], int dim,
	const int n[3], const double origin[3], const double spacing[3], const double at[3], double scale)
{
	const int nz = n[dim - 1], ny = dim == 3 ? n[1] : 1;
	const double oz = origin[dim - 1], hz = spacing[dim - 1], az = at[dim - 1];
	for (int i = 0; i < n[0]; i++)
		for (int j = 0; j < ny; j++) {
			const long row = ((long)i * ny + j) * nz;
			const double x = origin[0] + i * spacing[0] - at[0];
			const double y = dim == 3 ? origin[1] + j * spacing[1] - at[1] : 0;
			const double outer = x * x + y * y;
			const float *s = tau + row;
			double *t = T + row;
			for (int k = 0; k < nz; k++) {
				const double z = oz + k * hz - az; // exactly zero at the source
				t[k] = scale * s[k] * sqrt(outer + z * z);
			}
			for (int a = 0; a < dim && grad[0]; a++) {
				const float *d = slope[a] + row;
				double *g = grad[a] + row;
				const double fixed = a == 0 ? x : y;
				for (int k = 0; k < nz; k++) {
					const double z = oz + k * hz - az, r = sqrt(outer + z * z);
					// At the source the gradient has no direction: zero.
					const double c = (a == dim - 1 ? z : fixed) / (r > 0 ? r : 1);
					g[k] = scale * (s[k] * c + r * d[k]);
				}
			}
		}
}
