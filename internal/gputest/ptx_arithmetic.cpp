//go:build ignore

// The statements of PTX that compute registers of registers.
#include "ptx.h"

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <unordered_map>

namespace gpuemu::ptx {

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef float f32;
typedef double f64;

template <class T> constexpr bool is_float = std::is_floating_point_v<T>;
template <class T> constexpr u8 lane_bytes = sizeof(T) <= 4 ? 4 : 8;

// The name of a type.
template <class T> std::string type_name()
{
	if (std::is_same_v<T, bool>)
		return "pred";
	return (is_float<T> ? "f" : std::is_signed_v<T> ? "s" : "u") + std::to_string(8 * sizeof(T));
}

// A register's lanes as values of a type. Narrow ones are extended to a lane's four bytes.
template <class T> struct Values {
	using Lane = std::conditional_t<is_float<T>, T, std::conditional_t<sizeof(T) == 8, u64, u32>>;
	typedef Lane __attribute__((may_alias)) Stored;
	Stored *lane;

	Values(Warp &w, Register r) : lane(reinterpret_cast<Stored *>(w.registers.data() + r)) {}
	T operator[](unsigned l) const { return T(lane[l]); }
	void set(unsigned l, T v) { lane[l] = Lane(v); }
};

[[gnu::noinline]] static Op made(Action run, std::initializer_list<u8> bytes) { return {run, bytes}; }

// op is the operation that computes R f(A...) lane by lane.
template <class... A, class F> Op op(F)
{
	using R = std::invoke_result_t<F, A...>;
	auto run = [](Warp &w, const Ins &i) {
		[&]<size_t... K>(std::index_sequence<K...>) {
			Values<R> to(w, i.reg[0]);
			std::tuple<Values<A>...> from{Values<A>(w, i.reg[K + 1])...};
			each(w, [&](unsigned l) { to.set(l, F{}(std::get<K>(from)[l]...)); });
		}(std::index_sequence_for<A...>{});
	};
	return made(run, {lane_bytes<R>, lane_bytes<A>...});
}

// Table is the operations by name. The thousand places that fill it contain none of its functions, which would take
// g++ longer than everything here.
struct Table {
	std::unordered_map<std::string, Op> ops;

