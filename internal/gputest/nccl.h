// Declarations that the parts of the emulated NCCL share. It uses only the driver's functions,
// as the real one does, and is a library of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace gpuemu_nccl {

enum Result {
	Ok = 0,
	UnhandledCuda = 1,
	SystemError = 2,
	InternalError = 3,
	InvalidArgument = 4,
	InvalidUsage = 5,
	RemoteError = 6,
	InProgress = 7,
};

struct Id {
	char text[128];
};

// The request of a rank; ranks that meet must make the same request.
enum Kind { AllReduce, Broadcast, AllGather, Split, Send, Receive };

struct Call {
	int kind, type, op, root;
	uint64_t count; // elements, of one rank
};

// The memory that the ranks of a communicator share: processes or threads.
constexpr int most_ranks = 64;
constexpr size_t slot_bytes = 64 << 10; // of a piece that travels

struct Member {
	std::atomic<uint64_t> step; // how often it came to meet the others
	std::atomic<int> pid, card, dead;
	Call call[2]; // by the parity of the step
};

struct Mail {
	std::atomic<uint64_t> sent, taken; // pieces
	uint64_t total, bytes;             // of the message, of the piece
	char data[slot_bytes];
};

struct Shared {
	std::atomic<uint32_t> bell; // rung at every change
	std::atomic<int> joined;
	Member member[most_ranks];
};

struct Op {
	Call call;
	const char *in;
	char *out;
	uint64_t done = 0; // bytes of a message
};

struct Comm {
	std::string name;
	int rank, size, card;
	Shared *shared = nullptr;
	size_t mapped = 0;

	// A communicator that was made without waiting: calls may return before they are done.
	bool nonblocking = false;
	std::atomic<bool> starting{false}; // or splitting
	bool connected = false;            // a first call was made
	std::atomic<int> pending{0};       // looks until the last call is done

	// Work goes in the order of the calls, on whatever streams.
	std::mutex lock;
	std::condition_variable change;
	uint64_t asked = 0, served = 0;

	std::atomic<int> error{Ok}; // asynchronous
	std::atomic<bool> aborted{false};
	uint64_t step = 0, splits = 0;
	int calls = 0; // collectives and messages, for faults

	char *slot(int r, uint64_t parity) { return pieces() + (size_t(r) * 2 + parity) * slot_bytes; }
	Mail *mail(int from, int to)
	{
		char *first = pieces() + size_t(size) * 2 * slot_bytes;
		return reinterpret_cast<Mail *>(first) + size_t(from) * size + to;
	}

	uint64_t ticket();
	bool my_turn(uint64_t ticket); // waits; false: aborted
	void next();

	void ring();
	// wait returns at the next ring, or soon; false: aborted.
	bool wait(uint32_t seen);
	// meet waits until all ranks are here with the same call; false: they never are.
	bool meet(const Call &c);
	void fails(int result, const std::string &why);
	void run(std::vector<Op> ops);
	// join makes the rank part of the communicator of a name and waits for the others.
	int join();

private:
	char *pieces() { return reinterpret_cast<char *>(shared) + sizeof(Shared); }
	void look_after_others();
	int meet_first();
	void stay();
	bool fault();
	// planned is the fault that GPUEMU_NCCL_FAULT plans for a call of this rank, "" for none. Call 0
	// is the start.
	std::string planned(int call, int *result);
	void collective(const Op &op);
	void messages(std::vector<Op> ops);
};

// begin makes a communicator on the current card, which then has to join the others.
int begin(Comm **out, const std::string &name, int size, int rank);

// aside runs f on a thread of its own.
void aside(std::function<void()> f);

size_t size_of(int type); // bytes; 0: not emulated
// add adds n elements of y to those of x.
void add(int type, void *x, const void *y, size_t n);

int version();
int refuse(int result, const std::string &why); // for ncclGetLastError

} // namespace gpuemu_nccl
