//go:build ignore

// Warps and blocks: branches, calls, barriers, votes, and the launch.
#include "ptx.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gpuemu::ptx {

uint64_t Warp::value(Register r, bool wide, unsigned lane) const
{
	if (wide) {
		uint64_t v;
		memcpy(&v, registers.data() + r + 8 * lane, sizeof v);
		return v;
	}
	uint32_t v;
	memcpy(&v, registers.data() + r + 4 * lane, sizeof v);
	return v;
}

void Warp::put(Register r, bool wide, unsigned lane, uint64_t v)
{
	memcpy(registers.data() + r + (wide ? 8 : 4) * lane, &v, wide ? 8 : 4);
}

void Warp::fault(const Ins &i, unsigned lane, int status, const std::string &why) const
{
	const Launch &l = *block->launch;
	throw Fault{status, "thread " + std::to_string(thread(lane)) + " of block (" + std::to_string(block->index.x) + ", " +
	                        std::to_string(block->index.y) + ", " + std::to_string(block->index.z) + "): " + why + " in " +
	                        l.module->where(i)};
}

// pick chooses the lanes that are furthest behind. It returns false if none can go on.
bool Warp::pick()
{
	uint32_t ready = alive & ~waiting & ~parked;
	if (!ready)
		return false;
	constexpr int never = 0x7FFFFFFF;
	pc = until = never;
	for (uint32_t m = ready; m; m &= m - 1)
		pc = std::min(pc, at[__builtin_ctz(m)]);
	mask = 0;
	for (uint32_t m = ready; m; m &= m - 1) {
		unsigned lane = __builtin_ctz(m);
		if (at[lane] == pc)
			mask |= 1u << lane;
		else
			until = std::min(until, at[lane]);
	}
	return true;
}

void Warp::go(uint32_t which, int to)
{
	for (; which; which &= which - 1)
		at[__builtin_ctz(which)] = to;
	moved = true;
}

void Warp::run()
{
	const uint64_t most = block->launch->steps;
	const Ins *code = block->launch->module->code.data();
	while (pick()) {
		moved = false;
		while (!moved && pc < until) {
			const Ins &i = code[pc++];
			if (++block->steps > most)
				fault(i, 0, LaunchFailed, "its block takes more than " + std::to_string(most) + " steps");
			if (i.guard == no_guard) {
				i.run(*this, i);
				continue;
			}
			uint32_t with = 0;
			group = mask;
			for (unsigned lane = 0; lane < lanes; lane++)
				with |= uint32_t(value(Register(i.guard), false, lane) != 0) << lane;
			mask &= i.unless ? ~with : with;
			if (mask)
				i.run(*this, i);
			if (moved)
				go(group & ~mask, pc);
			mask = group;
		}
		if (!moved)
			go(mask, pc);
	}
	if (parked)
		fault(code[at[__builtin_ctz(parked)]], __builtin_ctz(parked), LaunchFailed, "waits for others of its warp, which do not come,");
}

// branch: a guard has chosen the lanes that take it.
static void branch(Warp &w, const Ins &i)
{
	if ((i.guard == no_guard || w.mask == w.group) && i.target < w.until)
		w.pc = i.target; // all of them
	else
		w.go(w.mask, i.target);
}

static void leave(Warp &w, const Ins &i)
{
	w.alive &= ~w.mask;
	w.go(w.mask, i.target);
}

static void trap(Warp &w, const Ins &i) { w.fault(i, __builtin_ctz(w.mask), LaunchFailed, "a trap"); }

// call: offsets are where a function's variables of the call lie, by copy_bytes before it.
static void call(Warp &w, const Ins &i)
{
	for (uint32_t m = w.mask; m; m &= m - 1) {
		unsigned lane = __builtin_ctz(m);
		int &back = w.back[i.target][lane];
		if (back)
			w.fault(i, lane, LaunchFailed, "a function calls itself, which is not supported,");
		back = w.pc;
	}
	w.go(w.mask, w.block->launch->module->functions[i.target].begin);
}

static void come_back(Warp &w, const Ins &i)
{
	for (uint32_t m = w.mask; m; m &= m - 1) {
		unsigned lane = __builtin_ctz(m);
		w.go(1u << lane, w.back[i.target][lane]);
		w.back[i.target][lane] = 0;
	}
}

// copy_bytes copies target bytes of each lane's local memory.
static void copy_bytes(Warp &w, const Ins &i)
{
	size_t local = w.block->launch->module->local;
	each(w, [&](unsigned l) { memmove(w.local.data() + l * local + i.offset[0], w.local.data() + l * local + i.offset[1], size_t(i.target)); });
}

