#include "card.h"
#include "openblas.h"

#include <dlfcn.h>
#include <stddef.h>

// Numbers of both libraries.
enum { ATOMICS_NOT_ALLOWED = 0 };
enum { DEFAULT_MATH = 0, PEDANTIC_MATH = 2 }; // of cuBLAS

static const int not_transposed[] = {0, 111}; // by library

// Names of products by library and type.
static const char *const gemms[2][CARD_TYPES] = {
	{"cublasSgemm_v2", "cublasDgemm_v2"},
	{"hipblasSgemm", "hipblasDgemm"},
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
	for (int type = 0; type < CARD_TYPES; type++)
		FIND(f->gemm[type], gemms[hip][type])
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

// factor is a number of a type.
typedef union {
	float single;
	double full;
} factor;

static factor factor_of(int type, double v)
{
	factor r = {.full = v};
	if (type == BLAS_F32)
		r.single = (float)v;
	return r;
}

// precise forbids cuBLAS to round the factors of single precision to fewer digits. Double
// precision is whole on its tensor cores as well, which pedantry would forbid.
static int precise(const card_calls *f, void *handle, int type, const char **call)
{
	*call = "cublasSetMathMode";
	if (f->hip)
		return 0;
	return f->set_math(handle, type == BLAS_F32 ? PEDANTIC_MATH : DEFAULT_MATH);
}

// A row-major matrix is the transpose of a column-major one: Cᵀ = Cᵀ + alpha Bᵀ Aᵀ.
int card_multiply(const card_calls *f, void *handle, int type, int m, int n, int k, double alpha, card_address a,
                  card_address b, card_address c, const char **call)
{
	factor scale = factor_of(type, alpha), one = factor_of(type, 1);
	int no = not_transposed[f->hip], status = precise(f, handle, type, call);
	if (status)
		return status;
	*call = gemms[f->hip][type];
	return f->gemm[type](handle, no, no, n, m, k, &scale, b, n, a, k, &one, c, n);
}
