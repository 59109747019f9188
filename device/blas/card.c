#include "card.h"
#include "openblas.h"

#include <dlfcn.h>
#include <stddef.h>

// Numbers of both libraries.
enum { ATOMICS_NOT_ALLOWED = 0 };
enum { DEFAULT_MATH = 0, PEDANTIC_MATH = 2 }; // of cuBLAS

typedef struct {
	int none, transposed, adjoint; // operations
	int upper, non_unit, left, right;
} numbers;

static const numbers number[] = {{0, 1, 2, 1, 0, 0, 1}, {111, 112, 113, 121, 131, 141, 142}};

// Names by library, which of the functions, and type.
enum { GEMM, TRSM, GEAM };
static const char *const names[2][3][CARD_TYPES] = {
	{{"cublasSgemm_v2", "cublasDgemm_v2", "cublasCgemm_v2", "cublasZgemm_v2"},
	 {"cublasStrsm_v2", "cublasDtrsm_v2", "cublasCtrsm_v2", "cublasZtrsm_v2"},
	 {"cublasSgeam", "cublasDgeam", "cublasCgeam", "cublasZgeam"}},
	{{"hipblasSgemm", "hipblasDgemm", "hipblasCgemm", "hipblasZgemm"},
	 {"hipblasStrsm", "hipblasDtrsm", "hipblasCtrsm", "hipblasZtrsm"},
	 {"hipblasSgeam", "hipblasDgeam", "hipblasCgeam", "hipblasZgeam"}},
};
static const char *const creates[] = {"cublasCreate_v2", "hipblasCreate"};
static const char *const destroys[] = {"cublasDestroy_v2", "hipblasDestroy"};
static const char *const streams[] = {"cublasSetStream_v2", "hipblasSetStream"};
static const char *const atomics[] = {"cublasSetAtomicsMode", "hipblasSetAtomicsMode"};
static const char *const texts[] = {"cublasGetStatusString", "hipblasStatusToString"};

#define FIND(field, name)                                   \
	if (!(*(void **)&(field) = dlsym(library, name))) \
		return name;

const char *card_load(card_calls *f, void *library, int hip)
{
	f->hip = hip;
	FIND(f->create, creates[hip])
	FIND(f->destroy, destroys[hip])
	FIND(f->set_stream, streams[hip])
	FIND(f->set_atomics, atomics[hip])
	if (!hip) {
		FIND(f->set_math, "cublasSetMathMode")
		FIND(f->property, "cublasGetProperty")
	}
	for (int type = 0; type < CARD_TYPES; type++) {
		FIND(f->gemm[type], names[hip][GEMM][type])
		FIND(f->trsm[type], names[hip][TRSM][type])
		FIND(f->geam[type], names[hip][GEAM][type])
	}
	*(void **)&f->text = dlsym(library, texts[hip]);
	return NULL;
}

int card_version(const card_calls *f, int version[3])
{
	for (int which = 0; which < 3; which++) {
		if (f->hip)
			return 1;
		int status = f->property(which, &version[which]);
		if (status)
			return status;
	}
	return 0;
}

const char *card_text(const card_calls *f, int status)
{
	const char *text = f->text ? f->text(status) : NULL;
	return text ? text : "the library has no text";
}

int card_open(const card_calls *f, void *stream, void **handle, const char **call)
{
	*call = creates[f->hip];
	int status = f->create(handle);
	if (status)
		return status;
	*call = streams[f->hip];
	if (!(status = f->set_stream(*handle, stream))) {
		*call = atomics[f->hip];
		status = f->set_atomics(*handle, ATOMICS_NOT_ALLOWED);
	}
	if (status)
		f->destroy(*handle);
	return status;
}

int card_close(const card_calls *f, void *handle, const char **call)
{
	*call = destroys[f->hip];
	return f->destroy(handle);
}

// real is a real factor of a type.
typedef union {
	float single[2];
	double full[2];
} real;

static real real_of(int type, double v)
{
	real r = {.full = {v, 0}};
	if (type == BLAS_F32 || type == BLAS_C64)
		r.single[0] = (float)v, r.single[1] = 0;
	return r;
}

// precise forbids cuBLAS to round the factors of single precision to fewer digits. Double
// precision is whole on its tensor cores as well, which pedantry would forbid.
static int precise(const card_calls *f, void *handle, int type, const char **call)
{
	*call = "cublasSetMathMode";
	if (f->hip)
		return 0;
	return f->set_math(handle, type == BLAS_F32 || type == BLAS_C64 ? PEDANTIC_MATH : DEFAULT_MATH);
}

// A row-major matrix is the transpose of a column-major one: Cᵀ = Cᵀ + alpha Bᵀ Aᵀ.
int card_multiply(const card_calls *f, void *handle, int type, int m, int n, int k, double alpha, card_address a,
                  card_address b, card_address c, const char **call)
{
	real factor = real_of(type, alpha), one = real_of(type, 1);
	int no = number[f->hip].none, status = precise(f, handle, type, call);
	if (status)
		return status;
	*call = names[f->hip][GEMM][type];
	return f->gemm[type](handle, no, no, n, m, k, &factor, b, n, a, k, &one, c, n);
}

static int adjoint_of(const card_calls *f, int type)
{
	const numbers *x = &number[f->hip];
	return type == BLAS_C64 || type == BLAS_C128 ? x->adjoint : x->transposed;
}

// With U = Lᵀ, as the library sees it: Xᵀ U = Bᵀ, Xᵀ Uᴴ = Bᵀ, or Uᴴ Xᵀ = Bᵀ.
int card_solve(const card_calls *f, void *handle, int type, int side, int m, int n, card_address l, card_address b,
               const char **call)
{
	real one = real_of(type, 1);
	const numbers *x = &number[f->hip];
	int right = side == CARD_RIGHT_ADJOINT, order = right ? n : m, status = precise(f, handle, type, call);
	if (status)
		return status;
	*call = names[f->hip][TRSM][type];
	return f->trsm[type](handle, right ? x->left : x->right, x->upper, side == CARD_LOWER ? x->none : adjoint_of(f, type),
	                     x->non_unit, n, m, &one, l, order, b, n);
}

int card_adjoint(const card_calls *f, void *handle, int type, int m, int n, card_address src, card_address dst,
                 const char **call)
{
	real one = real_of(type, 1), zero = real_of(type, 0);
	*call = names[f->hip][GEAM][type];
	return f->geam[type](handle, adjoint_of(f, type), number[f->hip].none, m, n, &one, src, n, &zero, dst, m, dst, m);
}
