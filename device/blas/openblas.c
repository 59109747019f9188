#include <dlfcn.h>
#include <stdio.h>
#include "openblas.h"

// Numbers of the CBLAS interface.
enum { ROW_MAJOR = 101, NO_TRANS = 111, CONJ_TRANS = 113, LOWER = 122, NON_UNIT = 131, LEFT = 141 };

const char *blas_load(blas_calls *f, void *handle, const char *prefix) {
	static const char *const names[] = {"cblas_sgemm", "cblas_dgemm", "cblas_cgemm", "cblas_zgemm", "cblas_strsm",
		"cblas_dtrsm", "cblas_ctrsm", "cblas_ztrsm", "openblas_set_num_threads", "openblas_get_config"};
	void **at[] = {(void **)&f->sgemm, (void **)&f->dgemm, (void **)&f->cgemm, (void **)&f->zgemm, (void **)&f->strsm,
		(void **)&f->dtrsm, (void **)&f->ctrsm, (void **)&f->ztrsm, (void **)&f->set_num_threads, (void **)&f->get_config};
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
	float single[2] = {alpha, 0}, one[2] = {1, 0};
	double full[2] = {alpha, 0}, unit[2] = {1, 0};
	switch (type) {
	case BLAS_F32:
		f->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, alpha, a, k, b, n, 1, c, n);
		break;
	case BLAS_F64:
		f->dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, alpha, a, k, b, n, 1, c, n);
		break;
	case BLAS_C64:
		f->cgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, single, a, k, b, n, one, c, n);
		break;
	case BLAS_C128:
		f->zgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, full, a, k, b, n, unit, c, n);
		break;
	}
}

void blas_solve(const blas_calls *f, int type, int adjoint, int m, int n, const void *l, void *b) {
	float one[2] = {1, 0};
	double unit[2] = {1, 0};
	int op = adjoint ? CONJ_TRANS : NO_TRANS;
	switch (type) {
	case BLAS_F32:
		f->strsm(ROW_MAJOR, LEFT, LOWER, op, NON_UNIT, m, n, 1, l, m, b, n);
		break;
	case BLAS_F64:
		f->dtrsm(ROW_MAJOR, LEFT, LOWER, op, NON_UNIT, m, n, 1, l, m, b, n);
		break;
	case BLAS_C64:
		f->ctrsm(ROW_MAJOR, LEFT, LOWER, op, NON_UNIT, m, n, one, l, m, b, n);
		break;
	case BLAS_C128:
		f->ztrsm(ROW_MAJOR, LEFT, LOWER, op, NON_UNIT, m, n, unit, l, m, b, n);
		break;
	}
}

const char *blas_config(const blas_calls *f) { return f->get_config(); }
