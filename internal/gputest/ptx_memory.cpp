//go:build ignore

// The statements of PTX that touch memory, and what watches them.
#include "ptx.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace gpuemu::ptx {

// Statuses of a card for what a kernel did.
enum { Misaligned = 716 };

static std::string who(Stamp stamp, const Block &b)
{
	std::string thread = "thread " + std::to_string(stamp & thread_bits);
	return stamp >> serial_at == b.serial ? thread : thread + " of another block";
}

// clashes reports a race, unless what the other did is known to this thread.
static void clashes(Warp &w, const Ins &i, unsigned lane, Stamp other, Access access, bool wrote)
{
	const Block &b = *w.block;
	if ((other | by_atomic) == gap)
		w.fault(i, lane, IllegalAddress, "touches what lies behind a shared variable");
	if (other >= under_way)
		w.fault(i, lane, LaunchFailed, "touches what a copy writes that was not waited for");
	const Thread &t = b.threads[w.thread(lane)];
	uint32_t serial = other >> serial_at, epoch = (other & epoch_bits) >> epoch_at, thread = other & thread_bits;
	bool one = wrote || !(other & (many | elsewhere));
	for (uint32_t k = 0; k < t.knows && one; k++) {
		const Seen &s = b.seen[k];
		bool told = s.thread == w.thread(lane) || s.epoch < t.fenced;
		bool before = s.what.thread == thread ? epoch <= s.what.atomic : epoch < s.what.fence;
		if (told && before && s.what.serial == serial)
			return;
	}
	w.fault(i, lane, LaunchFailed, std::string("race: ") + (access == Access::Read ? "reads" : "writes") + " what " +
	                                   who(other, b) + (wrote ? " wrote" : " read") + ", and nothing orders the two");
}

static uint64_t accesses;
uint64_t accesses_watched() { return accesses; }

// watch notes an access and reports what is wrong with it.
static void watch(Warp &w, const Ins &i, unsigned lane, Shadow &s, uint64_t at, size_t bytes, uint32_t oldest, Access access)
{
	accesses++;
	Clash c = s.touch(at, bytes, w.now(lane), oldest, access);
	if (c.other)
		clashes(w, i, lane, c.other, access, c.wrote);
}

static char *shared(Warp &w, const Ins &i, unsigned lane, uint64_t address, size_t bytes, Access access)
{
	Block &b = *w.block;
	if (address % bytes)
		w.fault(i, lane, Misaligned, "shared address " + std::to_string(address) + " is not aligned to " + std::to_string(bytes) + " bytes");
	if (address > b.memory.size() || bytes > b.memory.size() - address)
		w.fault(i, lane, IllegalAddress, "shared address " + std::to_string(address) + " lies beyond the block's " +
		                                     std::to_string(b.memory.size()) + " bytes");
	watch(w, i, lane, *b.shadow, address, bytes, b.serial, access);
	return b.memory.data() + address;
}

static char *global(Warp &w, const Ins &i, unsigned lane, uint64_t address, size_t bytes, Access access)
{
	const Launch &l = *w.block->launch;
	Shadow *s = i.seen_in == l.number ? i.seen : nullptr;
	uint64_t at = s ? address - reinterpret_cast<uint64_t>(s->base) : 0;
	if (!s || at >= s->bytes || bytes > s->bytes - at) {
		s = memory_shadow(address);
		uint64_t base;
		size_t size;
		if (!memory_range(&base, &size, address))
			w.fault(i, lane, IllegalAddress, "global address " + std::to_string(address) + " lies in no allocation");
		at = address - base;
		if (bytes > size - at)
			w.fault(i, lane, IllegalAddress, "global access at byte " + std::to_string(at) + " of an allocation of " + std::to_string(size));
		i.seen = s, i.seen_in = l.number;
	}
	if (address % bytes)
		w.fault(i, lane, Misaligned, "global access at byte " + std::to_string(at) + " of an allocation is not aligned to " + std::to_string(bytes) + " bytes");
	watch(w, i, lane, *s, at, bytes, l.oldest, access);
	return s->base + at;
}

// within is a stretch of memory that one thread has, or that no thread writes.
static char *within(Warp &w, const Ins &i, unsigned lane, uint64_t address, size_t bytes, char *base, size_t size, const char *what)
{
	if (address % bytes || address > size || bytes > size - address)
		w.fault(i, lane, address % bytes ? int(Misaligned) : int(IllegalAddress),
		        what + (" access at byte " + std::to_string(address)) + " of " + std::to_string(size));
	return base + address;
}

// reach is where an access finds its bytes, having watched it.
template <Space S> static char *reach(Warp &w, const Ins &i, unsigned lane, uint64_t address, size_t bytes, Access access)
{
	if constexpr (S == Space::Shared)
		return shared(w, i, lane, address, bytes, access);
	if constexpr (S == Space::Global)
		return global(w, i, lane, address, bytes, access);
	Launch &l = *w.block->launch;
	size_t local = w.block->launch->module->local;
	switch (i.space) {
	case Space::Param:
		return within(w, i, lane, address, bytes, l.params.data(), l.params.size(), "parameter");
	case Space::Local:
		return within(w, i, lane, address, bytes, w.local.data() + lane * local, local, "local");
	default:
		if (address - shared_window < window_bytes)
			return shared(w, i, lane, address - shared_window, bytes, access);
		if (address - local_window < window_bytes)
			return within(w, i, lane, address - local_window, bytes, w.local.data() + lane * local, local, "local");
		return global(w, i, lane, address, bytes, access);
	}
}

