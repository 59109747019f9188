// Registers of POINTS floats, in the vector types of GCC and Clang. TARGET makes a
// function use the instruction set.
#include "kernel.h"
#include <math.h>
#include <string.h>

#define FAST TARGET INLINE
enum { REGISTERS = TILE / POINTS };

typedef float V __attribute__((vector_size(4 * POINTS)));
typedef int32_t I __attribute__((vector_size(4 * POINTS)));
typedef uint32_t U __attribute__((vector_size(4 * POINTS)));
// These lie in memory; the last may begin at any float.
typedef V V_at __attribute__((may_alias));
typedef I I_at __attribute__((may_alias));
typedef V V_from __attribute__((may_alias, aligned(4)));
typedef float samples2 __attribute__((vector_size(8), may_alias, aligned(4)));
typedef float samples4 __attribute__((vector_size(16), may_alias));

#define AT(p) (*(V_at *)(p))
#define FROM(p) (*(const V_from *)(p))
#define ALL(x) ((float)(x) - (V){0}) // x in all lanes

FAST V floats(I k) { return __builtin_convertvector(k, V); }
