#include "nccl.h"

#include <cmath>

namespace gpuemu_nccl {

size_t size_of(int type)
{
	switch (type) {
	case 0: // int8
	case 1:
		return 1;
	case 2: // int32
	case 3:
	case 7: // float32
		return 4;
	case 4: // int64
	case 5:
	case 8: // float64
		return 8;
	}
	return 0;
}

static float larger(float a, float b) { return std::fmax(a, b); }
static double larger(double a, double b) { return std::fmax(a, b); }
template <class T> static T larger(T a, T b) { return a > b ? a : b; }
static float smaller(float a, float b) { return std::fmin(a, b); }
static double smaller(double a, double b) { return std::fmin(a, b); }
template <class T> static T smaller(T a, T b) { return a < b ? a : b; }

template <class T> static void combine_as(int op, void *to, const void *from, size_t n)
{
	T *x = static_cast<T *>(to);
	const T *y = static_cast<const T *>(from);
	for (size_t i = 0; i < n; i++)
		x[i] = op == 0 ? T(x[i] + y[i]) : op == 2 ? larger(x[i], y[i]) : smaller(x[i], y[i]);
}

void combine(int type, int op, void *x, const void *y, size_t n)
{
	switch (type) {
	case 2:
		return combine_as<int32_t>(op, x, y, n);
	case 4:
		return combine_as<int64_t>(op, x, y, n);
	case 7:
		return combine_as<float>(op, x, y, n);
	case 8:
		return combine_as<double>(op, x, y, n);
	}
}

} // namespace gpuemu_nccl
