#include "kernel.h"

// lsm_collapse sets trace[n] = Σ_j windows[SLOTS (n − j) + j], n < nt.
void lsm_collapse(float *restrict trace, const float *restrict windows, int64_t nt) {
	for (int64_t n = 0; n < nt && n < SLOTS - 1; n++) {
		float sum = 0;
		for (int64_t j = 0; j <= n; j++) sum += windows[SLOTS * (n - j) + j];
		trace[n] = sum;
	}
	for (int64_t n = SLOTS - 1; n < nt; n++) {
		const float *w = windows + SLOTS * n;
		trace[n] = (w[0] + w[1 - SLOTS]) + (w[2 - 2 * SLOTS] + w[3 - 3 * SLOTS]);
	}
}

// lsm_narrow sets y[i] = x[i], i < n.
void lsm_narrow(float *restrict y, const double *restrict x, int64_t n) {
	for (int64_t i = 0; i < n; i++) y[i] = (float)x[i];
}
