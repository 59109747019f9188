// The functions of cuBLAS and hipBLAS that package blas calls, found at run time. Both take
// matrices column after column, on the card, and return a status.
#ifndef LSM_BLAS_CARD_H
#define LSM_BLAS_CARD_H

enum { CARD_TYPES = 2 }; // of elements, with the numbers of openblas.h

typedef unsigned long long card_address; // a pointer to the card's memory, of the same size and class

typedef int card_gemm(void *handle, int ta, int tb, int m, int n, int k, const void *alpha, card_address a, int lda,
                      card_address b, int ldb, const void *beta, card_address c, int ldc);

typedef struct {
	int hip; // otherwise CUDA
	int (*create)(void **handle);
	int (*destroy)(void *handle);
	int (*set_stream)(void *handle, void *stream);
	int (*set_atomics)(void *handle, int mode);
	int (*set_math)(void *handle, int mode);    // NULL in HIP
	int (*property)(int which, int *value);     // NULL in HIP
	const char *(*text)(int status);            // NULL in cuBLAS before 11.4
	card_gemm *gemm[CARD_TYPES];
} card_calls;

// card_load finds the functions in a library. It returns the name of the first that is missing,
// or NULL.
const char *card_load(card_calls *f, void *library, int hip);

// card_version is the version of cuBLAS.
int card_version(const card_calls *f, int version[3]);

// card_text is the library's text of a status.
const char *card_text(const card_calls *f, int status);

// The other functions return a status, and in call the name of the function that refused.

// card_open makes a handle that works in a stream, without atomic sums.
int card_open(const card_calls *f, void *stream, void **handle, const char **call);
int card_close(const card_calls *f, void *handle, const char **call);

// card_multiply is C = C + alpha A B for row-major matrices without gaps: A is m × k.
int card_multiply(const card_calls *f, void *handle, int type, int m, int n, int k, double alpha, card_address a,
                  card_address b, card_address c, const char **call);

#endif
