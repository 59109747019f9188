// The functions of a CBLAS that package blas calls.

typedef struct {
	void (*sgemm)(int, int, int, int, int, int, float, const void *, int, const void *, int, float, void *, int);
	void (*dgemm)(int, int, int, int, int, int, double, const void *, int, const void *, int, double, void *, int);
	void (*strsm)(int, int, int, int, int, int, int, float, const void *, int, void *, int);
	void (*dtrsm)(int, int, int, int, int, int, int, double, const void *, int, void *, int);
	void (*set_num_threads)(int);
	const char *(*get_config)(void);
} blas_calls;

// Element types, in the order of the functions above.
enum { BLAS_F32, BLAS_F64 };

// blas_load finds the functions in a library, whose names may all begin with a prefix. It returns
// the name of the first that is missing, or NULL.
const char *blas_load(blas_calls *f, void *handle, const char *prefix);

// blas_multiply is C = C + alpha A B for row-major matrices without gaps: A is m × k.
void blas_multiply(const blas_calls *f, int type, int m, int n, int k, double alpha, const void *a, const void *b, void *c);

// blas_solve is L X = B, or Lᵀ X = B, for a lower triangular m × m L and m × n right sides.
void blas_solve(const blas_calls *f, int type, int adjoint, int m, int n, const void *l, void *b);

// blas_config is the library's description of itself, its name and version first.
const char *blas_config(const blas_calls *f);
