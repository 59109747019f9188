// CUDA's words for device code, as far as kernels here use them.
#pragma once

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
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
#define warpSize (gpuemu::warp_threads)

using std::abs, std::sqrt, std::cbrt, std::exp, std::exp2, std::log, std::log2, std::log10, std::pow;
using std::sin, std::cos, std::tan, std::asin, std::acos, std::atan, std::atan2, std::hypot;
using std::floor, std::ceil, std::trunc, std::round, std::rint, std::fma, std::fmod, std::copysign;
using std::fabs, std::fmin, std::fmax, std::isnan, std::isinf, std::isfinite;

template <class A, class B> inline std::common_type_t<A, B> min(A a, B b) { return b < a ? b : a; }
template <class A, class B> inline std::common_type_t<A, B> max(A a, B b) { return a < b ? b : a; }

struct __align__(8) float2 { float x, y; };
struct float3 { float x, y, z; };
struct __align__(16) float4 { float x, y, z, w; };
struct __align__(16) double2 { double x, y; };
struct __align__(8) int2 { int x, y; };
struct __align__(16) int4 { int x, y, z, w; };
struct __align__(8) uint2 { unsigned x, y; };
struct __align__(16) uint4 { unsigned x, y, z, w; };
struct __align__(8) short4 { short x, y, z, w; };
struct __align__(8) ushort4 { unsigned short x, y, z, w; };
struct __align__(4) ushort2 { unsigned short x, y; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }

inline void __syncthreads() { gpuemu::wait(gpuemu::block->barrier, gpuemu::block->threads); }

// Votes of a block: the sum lies in one of two places, the other is for the next.
inline int __syncthreads_count(int vote)
{
	unsigned turn = gpuemu::block->barrier.turn & 1;
	if (gpuemu::block->barrier.arrived == 0)
		gpuemu::block->votes[turn] = 0;
	gpuemu::block->votes[turn] += vote != 0;
	__syncthreads();
	return gpuemu::block->votes[turn];
}
inline int __syncthreads_or(int vote) { return __syncthreads_count(vote) > 0; }
inline int __syncthreads_and(int vote)
{
	return __syncthreads_count(vote) == int(gpuemu::block->threads);
}

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu) { gpuemu::meet(mask, 0); }

template <class T> inline T __shfl_sync(unsigned mask, T v, int lane, int width = 32)
{
	unsigned group = gpuemu::lane() & ~unsigned(width - 1);
	return gpuemu::shuffle(mask, v, group + (unsigned(lane) & unsigned(width - 1)));
}
template <class T> inline T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32)
{
	unsigned to = gpuemu::lane() ^ unsigned(bits);
	return gpuemu::shuffle(mask, v, (to & ~unsigned(width - 1)) > gpuemu::lane() ? gpuemu::lane() : to);
}
template <class T> inline T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32)
{
	unsigned at = gpuemu::lane() & unsigned(width - 1);
	return gpuemu::shuffle(mask, v, at + by < unsigned(width) ? gpuemu::lane() + by : gpuemu::lane());
}
template <class T> inline T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32)
{
	unsigned at = gpuemu::lane() & unsigned(width - 1);
	return gpuemu::shuffle(mask, v, at >= by ? gpuemu::lane() - by : gpuemu::lane());
}
inline unsigned __ballot_sync(unsigned mask, int vote)
{
	auto brought = gpuemu::meet(mask, vote);
	unsigned all = 0;
	for (int i = 0; i < gpuemu::warp_threads; i++) {
		int v;
		memcpy(&v, brought[i], sizeof v);
		if (mask >> i & 1 && gpuemu::self->number - gpuemu::lane() + i < gpuemu::block->threads && v)
			all |= 1u << i;
	}
	return all;
}
inline int __any_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) != 0; }
inline int __all_sync(unsigned mask, int vote) { return __ballot_sync(mask, !vote) == 0; }

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
template <class T> inline T atomicSub(T *p, gpuemu_same<T> v)
{
	return gpuemu_atomic(p, [v](T old) { return T(old - v); });
}
template <class T> inline T atomicMax(T *p, gpuemu_same<T> v)
{
	return gpuemu_atomic(p, [v](T old) { return old < v ? v : old; });
}
template <class T> inline T atomicMin(T *p, gpuemu_same<T> v)
{
	return gpuemu_atomic(p, [v](T old) { return v < old ? v : old; });
}
template <class T> inline T atomicOr(T *p, gpuemu_same<T> v)
{
	return gpuemu_atomic(p, [v](T old) { return T(old | v); });
}
template <class T> inline T atomicAnd(T *p, gpuemu_same<T> v)
{
	return gpuemu_atomic(p, [v](T old) { return T(old & v); });
}
template <class T> inline T atomicExch(T *p, gpuemu_same<T> v)
{
	return gpuemu_atomic(p, [v](T) { return v; });
}
template <class T> inline T atomicCAS(T *p, gpuemu_same<T> expected, gpuemu_same<T> v)
{
	return gpuemu_atomic(p, [=](T old) { return old == expected ? v : old; });
}

template <class T> inline T __ldg(const T *p) { return *p; }
template <class T> inline T __ldcg(const T *p) { return *p; }
template <class T> inline T __ldcs(const T *p) { return *p; }
template <class T> inline void __stcs(T *p, T v) { *p = v; }
template <class T> inline void __stcg(T *p, T v) { *p = v; }

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __clz(int v) { return v ? __builtin_clz(unsigned(v)) : 32; }
inline int __ffs(int v) { return __builtin_ffs(v); }
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
inline long long __double_as_longlong(double v) { return gpuemu_bits<long long>(v); }
inline double __longlong_as_double(long long v) { return gpuemu_bits<double>(v); }

inline int __float2int_rd(float v) { return int(std::floor(v)); }
inline int __float2int_rn(float v) { return int(std::nearbyint(v)); }
inline int __float2int_rz(float v) { return int(v); }
inline float __int2float_rn(int v) { return float(v); }
inline long long __double2ll_rn(double v) { return (long long)std::nearbyint(v); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float a) { return 1 / std::sqrt(a); }
inline double rsqrt(double a) { return 1 / std::sqrt(a); }
