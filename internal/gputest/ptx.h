// The second executor: the driver's own, which is given what a real compiler made of a
// program, PTX, and runs it statement by statement. It knows nothing of the program's text,
// so it is a second opinion of it, and it watches every access:
//
//   - to memory: within an allocation, and aligned;
//   - for races, see shadow.h. A fence and an atomic after it publish what a thread wrote;
//     an atomic and a fence after it let a block read that;
//   - to the destination of an asynchronous copy: not before the copy was waited for, and
//     the copy is made only then.
//
// Registers, local and shared memory hold NaN before they are written. Approximate
// functions are off by an ulp or so, depending on their operands' bits.
//
// The threads of a block run in warps of 32. Each statement runs for all threads of a warp
// that are there, those behind first, so that they meet again after a branch. Warps run
// one after the other from barrier to barrier. Blocks, and launches of all streams, also
// run one after the other.
#pragma once

#include "emulator.h"
#include "shadow.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gpuemu::ptx {

constexpr unsigned lanes = 32;

// Fault is thrown by what goes wrong.
struct Fault {
	int status;
	std::string why;
};

enum class Space : uint8_t { Generic, Param, Shared, Global, Local };

// Generic addresses from here on mean shared and local memory.
constexpr uint64_t shared_window = uint64_t(1) << 56, local_window = uint64_t(2) << 56, window_bytes = 1 << 30;

// Bytes between variables in shared memory that no thread may touch.
constexpr size_t gap_bytes = 64;
constexpr Stamp gap = under_way | thread_bits | many;

// Registers have 32 lanes of four bytes, or of eight for those of 64 bits, and are numbered
// by where they begin in a warp's registers. Constants are registers too.
typedef uint32_t Register;

struct Warp;
struct Ins;
typedef void (*Action)(Warp &, const Ins &);

constexpr int no_guard = -1;

// Ins is a statement, made ready to be run.
struct Ins {
	Action run = nullptr;
	int guard = no_guard; // the predicate that lanes need to take part
	bool unless = false;  // which they must not have
	uint8_t count = 0, results = 0;
	uint8_t wide = 0; // bit k: register k has eight bytes
	uint8_t elements = 1;
	Space space = Space::Generic;
	Register reg[6] = {}; // results, then what is read
	int64_t offset[2] = {}; // of addresses; other numbers that a statement has
	int target = 0;       // of a branch: the statement; of a call: the function
	int statement = 0;    // see Module::where

	// The allocation that it found last, and in which launch.
	mutable Shadow *seen = nullptr;
	mutable uint64_t seen_in = 0;
};

// Symbol is a variable.
struct Symbol {
	Space space = Space::Generic;
	uint64_t address = 0;
	size_t bytes = 0, align = 1;
};

// Filled is a register that has a value from the beginning.
struct Filled {
	Register reg;
	bool wide;
	uint64_t value;
};

// The first values of registers that hold the position of a thread.
enum class Special { Tid, Ntid, Ctaid, Nctaid, Lane, LanesBelow };
struct Place {
	Register reg;
	Special what;
	int axis;
};

struct Function {
	std::string name;
	int begin = 0, end = 0; // its statements
	size_t registers = 0;   // where its registers end
	std::vector<Symbol> results, parameters;
	std::vector<Filled> constants;
	std::vector<Place> places;
	std::vector<Filled> unset; // registers that may be read before they are written
	size_t shared = 0, own_shared = 0; // bytes with the gaps between variables, and without
	std::vector<size_t> gaps;          // where they are
	size_t parameter_bytes = 0;
	int most_threads = 0; // .maxntid; 0: none is given
};

struct Statement {
	std::string text;
	int line = 0;             // of the PTX
	std::string file;         // of the source, where the compiler said so
	int source_line = 0;
};

struct Module {
	std::vector<Ins> code;
	std::vector<Statement> statements;
	std::vector<Function> functions; // called ones first
	size_t called = 0, local = 0;
	std::map<std::string, int> kernels; // functions by name

