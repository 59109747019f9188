// CUDA's words for device code, as far as kernels here use them.
#pragma once

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
// Workers run blocks side by side. The sanitizer does not watch thread-local
// memory: under it there is one worker.
#if defined(__SANITIZE_ADDRESS__)
#define __shared__ static
#else
#define __shared__ static thread_local
#endif

#define threadIdx (gpuemu::self->thread)
#define blockIdx (gpuemu::block->index)
#define blockDim (gpuemu::block->block)
#define gridDim (gpuemu::block->grid)

using std::abs, std::sqrt, std::cbrt, std::exp, std::exp2, std::log, std::log2, std::log10, std::pow;
using std::sin, std::cos, std::tan, std::asin, std::acos, std::atan, std::atan2, std::hypot;
using std::floor, std::ceil, std::trunc, std::round, std::rint, std::fma, std::fmod, std::copysign;
using std::fabs, std::fmin, std::fmax, std::isnan, std::isinf, std::isfinite;

template <class A, class B> inline std::common_type_t<A, B> min(A a, B b) { return b < a ? b : a; }
template <class A, class B> inline std::common_type_t<A, B> max(A a, B b) { return a < b ? b : a; }

struct __align__(8) float2 { float x, y; };
struct __align__(16) float4 { float x, y, z, w; };
struct __align__(8) int2 { int x, y; };
struct __align__(16) uint4 { unsigned x, y, z, w; };

inline void __syncthreads() { gpuemu::wait(gpuemu::block->barrier, gpuemu::block->threads); }

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// Atomics: f makes the new value of the old one, which is returned.
template <class T, class F> inline T gpuemu_atomic(T *p, F f)
{
	T old, next;
	__atomic_load(p, &old, __ATOMIC_RELAXED);
	do
		next = f(old);
	while (!__atomic_compare_exchange(p, &old, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return old;
}
template <class T> using gpuemu_same = typename std::enable_if<true, T>::type; // not deduced
template <class T> inline T atomicAdd(T *p, gpuemu_same<T> v)
{
	return gpuemu_atomic(p, [v](T old) { return T(old + v); });
}
template <class T> inline T atomicMax(T *p, gpuemu_same<T> v)
{
	return gpuemu_atomic(p, [v](T old) { return old < v ? v : old; });
}
template <class T> inline T atomicOr(T *p, gpuemu_same<T> v)
{
	return gpuemu_atomic(p, [v](T old) { return T(old | v); });
}

template <class To, class From> inline To gpuemu_bits(From v)
{
	static_assert(sizeof(To) == sizeof(From), "as many bits");
	To out;
	memcpy(&out, &v, sizeof out);
	return out;
}
inline int __float_as_int(float v) { return gpuemu_bits<int>(v); }
inline float __int_as_float(int v) { return gpuemu_bits<float>(v); }
inline unsigned __float_as_uint(float v) { return gpuemu_bits<unsigned>(v); }
inline float __uint_as_float(unsigned v) { return gpuemu_bits<float>(v); }
inline float rsqrtf(float a) { return 1 / std::sqrt(a); }
