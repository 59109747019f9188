// A record of the threads that touched memory last. It finds races between threads that run one after the other.
//
// Each word of memory has a cell. It says which thread wrote it last and which read it
// last, and when: in which block, and after how many of its barriers. Two accesses clash if one
// of them writes and nothing orders them: by two threads of a block without a barrier
// between, or by two blocks of a launch. Threads that touch parts of a word split its cell.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>

namespace gpuemu {

// A stamp is a block's serial number (32 bits), the count of barriers that it had passed
// (20), flags (2) and a thread of it (10). Serial numbers rise from launch to launch.
typedef uint64_t Stamp;
constexpr int serial_at = 32, epoch_at = 12;
constexpr Stamp thread_bits = 0x3FF, epoch_bits = Stamp(0xFFFFF) << epoch_at;
constexpr Stamp many = 1 << 10;     // of a read: other threads of the block read it too
constexpr Stamp elsewhere = 1 << 11; // of a read: other blocks of the launch read it too
constexpr Stamp by_atomic = 1 << 10; // of a write
constexpr Stamp under_way = ~Stamp(0) << serial_at; // written by a copy without a wait

enum class Access { Read, Write, Atomic };

// Clash is an access that another clashes with: its stamp, or 0, and whether it wrote.
struct Clash {
	Stamp other = 0;
	bool wrote = false;
};

struct Cell {
	Stamp write, read;

	// touch notes an access at a time, and returns one that clashes with it. Blocks with
	// serial numbers from oldest on may run at the same time.
	Clash touch(Stamp now, uint32_t oldest, Access access)
	{
		auto clashes = [&](Stamp s) {
			Stamp differs = s ^ now;
			if (differs >> serial_at)
				return s >> serial_at >= oldest;
			return !(differs & epoch_bits) && (differs & thread_bits || s & many);
		};
		bool both_atomic = access == Access::Atomic && write & by_atomic && write < under_way;
		if (!both_atomic && clashes(write & ~by_atomic))
			return {write & ~by_atomic, true};
		if (access == Access::Read) {
			bool same_block = !((read ^ now) >> serial_at);
			if (same_block)
				now |= read & elsewhere;
			else if (read >> serial_at >= oldest)
				now |= elsewhere;
			if (same_block && clashes(read))
				now |= many;
			read = now;
			return {};
		}
		if (clashes(read) || (read & elsewhere && read >> serial_at >= oldest))
			return {read, false};
		write = now | (access == Access::Atomic ? by_atomic : 0);
		return {};
	}
};

// Shadow has the cells of a stretch of memory.
class Shadow {
public:
	Shadow(char *base, size_t bytes)
		: base(base), bytes(bytes), cells(static_cast<Cell *>(calloc(bytes / 4 + 1, sizeof(Cell))), free)
	{
	}

	char *const base;
	const size_t bytes;

	// touch is Cell's for bytes [at, at + n), which are one byte, two, or whole words.
	Clash touch(size_t at, size_t n, Stamp now, uint32_t oldest, Access access)
	{
		Clash clash;
		for (size_t word = at / 4; word * 4 < at + n; word++) {
			Cell &c = cells[word];
			if (n >= 4 && c.read != divided) {
				if (Clash k = c.touch(now, oldest, access); k.other)
					clash = k;
				continue;
			}
			if (c.read != divided) {
				parts[word].fill(c);
				c.read = divided;
			}
			size_t first = n < 4 ? at % 4 : 0;
			for (size_t i = first; i < first + (n < 4 ? n : 4); i++)
				if (Clash k = parts[word][i].touch(now, oldest, access); k.other)
					clash = k;
			if (n >= 4 && access != Access::Read && !clash.other)
				c = parts[word][0]; // all four are the same again
		}
		return clash;
	}

	// mark records for whole words that a copy to them is under way, or, with 0, that none is.
	void mark(size_t at, size_t n, Stamp write)
	{
		for (size_t word = at / 4; word * 4 < at + n; word++)
			cells[word] = Cell{write, 0};
	}

private:
	static constexpr Stamp divided = ~Stamp(0); // read says so: see parts
	std::unique_ptr<Cell[], void (*)(void *)> cells;
	std::unordered_map<size_t, std::array<Cell, 4>> parts;
};

} // namespace gpuemu