	std::string where(const Ins &i) const;
};

// read makes a module of PTX, its variables on a card.
std::unique_ptr<Module> read(const char *text, int card);

// Op is the arithmetic of a statement's name, and the bytes of its operands' lanes,
// the result's first.
struct Op {
	Action run = nullptr;
	std::vector<uint8_t> bytes;
};
const Op *arithmetic(const std::string &name); // nullptr for none

// access makes a statement that reads or writes memory of its name, cut at points, or
// returns false.
bool access(Ins &i, const std::vector<std::string> &name);
void copy_async(Warp &, const Ins &); // [reg 0] = [reg 1], elements bytes, only reg 2 of them from [reg 1]
void commit_copies(Warp &, const Ins &);
void wait_copies(Warp &, const Ins &); // until target groups are left; −1: for all
void fence(Warp &, const Ins &);
uint64_t accesses_watched(); // so far

// Copy is an asynchronous copy under way.
struct Copy {
	uint64_t to;
	const char *from;
	uint32_t bytes, there;
	unsigned group;
};

// Seen is the news that an atomic brings a block: the state that a thread of another had published.
struct Published {
	uint32_t serial, thread, fence, atomic; // with the counts of barriers at its fence and at its atomic
};
struct Seen {
	Published what;
	uint32_t thread, epoch; // who was told, and when
};

struct Thread {
	std::vector<Copy> copies;
	unsigned groups = 0;              // of copies that it has committed
	uint32_t fenced = 0, knows = 0; // count of barriers at its last fence, and how many of Seen it knows since; fenced is 0 before
};

struct Launch {
	const Module *module;
	const Function *kernel;
	Dim grid, block;
	unsigned shared;
	std::vector<char> params;
	uint64_t number;
	uint32_t oldest; // serial number of its first block
	uint64_t steps;  // that a block may take
	std::map<uint64_t, std::vector<Published>> published; // by an atomic's address
};

struct Block {
	Launch *launch;
	Dim index;
	uint32_t serial, epoch;
	std::vector<char> memory; // shared
	Shadow *shadow;
	std::vector<Thread> threads;
	std::vector<Seen> seen;
	uint64_t steps = 0;
};

struct Warp {
	Block *block = nullptr;
	unsigned first = 0; // number of its first thread
	uint32_t mask = 0, group = 0; // lanes that the statement runs for, and those that have come to it
	uint32_t alive = 0, waiting = 0, parked = 0; // waiting at a barrier; parked until others of the warp come
	int pc = 0, until = 0; // the next statement; where the nearest lanes ahead are
	bool moved = false;    // lanes went elsewhere: at says where
	int at[lanes] = {};
	std::vector<char> registers, local;
	uint32_t carry[lanes] = {};
	std::vector<std::array<int, lanes>> back; // where lanes return to, by function

	void run();
	void go(uint32_t which, int to); // lanes go on at a statement
	unsigned thread(unsigned lane) const { return first + lane; }
	Stamp now(unsigned lane) const
	{
		return Stamp(block->serial) << serial_at | Stamp(block->epoch) << epoch_at | thread(lane);
	}
	uint64_t value(Register r, bool wide, unsigned lane) const;
	void put(Register r, bool wide, unsigned lane, uint64_t v);
	// fault ends the launch.
	[[noreturn]] void fault(const Ins &i, unsigned lane, int status, const std::string &why) const;
	bool pick();
};

// Control flow, votes and shuffles.
bool control(Ins &i, const std::vector<std::string> &name);

// each calls f for the lanes that a statement runs for.
template <class F> inline void each(const Warp &w, F f)
{
	if (w.mask == ~0u) {
#pragma GCC ivdep
		for (unsigned l = 0; l < lanes; l++)
			f(l);
		return;
	}
	for (uint32_t m = w.mask; m; m &= m - 1)
		f(unsigned(__builtin_ctz(m)));
}

} // namespace gpuemu::ptx