// barrier: lanes wait, with a predicate where the barrier has one.
static void barrier(Warp &w, const Ins &i)
{
	if (i.offset[1] && uint64_t(i.offset[1]) != w.block->threads.size())
		w.fault(i, __builtin_ctz(w.mask), LaunchFailed, "a barrier for a part of the block, which is not supported,");
	w.waiting |= w.mask;
	w.go(w.mask, w.pc);
}

// The lanes that a statement of a warp is for, or 0 if some are not there yet: those that are wait.
static uint32_t gathered(Warp &w, const Ins &i, Register members)
{
	uint32_t here = w.mask, wanted = uint32_t(w.value(members, false, __builtin_ctz(here)));
	for (uint32_t m = w.parked; m; m &= m - 1)
		if (unsigned lane = __builtin_ctz(m); w.at[lane] == w.pc - 1)
			here |= 1u << lane;
	if (uint32_t others = w.mask & ~wanted)
		w.fault(i, __builtin_ctz(others), LaunchFailed, "is not among the lanes that it names");
	if (wanted & w.alive & ~here) {
		w.parked |= w.mask;
		w.go(w.mask, w.pc - 1);
		return 0;
	}
	if (here != w.mask) {
		w.parked &= ~here;
		w.go(here, w.pc);
		w.mask = here;
	}
	return here;
}

// bar.warp.sync: the lanes of a warp that it names.
static void meet(Warp &w, const Ins &i) { gathered(w, i, i.reg[0]); }

enum Vote { All, Any, Uni, Ballot };

// vote.sync: result, predicate, lanes. offset says which.
static void vote(Warp &w, const Ins &i)
{
	uint32_t here = gathered(w, i, i.reg[2]), yes = 0;
	for (uint32_t m = here; m; m &= m - 1)
		if (unsigned lane = __builtin_ctz(m); (w.value(i.reg[1], false, lane) != 0) != i.unless)
			yes |= 1u << lane;
	uint32_t result[] = {yes == here, yes != 0, yes == here || yes == 0, yes};
	for (uint32_t m = here; m; m &= m - 1)
		w.put(i.reg[0], false, __builtin_ctz(m), result[i.offset[0]]);
}

enum Shuffle { Up, Down, Butterfly, Index };

// shfl.sync: result, predicate, value, lane, clamp, lanes.
static void shuffle(Warp &w, const Ins &i)
{
	uint32_t here = gathered(w, i, i.reg[5]), values[lanes];
	for (unsigned l = 0; l < lanes; l++)
		values[l] = here >> l & 1 ? uint32_t(w.value(i.reg[2], false, l)) : ~0u;
	for (uint32_t m = here; m; m &= m - 1) {
		int lane = __builtin_ctz(m), by = int(w.value(i.reg[3], false, lane) & 31);
		uint32_t clamp = uint32_t(w.value(i.reg[4], false, lane));
		int segment = clamp >> 8 & 31, first = lane & segment, last = first | (int(clamp & 31) & ~segment), from = lane;
		switch (i.offset[0]) {
		case Up:
			from = lane - by;
			break;
		case Down:
			from = lane + by;
			break;
		case Butterfly:
			from = lane ^ by;
			break;
		case Index:
			from = first | (by & ~segment);
		}
		bool valid = i.offset[0] == Up ? from >= last : from <= last;
		w.put(i.reg[0], false, lane, values[valid ? from : lane]);
		w.put(i.reg[1], false, lane, valid);
	}
}

enum Reduction { Add, Min, Max, And, Or, Xor };

// redux.sync: result, value, lanes. elements is 1 where numbers have a sign.
static void reduce(Warp &w, const Ins &i)
{
	uint32_t here = gathered(w, i, i.reg[2]), v = 0;
	bool first = true;
	for (uint32_t m = here; m; m &= m - 1) {
		uint32_t x = uint32_t(w.value(i.reg[1], false, __builtin_ctz(m)));
		bool less = i.elements ? int32_t(x) < int32_t(v) : x < v;
		uint32_t next[] = {v + x, less ? x : v, less ? v : x, v & x, v | x, v ^ x};
		v = first ? x : next[i.offset[0]];
		first = false;
	}
	for (uint32_t m = here; m; m &= m - 1)
		w.put(i.reg[0], false, __builtin_ctz(m), v);
}

static void active(Warp &w, const Ins &i)
{
	uint32_t here = w.mask;
	each(w, [&](unsigned l) { w.put(i.reg[0], false, l, here); });
}

