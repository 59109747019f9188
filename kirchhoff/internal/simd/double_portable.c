// The kernels in double precision in C, for any processor, on the compiler's vectors of two.
#include <math.h>
#define POINTS 2
#define TARGET
typedef double V __attribute__((vector_size(16)));
#define FMA(a, b, c) ((a) * (b) + (c))
#define SQRT(v) ((V){sqrt((v)[0]), sqrt((v)[1])})
#define EVEN(a, b) ((V){(a)[0], (b)[0]})
#define ODD(a, b) ((V){(a)[1], (b)[1]})
#include "double_body.h"

const lsm_double_kernels lsm_double_portable = DOUBLE_KERNELS;