// Register k holds the address.
static uint64_t address(const Warp &w, const Ins &i, int k, int offset, unsigned lane)
{
	return w.value(i.reg[k], i.wide >> k & 1, lane) + i.offset[offset];
}

// ld: results, address.
template <class T, Space S> static void load(Warp &w, const Ins &i)
{
	for (uint32_t m = w.mask; m; m &= m - 1) {
		unsigned lane = __builtin_ctz(m);
		const char *p = reach<S>(w, i, lane, address(w, i, i.elements, 0, lane), sizeof(T) * i.elements, Access::Read);
		for (int k = 0; k < i.elements; k++) {
			T v;
			memcpy(&v, p + k * sizeof v, sizeof v);
			w.put(i.reg[k], i.wide >> k & 1, lane, uint64_t(v));
		}
	}
}

// st: address, values.
template <class T, Space S> static void store(Warp &w, const Ins &i)
{
	for (uint32_t m = w.mask; m; m &= m - 1) {
		unsigned lane = __builtin_ctz(m);
		char *p = reach<S>(w, i, lane, address(w, i, 0, 0, lane), sizeof(T) * i.elements, Access::Write);
		for (int k = 0; k < i.elements; k++) {
			T v = T(w.value(i.reg[k + 1], i.wide >> (k + 1) & 1, lane));
			memcpy(p + k * sizeof v, &v, sizeof v);
		}
	}
}

// told notes what an atomic at an address tells a thread of others, and them of it.
static void told(Warp &w, unsigned lane, uint64_t address)
{
	Block &b = *w.block;
	uint32_t thread = w.thread(lane);
	std::vector<Published> &all = b.launch->published[address];
	for (const Published &p : all)
		if (p.serial != b.serial)
			b.seen.push_back({p, thread, b.epoch});
	if (uint32_t fenced = b.threads[thread].fenced)
		all.push_back({b.serial, thread, fenced, b.epoch});
}

void fence(Warp &w, const Ins &)
{
	for (uint32_t m = w.mask; m; m &= m - 1) {
		Thread &t = w.block->threads[w.thread(__builtin_ctz(m))];
		t.fenced = w.block->epoch;
		t.knows = uint32_t(w.block->seen.size());
	}
}

// atom and red: the old value where there is a result, address, operands. F makes the new
// value of the old one and the operands.
template <class T, class F, int Operands> static void atomic(Warp &w, const Ins &i)
{
	for (uint32_t m = w.mask; m; m &= m - 1) {
		unsigned lane = __builtin_ctz(m);
		uint64_t to = address(w, i, i.results, 0, lane);
		bool in_shared = i.space == Space::Shared;
		char *p = in_shared ? reach<Space::Shared>(w, i, lane, to, sizeof(T), Access::Atomic)
		                    : reach<Space::Generic>(w, i, lane, to, sizeof(T), Access::Atomic);
		T old, v[2] = {};
		memcpy(&old, p, sizeof old);
		for (int k = 0; k < Operands; k++) {
			uint64_t bits = w.value(i.reg[i.results + 1 + k], sizeof(T) == 8, lane);
			memcpy(&v[k], &bits, sizeof(T));
		}
		T next = F{}(old, v[0], v[1]);
		memcpy(p, &next, sizeof next);
		if (i.results) {
			uint64_t bits = 0;
			memcpy(&bits, &old, sizeof old);
			w.put(i.reg[0], sizeof(T) == 8, lane, bits);
		}
		if (!in_shared)
			told(w, lane, to);
	}
}

// Copies of 4, 8 or 16 bytes. Their source is looked at when they begin, and read at the end.
void copy_async(Warp &w, const Ins &i)
{
	for (uint32_t m = w.mask; m; m &= m - 1) {
		unsigned lane = __builtin_ctz(m);
		uint32_t bytes = i.elements, there = std::min(bytes, uint32_t(w.value(i.reg[2], false, lane)));
		uint64_t to = address(w, i, 0, 0, lane), from = address(w, i, 1, 1, lane);
		Thread &t = w.block->threads[w.thread(lane)];
		memset(reach<Space::Shared>(w, i, lane, to, bytes, Access::Write), 0xFF, bytes);
		w.block->shadow->mark(to, bytes, under_way | w.thread(lane));
		const char *source = nullptr;
		if (there) {
			if (from % bytes)
				w.fault(i, lane, Misaligned, "the source of a copy is not aligned to its " + std::to_string(bytes) + " bytes");
			for (uint32_t k = 0; k < there; k += 4) // words, as there may be less than bytes
				if (const char *p = reach<Space::Global>(w, i, lane, from + k, std::min(4u, there - k), Access::Read); k == 0)
					source = p;
		}
		t.copies.push_back({to, source, bytes, there, t.groups});
	}
}