	[[gnu::noinline]] Op &operator[](const std::string &name) { return ops[name]; }
};

// Types that have operations: all<u32, s32>(f) calls f for a value of each.
template <class... T, class F> void all(F f) { (f(T{}), ...); }
template <class F> void integers(F f) { all<u16, s16, u32, s32, u64, s64>(f); }
template <class F> void floats(F f) { all<f32, f64>(f); }
template <class F> void words(F f) { all<u16, u32, u64>(f); } // .b16, .b32, .b64

// bits is the type that a word's type has as bits without meaning.
template <class T> std::string bits() { return "b" + std::to_string(8 * sizeof(T)); }

template <class To, class From> static To as(From v)
{
	static_assert(sizeof(To) == sizeof(From));
	To to;
	memcpy(&to, &v, sizeof to);
	return to;
}

// off is v, off by up to the given ulps: the number depends only on the operand's bits.
template <class T> static T off(T v, u64 bits, int ulps)
{
	using U = std::conditional_t<sizeof(T) == 4, u32, u64>;
	if (!std::isfinite(v) || v == 0)
		return v;
	bits = (bits + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
	return as<T>(U(as<U>(v) + U(s64((bits ^ bits >> 31) >> 33) % (2 * ulps + 1) - ulps)));
}

// near is v with an absolute error of up to so much.
static f32 near(f32 v, f32 operand, f32 error)
{
	u64 bits = (as<u32>(operand) + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
	return v + error * (s64(bits >> 40 & 0xFFFF) - 0x8000) / 0x8000;
}

// hidden keeps the compiler from computing with v before its time.
template <class T> static T hidden(T v)
{
	asm volatile("" : "+m"(v));
	return v;
}

// directed computes f(v...) with another rounding than to nearest.
template <int Mode, class F, class... A> static auto directed(F f, A... v)
{
	fesetround(Mode);
	auto result = hidden(f(hidden(v)...));
	fesetround(FE_TONEAREST);
	return result;
}

template <class T> static T least(T a, T b)
{
	if constexpr (is_float<T>) {
		if (a != a || b != b)
			return a != a ? b : a;
		if (a == b)
			return std::signbit(a) ? a : b;
	}
	return a < b ? a : b;
}
template <class T> static T most(T a, T b)
{
	if constexpr (is_float<T>)
		return -least(-a, -b);
	return a < b ? b : a;
}

template <class T> static T shifted_left(T a, u32 n) { return n >= 8 * sizeof(T) ? 0 : T(a << n); }
template <class T> static T shifted_right(T a, u32 n)
{
	return n >= 8 * sizeof(T) ? T(a < 0 ? -1 : 0) : T(a >> n);
}

template <class T> static auto twice_as_wide(T v)
{
	if constexpr (sizeof(T) == 8)
		return std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>(v);
	else
		return std::conditional_t<std::is_signed_v<T>, s64, u64>(v);
}
template <class T> using Wide = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, s32, u32>,
                                                   std::conditional_t<std::is_signed_v<T>, s64, u64>>;

static void integer_arithmetic(Table &t)
{
	integers([&]<class T>(T) {
		std::string n = "." + type_name<T>();
		t["add" + n] = op<T, T>([](T a, T b) { return T(a + b); });
		t["sub" + n] = op<T, T>([](T a, T b) { return T(a - b); });
		t["mul.lo" + n] = op<T, T>([](T a, T b) { return T(twice_as_wide(a) * b); });
		t["mul.hi" + n] = op<T, T>([](T a, T b) { return T(twice_as_wide(a) * b >> 8 * sizeof(T)); });
		t["mad.lo" + n] = op<T, T, T>([](T a, T b, T c) { return T(twice_as_wide(a) * b + c); });
		t["mad.hi" + n] = op<T, T, T>([](T a, T b, T c) { return T((twice_as_wide(a) * b >> 8 * sizeof(T)) + c); });
		if constexpr (sizeof(T) < 8) {
			t["mul.wide" + n] = op<T, T>([](T a, T b) { return Wide<T>(Wide<T>(a) * b); });
			t["mad.wide" + n] = op<T, T, Wide<T>>([](T a, T b, Wide<T> c) { return Wide<T>(Wide<T>(a) * b + c); });
			t["sad" + n] = op<T, T, T>([](T a, T b, T c) { return T(c + (a < b ? b - a : a - b)); });
		}
		// As the hardware: all bits set for a division by zero.
		t["div" + n] = op<T, T>([](T a, T b) { return T(b == 0 ? -1 : b == T(-1) && std::is_signed_v<T> ? -a : a / b); });
		t["rem" + n] = op<T, T>([](T a, T b) { return T(b == 0 ? a : b == T(-1) && std::is_signed_v<T> ? 0 : a % b); });
		t["abs" + n] = op<T>([](T a) { return T(a < 0 ? -a : a); });
		t["neg" + n] = op<T>([](T a) { return T(-a); });
		t["shr" + n] = op<T, u32>([](T a, u32 k) { return shifted_right(a, k); });
	});
	for (const char *type : {"u32", "s32"}) {
		bool is_signed = *type == 's';
		t[std::string("mul24.lo.") + type] = is_signed ? op<s32, s32>([](s32 a, s32 b) { return s32(s64(a << 8 >> 8) * (b << 8 >> 8)); })
		                                               : op<u32, u32>([](u32 a, u32 b) { return (a & 0xFFFFFF) * (b & 0xFFFFFF); });
	}
}

// Bits of a word that lie from a position on.
template <class T> static T field(T a, u32 at, u32 n)
{
	using U = std::make_unsigned_t<T>;
	at &= 0xFF, n &= 0xFF;
	constexpr u32 all = 8 * sizeof(T);
	U v = at >= all ? 0 : U(a) >> at;
	if (n < all)
		v &= (U(1) << n) - 1;
	if (std::is_signed_v<T> && n > 0 && U(a) >> std::min(at + n - 1, all - 1) & 1 && n < all)
		v |= ~U(0) << n;
	return n == 0 ? 0 : T(v);
}

static u32 permuted(u32 a, u32 b, u32 selection)
{
	u64 bytes = u64(b) << 32 | a;
	u32 v = 0;
	for (int k = 0; k < 4; k++) {
		u32 s = selection >> 4 * k & 0xF;
		u8 byte = u8(bytes >> 8 * (s & 7));
		v |= u32(s & 8 ? u8(s8(byte) >> 7) : byte) << 8 * k;
	}
	return v;
}

static u32 looked_up(u32 a, u32 b, u32 c, u32 table)
{
	u32 v = 0;
	for (u32 k = 0; k < 8; k++)
		if (table >> k & 1)
			v |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
	return v;
}

static u64 joined(u32 low, u32 high) { return u64(high) << 32 | low; }

template <class T> static u32 leading_zeros(T v)
{
	u32 n = 0;
	for (T top = T(1) << (8 * sizeof(T) - 1); top && !(v & top); top >>= 1)
		n++;
	return n;
}

static void bit_operations(Table &t)
{
	words([&]<class T>(T) {
		std::string n = "." + bits<T>();
		t["and" + n] = op<T, T>([](T a, T b) { return T(a & b); });
		t["or" + n] = op<T, T>([](T a, T b) { return T(a | b); });
		t["xor" + n] = op<T, T>([](T a, T b) { return T(a ^ b); });
		t["not" + n] = op<T>([](T a) { return T(~a); });
		t["cnot" + n] = op<T>([](T a) { return T(a == 0); });
		t["shl" + n] = op<T, u32>([](T a, u32 k) { return shifted_left(a, k); });
		t["shr" + n] = op<T, u32>([](T a, u32 k) { return shifted_right(a, k); });
	});
	all<u32, u64>([&]<class T>(T) {
		std::string n = "." + bits<T>();
		t["popc" + n] = op<T>([](T a) { return u32(__builtin_popcountll(a)); });
		t["clz" + n] = op<T>([](T a) { return leading_zeros(a); });
		t["brev" + n] = op<T>([](T a) {
			T v = 0;
			for (u32 k = 0; k < 8 * sizeof(T); k++)
				v |= (a >> k & 1) << (8 * sizeof(T) - 1 - k);
			return v;
		});
		t["bfi" + n] = op<T, T, u32, u32>([](T a, T b, u32 at, u32 n) {
			T mask = shifted_left(field(T(-1), 0, n), at & 0xFF);
			return T((b & ~mask) | (shifted_left(a, at & 0xFF) & mask));
		});
	});
	all<u32, s32, u64, s64>([&]<class T>(T) {
		std::string n = "." + type_name<T>();
		t["bfe" + n] = op<T, u32, u32>([](T a, u32 at, u32 n) { return field(a, at, n); });
		auto first = [](T a) { return 8 * u32(sizeof(T)) - 1 - leading_zeros(std::make_unsigned_t<T>(a < 0 ? ~a : a)); };
		t["bfind" + n] = op<T>(first);
		t["bfind.shiftamt" + n] = op<T>([](T a) { return leading_zeros(std::make_unsigned_t<T>(a < 0 ? ~a : a)); });
	});
	t["prmt.b32"] = op<u32, u32, u32>([](u32 a, u32 b, u32 s) { return permuted(a, b, s); });
	t["lop3.b32"] = op<u32, u32, u32, u32>([](u32 a, u32 b, u32 c, u32 l) { return looked_up(a, b, c, l); });
	t["shf.l.wrap.b32"] = op<u32, u32, u32>([](u32 a, u32 b, u32 n) { return u32(joined(a, b) << (n & 31) >> 32); });
	t["shf.r.wrap.b32"] = op<u32, u32, u32>([](u32 a, u32 b, u32 n) { return u32(joined(a, b) >> (n & 31)); });
	t["shf.l.clamp.b32"] = op<u32, u32, u32>([](u32 a, u32 b, u32 n) { return n >= 32 ? a : u32(joined(a, b) << n >> 32); });
	t["shf.r.clamp.b32"] = op<u32, u32, u32>([](u32 a, u32 b, u32 n) { return u32(joined(a, b) >> std::min(n, 32u)); });
	t["and.pred"] = op<bool, bool>([](bool a, bool b) { return a && b; });
	t["or.pred"] = op<bool, bool>([](bool a, bool b) { return a || b; });
	t["xor.pred"] = op<bool, bool>([](bool a, bool b) { return a != b; });
	t["not.pred"] = op<bool>([](bool a) { return !a; });
	t["mov.pred"] = op<bool>([](bool a) { return a; });
}

// rounded adds operations under a rounding mode to the table.
template <class T, int Mode> static void rounded(Table &t, const std::string &mode)
{
	std::string n = "." + mode + "." + type_name<T>();
	t["add" + n] = op<T, T>([](T a, T b) { return directed<Mode>([](T a, T b) { return a + b; }, a, b); });
	t["sub" + n] = op<T, T>([](T a, T b) { return directed<Mode>([](T a, T b) { return a - b; }, a, b); });
	t["mul" + n] = op<T, T>([](T a, T b) { return directed<Mode>([](T a, T b) { return a * b; }, a, b); });
	t["div" + n] = op<T, T>([](T a, T b) { return directed<Mode>([](T a, T b) { return a / b; }, a, b); });
	t["rcp" + n] = op<T>([](T a) { return directed<Mode>([](T a) { return 1 / a; }, a); });
	t["sqrt" + n] = op<T>([](T a) { return directed<Mode>([](T a) { return std::sqrt(a); }, a); });
	t["fma" + n] = op<T, T, T>([](T a, T b, T c) {
		return directed<Mode>([](T a, T b, T c) { return std::fma(a, b, c); }, a, b, c);
	});
}

static void float_arithmetic(Table &t)
{
	floats([&]<class T>(T) {
		std::string n = "." + type_name<T>();
		t["add.rn" + n] = op<T, T>([](T a, T b) { return a + b; });
		t["sub.rn" + n] = op<T, T>([](T a, T b) { return a - b; });
		t["mul.rn" + n] = op<T, T>([](T a, T b) { return a * b; });
		t["fma.rn" + n] = op<T, T, T>([](T a, T b, T c) { return std::fma(a, b, c); });
		t["div.rn" + n] = op<T, T>([](T a, T b) { return a / b; });
		t["rcp.rn" + n] = op<T>([](T a) { return 1 / a; });
		t["sqrt.rn" + n] = op<T>([](T a) { return std::sqrt(a); });
		rounded<T, FE_TOWARDZERO>(t, "rz");
		rounded<T, FE_DOWNWARD>(t, "rm");
		rounded<T, FE_UPWARD>(t, "rp");
		t["abs" + n] = op<T>([](T a) { return std::fabs(a); });
		t["neg" + n] = op<T>([](T a) { return -a; });
		t["copysign" + n] = op<T, T>([](T a, T b) { return std::copysign(b, a); });
		t["testp.finite" + n] = op<T>([](T a) { return std::isfinite(a); });
		t["testp.infinite" + n] = op<T>([](T a) { return std::isinf(a); });
		t["testp.number" + n] = op<T>([](T a) { return !std::isnan(a); });
		t["testp.notanumber" + n] = op<T>([](T a) { return std::isnan(a); });
		t["rsqrt.approx" + n] = op<T>([](T a) { return off<T>(1 / std::sqrt(a), as<std::conditional_t<sizeof(T) == 4, u32, u64>>(a), 1); });
	});
	// 20 bits of the result, from the upper word of the operand.
	t["rcp.approx.f64"] = op<f64>([](f64 a) {
		u64 upper = as<u64>(a) & ~u64(0xFFFFFFFF);
		return as<f64>(as<u64>(off(1 / as<f64>(upper), upper, 1)) & ~u64(0xFFFFFFFF));
	});
	t["rcp.approx.f32"] = op<f32>([](f32 a) { return off(1 / a, as<u32>(a), 1); });
	t["sqrt.approx.f32"] = op<f32>([](f32 a) { return off(std::sqrt(a), as<u32>(a), 1); });
	for (const char *name : {"div.approx.f32", "div.full.f32"})
		t[name] = op<f32, f32>([](f32 a, f32 b) { return off(a / b, u64(as<u32>(a)) << 32 | as<u32>(b), 2); });
	t["ex2.approx.f32"] = op<f32>([](f32 a) { return off(std::exp2(a), as<u32>(a), 2); });
	t["lg2.approx.f32"] = op<f32>([](f32 a) {
		f32 v = std::log2(a);
		return a > 0.5f && a < 2 ? near(v, a, 0x1p-22f) : off(v, as<u32>(a), 2);
	});
	t["sin.approx.f32"] = op<f32>([](f32 a) { return near(std::sin(a), a, 0x1p-21f); });
	t["cos.approx.f32"] = op<f32>([](f32 a) { return near(std::cos(a), a, 0x1p-21f); });
	t["tanh.approx.f32"] = op<f32>([](f32 a) { return std::tanh(a) * (1 + near(0, a, 0x1p-11f)); });
}

// Comparisons and choices.
static void comparisons(Table &t)
{
	auto choices = []<class T>(Table &t, const std::string &type) {
		t["selp." + type] = op<T, T, bool>([](T a, T b, bool first) { return first ? a : b; });
		t["mov." + type] = op<T>([](T a) { return a; });
		t["slct." + type + ".s32"] = op<T, T, s32>([](T a, T b, s32 c) { return c >= 0 ? a : b; });
		t["slct." + type + ".f32"] = op<T, T, f32>([](T a, T b, f32 c) { return c >= 0 ? a : b; });
	};
	auto ordered = []<class T>(Table &t, const std::string &type) {
		t["setp.eq." + type] = op<T, T>([](T a, T b) { return a == b; });
		t["setp.lt." + type] = op<T, T>([](T a, T b) { return a < b; });
		t["setp.le." + type] = op<T, T>([](T a, T b) { return a <= b; });
		t["setp.gt." + type] = op<T, T>([](T a, T b) { return a > b; });
		t["setp.ge." + type] = op<T, T>([](T a, T b) { return a >= b; });
		t["setp.ne." + type] = op<T, T>([](T a, T b) { return a < b || a > b; });
	};
	words([&]<class T>(T) { choices.template operator()<T>(t, bits<T>()), ordered.template operator()<T>(t, bits<T>()); });
	integers([&]<class T>(T) {
		std::string n = type_name<T>();
		choices.template operator()<T>(t, n), ordered.template operator()<T>(t, n);
		t["min." + n] = op<T, T>([](T a, T b) { return least(a, b); });
		t["max." + n] = op<T, T>([](T a, T b) { return most(a, b); });
	});
	floats([&]<class T>(T) {
		std::string n = type_name<T>();
		choices.template operator()<T>(t, n), ordered.template operator()<T>(t, n);
		t["min." + n] = op<T, T>([](T a, T b) { return least(a, b); });
		t["max." + n] = op<T, T>([](T a, T b) { return most(a, b); });
		t["setp.equ." + n] = op<T, T>([](T a, T b) { return !(a < b || a > b); });
		t["setp.neu." + n] = op<T, T>([](T a, T b) { return a != b; });
		t["setp.ltu." + n] = op<T, T>([](T a, T b) { return !(a >= b); });
		t["setp.leu." + n] = op<T, T>([](T a, T b) { return !(a > b); });
		t["setp.gtu." + n] = op<T, T>([](T a, T b) { return !(a <= b); });
		t["setp.geu." + n] = op<T, T>([](T a, T b) { return !(a < b); });
		t["setp.num." + n] = op<T, T>([](T a, T b) { return a == a && b == b; });
		t["setp.nan." + n] = op<T, T>([](T a, T b) { return a != a || b != b; });
	});
	// The other names of unsigned comparisons, and the number that set makes.
	const std::pair<const char *, const char *> others[] = {{"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
	for (const char *type : {".u16", ".u32", ".u64"})
		for (auto [also, name] : others)
			t["setp." + std::string(also) + type] = t["setp." + std::string(name) + type];
	auto sets = []<class T>(Table &t) {
		t["set.lt.u32." + type_name<T>()] = op<T, T>([](T a, T b) { return a < b ? ~0u : 0; });
		t["set.gt.u32." + type_name<T>()] = op<T, T>([](T a, T b) { return a > b ? ~0u : 0; });
		t["set.eq.u32." + type_name<T>()] = op<T, T>([](T a, T b) { return a == b ? ~0u : 0; });
	};
	all<u32, s32, f32>([&]<class T>(T) { sets.template operator()<T>(t); });
}

// whole is a float rounded to an integer.
template <int Mode, class T> static T whole(T v)
{
	return Mode == FE_TONEAREST ? std::nearbyint(v) : Mode == FE_TOWARDZERO ? std::trunc(v) : Mode == FE_DOWNWARD ? std::floor(v) : std::ceil(v);
}

// limited is a whole float as an integer: the nearest that there is, 0 for NaN.
template <class I, class F> static I limited(F v)
{
	if (v != v)
		return 0;
	if (v <= F(std::numeric_limits<I>::min()))
		return std::numeric_limits<I>::min();
	return v >= F(std::numeric_limits<I>::max()) ? std::numeric_limits<I>::max() : I(v);
}

template <int Mode> static void conversions_rounded(Table &t, const std::string &mode)
{
	floats([&]<class F>(F) {
		std::string f = type_name<F>();
		t["cvt.r" + mode + "i." + f + "." + f] = op<F>([](F v) { return whole<Mode>(v); });
		integers([&]<class I>(I) {
			std::string i = type_name<I>();
			t["cvt.r" + mode + "i." + i + "." + f] = op<F>([](F v) { return limited<I>(whole<Mode>(v)); });
			t["cvt.r" + mode + "." + f + "." + i] = op<I>([](I v) { return directed<Mode>([](I v) { return F(v); }, v); });
		});
	});
	t["cvt.r" + mode + ".f32.f64"] = op<f64>([](f64 v) { return directed<Mode>([](f64 v) { return f32(v); }, v); });
}

static void conversions(Table &t)
{
	all<u8, s8, u16, s16, u32, s32, u64, s64>([&]<class From>(From) {
		all<u8, s8, u16, s16, u32, s32, u64, s64>([&]<class To>(To) {
			t["cvt." + type_name<To>() + "." + type_name<From>()] = op<From>([](From v) { return To(v); });
		});
	});
	conversions_rounded<FE_TOWARDZERO>(t, "z");
	conversions_rounded<FE_DOWNWARD>(t, "m");
	conversions_rounded<FE_UPWARD>(t, "p");
	conversions_rounded<FE_TONEAREST>(t, "n");
	all<u8, s8>([&]<class I>(I) {
		floats([&]<class F>(F) { t["cvt.rn." + type_name<F>() + "." + type_name<I>()] = op<I>([](I v) { return F(v); }); });
	});
	t["cvt.f64.f32"] = op<f32>([](f32 v) { return f64(v); });
	floats([&]<class F>(F) {
		std::string n = type_name<F>();
		t["cvt." + n + "." + n] = op<F>([](F v) { return v; });
		t["cvt.sat." + n + "." + n] = op<F>([](F v) { return v > 0 ? std::min(v, F(1)) : F(0); });
	});
}

// Sums of more than one word: what is carried from one to the next has 32 lanes.
template <bool Product, bool High, bool Minus, bool In, bool Out> static Op carrying()
{
	auto run = [](Warp &w, const Ins &i) {
		Values<u32> to(w, i.reg[0]), a(w, i.reg[1]), b(w, i.reg[2]), c(w, i.reg[Product ? 3 : 2]);
		each(w, [&](unsigned l) {
			u64 x = a[l], y = c[l];
			if (Product)
				x = High ? x * b[l] >> 32 : u32(x * b[l]);
			u64 sum = Minus ? x - y - (In ? w.carry[l] : 0) : x + y + (In ? w.carry[l] : 0);
			if (Out)
				w.carry[l] = sum >> 32 & 1;
			to.set(l, u32(sum));
		});
	};
	std::vector<u8> bytes(Product ? 4 : 3, 4);
	return {run, bytes};
}

static void carries(Table &t)
{
	for (std::string type : {".u32", ".s32", ".b32"}) {
		t["add.cc" + type] = carrying<false, false, false, false, true>();
		t["addc.cc" + type] = carrying<false, false, false, true, true>();
		t["addc" + type] = carrying<false, false, false, true, false>();
		t["sub.cc" + type] = carrying<false, false, true, false, true>();
		t["subc.cc" + type] = carrying<false, false, true, true, true>();
		t["subc" + type] = carrying<false, false, true, true, false>();
	}
	t["mad.lo.cc.u32"] = carrying<true, false, false, false, true>();
	t["madc.lo.cc.u32"] = carrying<true, false, false, true, true>();
	t["madc.lo.u32"] = carrying<true, false, false, true, false>();
	t["mad.hi.cc.u32"] = carrying<true, true, false, false, true>();
	t["madc.hi.cc.u32"] = carrying<true, true, false, true, true>();
	t["madc.hi.u32"] = carrying<true, true, false, true, false>();
}

const Op *arithmetic(const std::string &name)
{
	static const Table table = [] {
		Table t;
		integer_arithmetic(t);
		bit_operations(t);
		float_arithmetic(t);
		comparisons(t);
		conversions(t);
		carries(t);
		return t;
	}();
	// Approximations have the same errors with and without subnormal numbers.
	std::string plain = name;
	if (size_t at = plain.find(".approx.ftz"); at != std::string::npos)
		plain.erase(at + 7, 4);
	auto it = table.ops.find(plain);
	return it == table.ops.end() ? nullptr : &it->second;
}

} // namespace gpuemu::ptx
