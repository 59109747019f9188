#include <dlfcn.h>
#include <stdio.h>
#include "openblas.h"

// Numbers of the CBLAS interface.
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112, LOWER = 122, NON_UNIT = 131, LEFT = 141 };

const char *blas_load(blas_calls *f, void *handle, const char *prefix) {
	static const char *const names[] = {"cblas_sgemm", "cblas_dgemm", "cblas_strsm", "cblas_dtrsm",
		"openblas_set_num_threads", "openblas_get_config"};
	void **at[] = {(void **)&f->sgemm, (void **)&f->dgemm, (void **)&f->strsm, (void **)&f->dtrsm,
		(void **)&f->set_num_threads, (void **)&f->get_config};
	char name[80];
	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
		snprintf(name, sizeof name, "%s%s", prefix, names[i]);
		if (!(*at[i] = dlsym(handle, name)))
			return names[i];
	}
	f->set_num_threads(1); // the threads of package blas share out the tiles
	return NULL;
}

void blas_multiply(const blas_calls *f, int type, int m, int n, int k, double alpha, const void *a, const void *b, void *c) {
	if (type == BLAS_F32)
		f->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, alpha, a, k, b, n, 1, c, n);
	else
		f->dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, alpha, a, k, b, n, 1, c, n);
}

void blas_solve(const blas_calls *f, int type, int adjoint, int m, int n, const void *l, void *b) {
	int op = adjoint ? TRANS : NO_TRANS;
	if (type == BLAS_F32)
		f->strsm(ROW_MAJOR, LEFT, LOWER, op, NON_UNIT, m, n, 1, l, m, b, n);
	else
		f->dtrsm(ROW_MAJOR, LEFT, LOWER, op, NON_UNIT, m, n, 1, l, m, b, n);
}

const char *blas_config(const blas_calls *f) { return f->get_config(); }
