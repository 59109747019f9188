// Declarations that the parts of the emulator share. Names that users of the libraries
// see are those of the libraries; everything else is in namespace gpuemu.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace gpuemu {

// Statuses, numbered alike by CUDA and HIP.
enum Status {
	Success = 0,
	InvalidValue = 1,
	OutOfMemory = 2,
	NotInitialised = 3,
	NoDevice = 100,
	InvalidDevice = 101,
	InvalidImage = 200,
	InvalidContext = 201,
	InvalidPTX = 218,
	InvalidHandle = 400,
	NotFound = 500,
	NotReady = 600,
	IllegalAddress = 700,
	OutOfResources = 701,
	LaunchFailed = 719,
};

// The hardware that the libraries pretend: one or more cards of 64 KiB shared memory a block.
constexpr int warp_threads = 32;
constexpr int block_threads = 1024;
constexpr int shared_bytes = 64 << 10;
constexpr int free_shared_bytes = 48 << 10; // more must be requested
constexpr int unbounded_threads = 256; // of a kernel that may have 255 registers, of 65,536 a block
constexpr size_t parameter_bytes = 4096; // of a kernel

// Settings, from the environment, read whenever they are needed.
int cards();          // GPUEMU_CARDS (1), before CUDA_VISIBLE_DEVICES
size_t card_memory(); // GPUEMU_MEMORY, bytes (1 GiB)
int workers();        // GPUEMU_WORKERS (processors), at the first launch
int capability();     // GPUEMU_CAPABILITY, of a card for CUDA: 120 for sm_120 (90)
int queues();         // GPUEMU_QUEUES, of the hardware for the streams that a thread creates (8)
int static_shared();  // GPUEMU_STATIC_SHARED, bytes of every kernel loaded since (0)
bool sanitize();      // GPUEMU_SANITIZE=address: kernels under AddressSanitizer

// contents of a file; "" if it cannot be read.
std::string contents(const std::string &path);

// fault is the status that GPUEMU_FAULT=function:call:status asks of this call,
// counted from 1; Success for all others.
int fault(const char *function);

// A kernel of a loaded module: see device.h for the other side.
struct Dim {
	unsigned x, y, z;
};
typedef void (*Entry)(void **params);
// Runs one block; 0, or what went wrong in words.
typedef const char *(*Runner)(Entry, Dim grid, Dim block, Dim index, unsigned shared, void **params);

namespace ptx {
struct Module;
}

struct Kernel {
	std::string name;
	std::vector<size_t> sizes; // of the parameters, bytes
	Entry entry = nullptr;
	Runner run = nullptr;
	const ptx::Module *module = nullptr; // that it is a function of, if it was given as PTX
	int function = 0;
	int shared = 0; // bytes that it has of its own
	int most_threads = 0; // of a block, that it was compiled for (__launch_bounds__); 0: none is given
	std::atomic<int> dynamic{free_shared_bytes}; // bytes that a launch may add
	std::atomic<int> carveout{-1};               // percent of shared memory that is preferred
};

// Stacks for the threads of kernels, nullptr if memory runs out.
void *take_stack(size_t bytes);
void give_stack(void *stack, size_t bytes);

// Queues of the hardware: each is a thread that does one thing after the other.
struct Queue {
	std::mutex lock;
	std::condition_variable change;
	std::deque<std::function<void()>> work;
	bool ended = false;
	std::thread thread;

	Queue();
	~Queue();
};

// Streams: a thread's first streams have queues of their own, and later ones share them. Streams
// that share a queue wait for each other.
struct Stream {
	std::shared_ptr<Queue> queue;
	size_t waiting = 0; // of its work, under the queue's lock

	Stream();
	~Stream(); // after all its work
	void add(std::function<void()> f);
	void drain();
};

// The card's own state of failure: the first thing that went wrong in a kernel
// answers every later call, as on a real card.
void card_fails(int status, const std::string &why);
void card_recovers();
int card_status();

namespace ptx {
// launch runs all blocks of a kernel given as PTX, one after the other.
void launch(const Kernel &k, Dim grid, Dim block, unsigned shared, void **params, bool backwards);
} // namespace ptx

// report adds a line to the file GPUEMU_REPORT.
void report(const std::string &line);

// run_kernel runs all blocks, on all workers.
void run_kernel(Kernel *k, Dim grid, Dim block, unsigned shared, void **params);

// Memory of the cards.
int memory_alloc(uint64_t *address, size_t bytes, int card);
int memory_free(uint64_t address);
void memory_clear(int card); // all of a card's allocations
bool memory_range(uint64_t *base, size_t *bytes, uint64_t address); // the allocation with it
bool memory_holds(uint64_t address, size_t bytes);                  // within one allocation
class Shadow;
Shadow *memory_shadow(uint64_t address); // of the allocation with it; nullptr for none, see shadow.h
bool pinned_holds(const void *p, size_t bytes);
size_t memory_used(int card);
// memory_check looks at the guards around every allocation; who ran last.
void memory_check(const std::string &who);

} // namespace gpuemu
