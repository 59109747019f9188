//go:build ignore

#include "emulator.h"
#include "shadow.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace gpuemu {

// Allocations lie between two guards of known bytes, looked at after every
// kernel. Under the sanitizer its own guards see more, so there are none here.
static constexpr size_t guard_bytes = 256; // also the alignment
static constexpr unsigned char guard_byte = 0xA5, fresh_byte = 0xFF; // a NaN

struct Block {
	char *base;
	size_t bytes, guard;
	int card;
	std::shared_ptr<Shadow> shadow; // from its first use on
};

static std::mutex lock;
static std::map<uint64_t, Block> blocks;
static std::map<int, size_t> used;

int memory_alloc(uint64_t *address, size_t bytes, int card)
{
	if (bytes == 0)
		return InvalidValue;
	std::lock_guard<std::mutex> hold(lock);
	if (bytes > card_memory() || used[card] > card_memory() - bytes)
		return OutOfMemory;
	Block b = {nullptr, bytes, sanitize() ? 0 : guard_bytes, card, nullptr};
	void *base;
	if (posix_memalign(&base, guard_bytes, bytes + 2 * b.guard) != 0)
		return OutOfMemory;
	b.base = static_cast<char *>(base);
	memset(b.base, guard_byte, b.guard);
	memset(b.base + b.guard, fresh_byte, bytes);
	memset(b.base + b.guard + bytes, guard_byte, b.guard);
	*address = reinterpret_cast<uint64_t>(b.base + b.guard);
	blocks[*address] = b;
	used[card] += bytes;
	return Success;
}

int memory_free(uint64_t address)
{
	std::lock_guard<std::mutex> hold(lock);
	auto it = blocks.find(address);
	if (it == blocks.end())
		return InvalidValue;
	used[it->second.card] -= it->second.bytes;
	free(it->second.base);
	blocks.erase(it);
	return Success;
}

void memory_clear(int card)
{
	std::lock_guard<std::mutex> hold(lock);
	for (auto it = blocks.begin(); it != blocks.end();)
		if (it->second.card == card) {
			free(it->second.base);
			it = blocks.erase(it);
		} else {
			++it;
		}
	used[card] = 0;
}

bool memory_range(uint64_t *base, size_t *bytes, uint64_t address)
{
	std::lock_guard<std::mutex> hold(lock);
	auto it = blocks.upper_bound(address);
	if (it == blocks.begin())
		return false;
	--it;
	*base = it->first, *bytes = it->second.bytes;
	return address - *base <= *bytes;
}

bool memory_holds(uint64_t address, size_t bytes)
{
	uint64_t base;
	size_t all;
	return memory_range(&base, &all, address) && bytes <= all - (address - base);
}

Shadow *memory_shadow(uint64_t address)
{
	std::lock_guard<std::mutex> hold(lock);
	auto it = blocks.upper_bound(address);
	if (it == blocks.begin())
		return nullptr;
	Block &b = (--it)->second;
	if (address - it->first >= b.bytes)
		return nullptr;
	if (!b.shadow)
		b.shadow = std::make_shared<Shadow>(b.base + b.guard, b.bytes);
	return b.shadow.get();
}

size_t memory_used(int card)
{
	std::lock_guard<std::mutex> hold(lock);
	return used[card];
}

// intact compares each byte with the next one: words at a time, after every launch.
static bool intact(const char *p, size_t n)
{
	return n == 0 || (static_cast<unsigned char>(p[0]) == guard_byte && memcmp(p, p + 1, n - 1) == 0);
}

void memory_check(const std::string &who)
{
	std::lock_guard<std::mutex> hold(lock);
	for (auto &[address, b] : blocks) {
		bool before = !intact(b.base, b.guard);
		if (!before && intact(b.base + b.guard + b.bytes, b.guard))
			continue;
		card_fails(IllegalAddress, who + " wrote " + (before ? "before" : "beyond") +
		                               " an allocation of " + std::to_string(b.bytes) + " bytes");
		memset(b.base, guard_byte, b.guard);
		memset(b.base + b.guard + b.bytes, guard_byte, b.guard);
	}
}

// Pinned host memory.
static std::map<uint64_t, size_t> pinned;

bool pinned_holds(const void *p, size_t bytes)
{
	std::lock_guard<std::mutex> hold(lock);
	uint64_t a = reinterpret_cast<uint64_t>(p);
	auto it = pinned.upper_bound(a);
	if (it == pinned.begin())
		return false;
	--it;
	return a - it->first <= it->second && bytes <= it->second - (a - it->first);
}

EXPORT int cuMemHostAlloc(void **p, size_t bytes, unsigned)
{
	if (int s = fault("cuMemHostAlloc"))
		return s;
	if (bytes == 0 || posix_memalign(p, 4096, bytes) != 0)
		return bytes ? OutOfMemory : InvalidValue;
	std::lock_guard<std::mutex> hold(lock);
	pinned[reinterpret_cast<uint64_t>(*p)] = bytes;
	return Success;
}

EXPORT int cuMemFreeHost(void *p)
{
	std::lock_guard<std::mutex> hold(lock);
	if (!pinned.erase(reinterpret_cast<uint64_t>(p)))
		return InvalidValue;
	free(p);
	return Success;
}

} // namespace gpuemu
