//go:build ignore

// cuBLAS and hipBLAS, the parts that are called here: products of matrices, column after column, in
// plain loops and in the stream of the handle. They are stricter than the real ones. The order of a sum depends on the shape of the call and on the alignment of
// its matrices, as it may in a real library. If atomic sums are allowed, it also depends on the number
// of the call. Single precision has the digits of TF32 unless cuBLAS is told to be pedantic.
#include "emulator.h"

#include <cstring>
#include <set>

extern "C" int cuCtxGetDevice(int *card);

namespace gpuemu {

namespace {

// Statuses of cuBLAS; hipBLAS numbers them otherwise.
enum { Done = 0, NotInitialized = 1, AllocFailed = 3, Invalid = 7, ExecutionFailed = 13 };

struct Handle {
	int card = -1;
	Stream *stream = nullptr;
	bool pedantic = false, atomics = false;
};

std::mutex handles_lock;
std::set<Handle *> handles;

// known finds the status of a call with a handle: it must be one of the current card.
int known(Handle *h, const char *function)
{
	if (int s = fault(function))
		return s;
	std::lock_guard<std::mutex> hold(handles_lock);
	int card;
	if (!handles.count(h))
		return NotInitialized;
	if (cuCtxGetDevice(&card) != 0 || card != h->card)
		return Invalid;
	return card_status() ? int(ExecutionFailed) : int(Done);
}

int create(Handle **h, const char *function, bool atomics)
{
	if (int s = fault(function))
		return s;
	int card;
	if (cuCtxGetDevice(&card) != 0)
		return NotInitialized;
	std::lock_guard<std::mutex> hold(handles_lock);
	*h = new Handle;
	(*h)->card = card, (*h)->atomics = atomics;
	handles.insert(*h);
	return Done;
}

int destroy(Handle *h, const char *function)
{
	if (int s = fault(function))
		return s;
	std::lock_guard<std::mutex> hold(handles_lock);
	if (!handles.erase(h))
		return NotInitialized;
	delete h;
	return Done;
}

enum Turn { None, Transposed, Adjoint, Bad };

// Matrix is rows × columns elements as stored.
template <class T> struct Matrix {
	T *p;
	int rows, columns, ld;

	Matrix(uint64_t at, int r, int c, int l) : p(reinterpret_cast<T *>(at)), rows(r), columns(c), ld(l) {}
	T &at(int i, int j) const { return p[size_t(j) * size_t(ld) + size_t(i)]; }
	bool leads() const { return rows >= 0 && columns >= 0 && ld >= std::max(1, rows); }
	bool held() const
	{
		if (rows == 0 || columns == 0)
			return true;
		return memory_holds(reinterpret_cast<uint64_t>(p), sizeof(T) * (size_t(columns - 1) * size_t(ld) + size_t(rows)));
	}
	unsigned misaligned() const { return unsigned(reinterpret_cast<uint64_t>(p) % 256 / sizeof(T)); }
};

template <class T> T turned(const Matrix<T> &a, Turn t, int i, int j) { return t == None ? a.at(i, j) : a.at(j, i); }

// How sums are made in a call.
struct Order {
	unsigned first; // term
	bool coarse;    // in TF32
};

std::atomic<unsigned> calls{0};

template <class T> Order order_of(const Handle *h, unsigned shape, bool hip)
{
	if (h->atomics)
		shape += ++calls;
	return {shape, !h->pedantic && !hip && sizeof(T) == 4};
}

float tf32(float v)
{
	uint32_t bits;
	memcpy(&bits, &v, 4);
	bits = (bits + 0x1000) & ~0x1FFFu;
	memcpy(&v, &bits, 4);
	return v;
}
double tf32(double v) { return v; }

template <class T> T product(T x, T y, bool coarse) { return coarse ? tf32(x) * tf32(y) : x * y; }

template <class T>
int gemm(Handle *h, const char *function, bool hip, Turn ta, Turn tb, int m, int n, int k, const T *alpha, uint64_t ap, int lda,
         uint64_t bp, int ldb, const T *beta, uint64_t cp, int ldc)
{
	if (int s = known(h, function))
		return s;
	Matrix<T> a(ap, ta == None ? m : k, ta == None ? k : m, lda), b(bp, tb == None ? k : n, tb == None ? n : k, ldb), c(cp, m, n, ldc);
	if (ta == Bad || tb == Bad || !alpha || !beta || m < 0 || n < 0 || k < 0 || !a.leads() || !b.leads() || !c.leads() || !h->stream)
		return Invalid;
	if (!a.held() || !b.held() || !c.held())
		return ExecutionFailed;
	unsigned shape = unsigned(m) * 3 + unsigned(n) * 5 + unsigned(k) * 7 + a.misaligned() + b.misaligned() + c.misaligned();
	Order o = order_of<T>(h, shape, hip);
	h->stream->add([=, x = *alpha, y = *beta] {
		for (int j = 0; j < n; j++)
			for (int i = 0; i < m; i++) {
				T sum = 0;
				for (int l = 0; l < k; l++) {
					int at = int((unsigned(l) + o.first) % unsigned(k));
					sum += product(turned(a, ta, i, at), turned(b, tb, at, j), o.coarse);
				}
				c.at(i, j) = x * sum + (y == T(0) ? T(0) : y * c.at(i, j));
			}
	});
	return Done;
}

Turn cuda_turn(int t) { return t >= 0 && t <= 2 ? Turn(t) : Bad; }
Turn hip_turn(int t) { return t >= 111 && t <= 113 ? Turn(t - 111) : Bad; }

// hip_status is the number that hipBLAS has for a status of cuBLAS.
int hip_status(int s)
{
	switch (s) {
	case AllocFailed:
		return 2;
	case Invalid:
		return 3;
	case ExecutionFailed:
		return 5;
	}
	return s;
}

const char *text(int s)
{
	switch (s) {
	case Done:
		return "success";
	case NotInitialized:
		return "the library was not initialized";
	case AllocFailed:
		return "the resource allocation failed";
	case Invalid:
		return "an unsupported value or parameter was passed to the function";
	case ExecutionFailed:
		return "the function failed to launch on the GPU";
	}
	return "unknown error code";
}

} // namespace

EXPORT int cublasCreate_v2(Handle **h) { return create(h, "cublasCreate", false); }
EXPORT int cublasDestroy_v2(Handle *h) { return destroy(h, "cublasDestroy"); }
EXPORT int hipblasCreate(Handle **h) { return hip_status(create(h, "hipblasCreate", true)); }
EXPORT int hipblasDestroy(Handle *h) { return hip_status(destroy(h, "hipblasDestroy")); }

EXPORT int cublasSetStream_v2(Handle *h, Stream *s)
{
	int bad = known(h, "cublasSetStream");
	if (!bad)
		h->stream = s;
	return bad;
}

EXPORT int cublasSetAtomicsMode(Handle *h, int mode)
{
	int bad = known(h, "cublasSetAtomicsMode");
	if (!bad)
		h->atomics = mode != 0;
	return bad;
}

EXPORT int cublasSetMathMode(Handle *h, int mode)
{
	int bad = known(h, "cublasSetMathMode");
	if (!bad)
		h->pedantic = mode == 2;
	return bad;
}

EXPORT int hipblasSetStream(Handle *h, Stream *s) { return hip_status(cublasSetStream_v2(h, s)); }
EXPORT int hipblasSetAtomicsMode(Handle *h, int mode) { return hip_status(cublasSetAtomicsMode(h, mode)); }

EXPORT int cublasGetProperty(int which, int *value)
{
	static const int version[] = {12, 4, 5};
	if (which < 0 || which > 2)
		return Invalid;
	*value = version[which];
	return Done;
}

EXPORT const char *cublasGetStatusString(int s) { return text(s); }

EXPORT const char *hipblasStatusToString(int s)
{
	static const char *const names[] = {"HIPBLAS_STATUS_SUCCESS", "HIPBLAS_STATUS_NOT_INITIALIZED", "HIPBLAS_STATUS_ALLOC_FAILED",
		"HIPBLAS_STATUS_INVALID_VALUE", "HIPBLAS_STATUS_MAPPING_ERROR", "HIPBLAS_STATUS_EXECUTION_FAILED"};
	return s >= 0 && s < 6 ? names[s] : "HIPBLAS_STATUS_UNKNOWN";
}

#define FUNCTIONS(letter, T)                                                                                                  \
	EXPORT int cublas##letter##gemm_v2(Handle *h, int ta, int tb, int m, int n, int k, const T *alpha, uint64_t a, int lda,     \
	                                   uint64_t b, int ldb, const T *beta, uint64_t c, int ldc)                               \
	{                                                                                                                         \
		return gemm<T>(h, "cublas" #letter "gemm", false, cuda_turn(ta), cuda_turn(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); \
	}                                                                                                                         \
	EXPORT int hipblas##letter##gemm(Handle *h, int ta, int tb, int m, int n, int k, const T *alpha, uint64_t a, int lda,       \
	                                 uint64_t b, int ldb, const T *beta, uint64_t c, int ldc)                                 \
	{                                                                                                                         \
		return hip_status(gemm<T>(h, "hipblas" #letter "gemm", true, hip_turn(ta), hip_turn(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)); \
	}

FUNCTIONS(S, float)
FUNCTIONS(D, double)

} // namespace gpuemu