void commit_copies(Warp &w, const Ins &)
{
	for (uint32_t m = w.mask; m; m &= m - 1)
		w.block->threads[w.thread(__builtin_ctz(m))].groups++;
}

void wait_copies(Warp &w, const Ins &i)
{
	for (uint32_t m = w.mask; m; m &= m - 1) {
		unsigned lane = __builtin_ctz(m);
		Block &b = *w.block;
		Thread &t = b.threads[w.thread(lane)];
		auto done = [&](const Copy &c) {
			if (i.target >= 0 && c.group + i.target >= t.groups)
				return false;
			memset(b.memory.data() + c.to, 0, c.bytes);
			if (c.there)
				memcpy(b.memory.data() + c.to, c.from, c.there);
			b.shadow->mark(c.to, c.bytes, w.now(lane));
			return true;
		};
		t.copies.erase(std::remove_if(t.copies.begin(), t.copies.end(), done), t.copies.end());
	}
}

// by_type calls f with a value of the type of the given name.
template <class F> static Action by_type(const std::string &type, F f)
{
	if (type == "u32" || type == "b32" || type == "f32")
		return f(uint32_t());
	if (type == "u64" || type == "s64" || type == "b64" || type == "f64")
		return f(uint64_t());
	if (type == "s32")
		return f(int32_t());
	if (type == "u8" || type == "b8")
		return f(uint8_t());
	if (type == "s8")
		return f(int8_t());
	if (type == "u16" || type == "b16")
		return f(uint16_t());
	return type == "s16" ? f(int16_t()) : nullptr;
}

template <class T> static Action plain(bool reads, Space s)
{
	if (s == Space::Shared)
		return reads ? load<T, Space::Shared> : store<T, Space::Shared>;
	if (s == Space::Global)
		return reads ? load<T, Space::Global> : store<T, Space::Global>;
	return reads ? load<T, Space::Generic> : store<T, Space::Generic>;
}

// updates makes an atomic of its name and type.
template <class T> static Action updates(const std::string &what)
{
	auto one = [](auto f) -> Action { return atomic<T, decltype(f), 1>; };
	if (what == "add")
		return one([](T old, T v, T) { return T(old + v); });
	if (what == "min")
		return one([](T old, T v, T) { return v < old ? v : old; });
	if (what == "max")
		return one([](T old, T v, T) { return old < v ? v : old; });
	if (what == "exch")
		return one([](T, T v, T) { return v; });
	if constexpr (std::is_unsigned_v<T>) {
		if (what == "and")
			return one([](T old, T v, T) { return T(old & v); });
		if (what == "or")
			return one([](T old, T v, T) { return T(old | v); });
		if (what == "xor")
			return one([](T old, T v, T) { return T(old ^ v); });
		if (what == "inc")
			return one([](T old, T v, T) { return old >= v ? 0 : T(old + 1); });
		if (what == "dec")
			return one([](T old, T v, T) { return old == 0 || old > v ? v : T(old - 1); });
		if (what == "cas") {
			auto f = [](T old, T is, T v) { return old == is ? v : old; };
			return atomic<T, decltype(f), 2>;
		}
	}
	return nullptr;
}

static Action update(const std::string &what, const std::string &type)
{
	if (type == "s32")
		return updates<int32_t>(what);
	if (type == "u32" || type == "b32")
		return updates<uint32_t>(what);
	if (type == "s64")
		return updates<int64_t>(what);
	if (type == "u64" || type == "b64")
		return updates<uint64_t>(what);
	if (type == "f32")
		return updates<float>(what);
	return type == "f64" ? updates<double>(what) : nullptr;
}

bool access(Ins &i, const std::vector<std::string> &name)
{
	static const std::map<std::string, Space> spaces = {{"param", Space::Param}, {"shared", Space::Shared}, {"global", Space::Global},
	                                                    {"const", Space::Global}, {"local", Space::Local}};
	// Modifiers that do not matter here: caches, scopes and order.
	static const std::vector<std::string> how = {"volatile", "relaxed", "weak", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "cta", "gpu", "sys"};
	bool reads = name[0] == "ld" || name[0] == "ldu", atomic = name[0] == "atom" || name[0] == "red";
	std::string what;
	for (size_t k = 1; k + 1 < name.size(); k++) {
		if (auto s = spaces.find(name[k]); s != spaces.end())
			i.space = s->second;
		else if (name[k] == "v2" || name[k] == "v4")
			i.elements = uint8_t(name[k][1] - '0');
		else if (atomic && what.empty() && name[k] != "relaxed" && std::find(how.begin(), how.end(), name[k]) == how.end())
			what = name[k];
		else if (std::find(how.begin(), how.end(), name[k]) == how.end() && name[k].find("::") == std::string::npos)
			return false;
	}
	if (atomic)
		i.run = update(what, name.back());
	else
		i.run = by_type(name.back(), [&](auto v) { return plain<decltype(v)>(reads, i.space); });
	return i.run != nullptr;
}

} // namespace gpuemu::ptx