// cvta adds what offset says, where generic addresses of a space begin.
static void convert_address(Warp &w, const Ins &i)
{
	each(w, [&](unsigned l) { w.put(i.reg[0], i.wide & 1, l, w.value(i.reg[1], i.wide >> 1 & 1, l) + uint64_t(i.offset[0])); });
}

// mov from or to several registers that one is made of: elements parts of offset bits.
static void pack(Warp &w, const Ins &i)
{
	each(w, [&](unsigned l) {
		uint64_t v = 0;
		for (int k = 0; k < i.elements; k++) {
			uint64_t part = w.value(i.reg[1 + k], i.wide >> (1 + k) & 1, l) & ((uint64_t(1) << i.offset[0]) - 1);
			v |= part << k * i.offset[0];
		}
		w.put(i.reg[0], i.wide & 1, l, v);
	});
}
static void unpack(Warp &w, const Ins &i)
{
	each(w, [&](unsigned l) {
		uint64_t v = w.value(i.reg[i.elements], i.wide >> i.elements & 1, l);
		for (int k = 0; k < i.elements; k++)
			w.put(i.reg[k], i.wide >> k & 1, l, v >> k * i.offset[0] & ((uint64_t(1) << i.offset[0]) - 1));
	});
}

static void nothing(Warp &, const Ins &) {}

// number is which of some names it is, −1 for none.
static int number(const std::string &name, std::initializer_list<const char *> names)
{
	int k = 0;
	for (const char *n : names) {
		if (name == n)
			return k;
		k++;
	}
	return -1;
}

bool control(Ins &i, const std::vector<std::string> &name)
{
	static const std::map<std::string, Action> plain = {
		{"bra", branch}, {"call", call}, {"exit", leave}, {"trap", trap}, {"membar", fence}, {"fence", fence}, {"pack", pack},
		{"unpack", unpack}, {"copy", copy_bytes}, {"cvta", convert_address}, {"activemask", active}, {"nothing", nothing},
		{"leave", leave}, {"return", come_back}, {"bar", barrier}, {"meet", meet},
	};
	const std::string &first = name[0];
	if (auto it = plain.find(first); it != plain.end()) {
		i.run = it->second;
		if (first == "membar" && name.size() > 1 && name[1] == "cta")
			i.run = nothing;
		return true;
	}
	if (name.size() < 3 || name[1] != "sync")
		return false;
	if (first == "vote")
		i.run = vote, i.offset[0] = number(name[2], {"all", "any", "uni", "ballot"});
	else if (first == "shfl")
		i.run = shuffle, i.offset[0] = number(name[2], {"up", "down", "bfly", "idx"});
	else if (first == "redux")
		i.run = reduce, i.offset[0] = number(name[2], {"add", "min", "max", "and", "or", "xor"}), i.elements = name.back() == "s32";
	else
		return false;
	return i.offset[0] >= 0;
}

// State is shared by launches, which take turns.
static struct {
	std::mutex lock;
	uint64_t launches = 0;
	uint32_t serial = 0; // of the last block
	std::vector<Warp> warps;
	std::unique_ptr<Shadow> shared;
} state;

// begin readies warps for a kernel: its constants, and NaN everywhere else.
static void begin(const Launch &l, size_t threads)
{
	const Module &m = *l.module;
	state.warps.resize(std::max(state.warps.size(), (threads + lanes - 1) / lanes));
	for (size_t k = 0; k * lanes < threads; k++) {
		Warp &w = state.warps[k];
		w.registers.assign(l.kernel->registers, char(0xFF));
		w.local.assign(m.local * lanes, char(0xFF));
		w.back.assign(m.called, {});
		for (const Filled &f : l.kernel->constants)
			for (unsigned lane = 0; lane < lanes; lane++)
				w.put(f.reg, f.wide, lane, f.value);
	}
}

static unsigned along(Dim d, int axis) { return axis == 0 ? d.x : axis == 1 ? d.y : d.z; }

// enter readies a warp for a block.
static void enter(Warp &w, Block &b, unsigned first)
{
	const Launch &l = *b.launch;
	unsigned there = std::min<unsigned>(lanes, unsigned(b.threads.size()) - first);
	w.block = &b, w.first = first;
	w.alive = there == lanes ? ~0u : (1u << there) - 1;
	w.waiting = w.parked = 0;
	w.go(w.alive, l.kernel->begin);
	for (const Filled &f : l.kernel->unset)
		for (unsigned lane = 0; lane < lanes; lane++)
			w.put(f.reg, f.wide, lane, f.value);
	for (const Place &p : l.kernel->places)
		for (unsigned lane = 0; lane < lanes; lane++) {
			unsigned n = first + lane, xyz[] = {n % l.block.x, n / l.block.x % l.block.y, n / l.block.x / l.block.y};
			unsigned values[] = {xyz[p.axis], along(l.block, p.axis), along(b.index, p.axis), along(l.grid, p.axis), lane, (1u << lane) - 1};
			w.put(p.reg, false, lane, values[int(p.what)]);
		}
	std::fill(w.local.begin(), w.local.end(), char(0xFF));
}

// open lets a block's threads go on once all wait at the barrier.
static void open(Block &b, size_t warps)
{
	const std::vector<Ins> &code = b.launch->module->code;
	size_t some = 0; // a warp with threads that wait: others may have left
	while (!state.warps[some].waiting)
		some++;
	const Warp &one = state.warps[some];
	unsigned there = __builtin_ctz(one.waiting);
	const Ins &first = code[one.at[there] - 1];
	const char *alone = "waits at a barrier that others of its block do not reach,";
	uint32_t yes = 0, all = uint32_t(b.threads.size());
	for (size_t k = 0; k < warps; k++) {
		Warp &w = state.warps[k];
		for (unsigned lane = 0; lane < lanes && w.thread(lane) < all; lane++) {
			if (!(w.waiting >> lane & 1))
				one.fault(first, there, LaunchFailed, alone);
			const Ins &i = code[w.at[lane] - 1];
			if (w.at[lane] != w.at[0] || i.offset[0] != first.offset[0] || i.elements != first.elements)
				w.fault(i, lane, LaunchFailed, alone);
			if (i.elements)
				yes += (w.value(i.reg[i.results], false, lane) != 0) != i.unless;
		}
	}
	for (size_t k = 0; k < warps; k++) {
		Warp &w = state.warps[k];
		const Ins &i = code[w.at[0] - 1];
		uint32_t result[] = {0, yes, yes == all, yes > 0};
		for (unsigned lane = 0; lane < lanes && i.results; lane++)
			w.put(i.reg[0], false, lane, result[i.elements]);
		w.waiting = 0;
	}
	if (++b.epoch > epoch_bits >> epoch_at)
		throw Fault{LaunchFailed, "a block passes more barriers than can be counted"};
}

static void run_block(Launch &l, Dim index, size_t threads)
{
	Block b = {&l, index, ++state.serial, 1, {}, state.shared.get(), std::vector<Thread>(threads), {}, 0};
	b.memory.assign(l.kernel->shared + l.shared, char(0xFF));
	size_t warps = (threads + lanes - 1) / lanes;
	for (size_t k = 0; k < warps; k++)
		enter(state.warps[k], b, unsigned(k * lanes));
	for (;;) {
		uint32_t waiting = 0;
		for (size_t k = 0; k < warps; k++) {
			state.warps[k].run();
			waiting |= state.warps[k].waiting;
		}
		if (!waiting)
			break;
		open(b, warps);
	}
	for (Thread &t : b.threads) // with copies left without a wait
		for (const Copy &c : t.copies)
			b.shadow->mark(c.to, c.bytes, 0);
}

void launch(const Kernel &k, Dim grid, Dim block, unsigned shared, void **params, bool backwards)
{
	std::lock_guard<std::mutex> hold(state.lock);
	const char *limit = getenv("GPUEMU_STEPS");
	Launch l = {k.module, &k.module->functions[k.function], grid, block, shared, {}, ++state.launches, state.serial + 1,
	            limit ? strtoull(limit, nullptr, 10) : ~uint64_t(0), {}};
	l.params.assign(l.kernel->parameter_bytes, 0);
	for (size_t i = 0; i < k.sizes.size(); i++)
		memcpy(l.params.data() + l.kernel->parameters[i].address, params[i], k.sizes[i]);
	size_t threads = size_t(block.x) * block.y * block.z;
	uint64_t blocks = uint64_t(grid.x) * grid.y * grid.z;
	begin(l, threads);
	state.shared = std::make_unique<Shadow>(nullptr, l.kernel->shared + shared);
	for (size_t at : l.kernel->gaps)
		state.shared->mark(at, gap_bytes, gap);
	try {
		for (uint64_t n = 0; n < blocks && card_status() == Success; n++) {
			uint64_t i = backwards ? blocks - 1 - n : n;
			run_block(l, {unsigned(i % grid.x), unsigned(i / grid.x % grid.y), unsigned(i / grid.x / grid.y)}, threads);
		}
	} catch (const Fault &f) {
		card_fails(f.status, "kernel " + k.name + ": " + f.why);
	}
}

} // namespace gpuemu::ptx
