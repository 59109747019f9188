//go:build ignore

#include "emulator.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include <sys/mman.h>

namespace gpuemu {

// quiet keeps the process's signals away from a thread: a handler has no place
// on the small stacks of kernels, and Go wants them on its own threads.
static void quiet()
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

Queue::Queue()
{
	thread = std::thread([this] {
		quiet();
		std::unique_lock<std::mutex> hold(lock);
		for (;;) {
			change.wait(hold, [this] { return ended || !work.empty(); });
			if (work.empty())
				return;
			std::function<void()> f = std::move(work.front());
			work.pop_front();
			hold.unlock();
			f();
			hold.lock();
			change.notify_all();
		}
	});
}

Queue::~Queue()
{
	{
		std::lock_guard<std::mutex> hold(lock);
		ended = true;
	}
	change.notify_all();
	thread.join();
}

Stream::Stream()
{
	static thread_local std::vector<std::weak_ptr<Queue>> taken;
	static thread_local size_t turn = 0;
	taken.erase(std::remove_if(taken.begin(), taken.end(), [](auto &q) { return q.expired(); }), taken.end());
	if (taken.size() >= size_t(std::max(1, queues())))
		queue = taken[turn++ % taken.size()].lock();
	if (queue)
		return;
	queue = std::make_shared<Queue>();
	taken.push_back(queue);
}

Stream::~Stream() { drain(); }

void Stream::add(std::function<void()> f)
{
	{
		std::lock_guard<std::mutex> hold(queue->lock);
		waiting++;
		queue->work.push_back([this, f = std::move(f)] {
			f();
			std::lock_guard<std::mutex> hold(queue->lock);
			waiting--;
		});
	}
	queue->change.notify_all();
}

void Stream::drain()
{
	std::unique_lock<std::mutex> hold(queue->lock);
	queue->change.wait(hold, [this] { return waiting == 0; });
}

static std::atomic<int> failed{Success};

void report(const std::string &line)
{
	if (const char *path = getenv("GPUEMU_REPORT")) {
		if (FILE *f = fopen(path, "a")) {
			fprintf(f, "%s\n", line.c_str());
			fclose(f);
		}
	}
}

void card_fails(int status, const std::string &why)
{
	int none = Success;
	if (!failed.compare_exchange_strong(none, status))
		return;
	fprintf(stderr, "gpuemu: %s\n", why.c_str());
	report(why);
}

void card_recovers() { failed = Success; }

int card_status() { return failed.load(); }

// Stacks of kernels' threads are kept by the host thread for the blocks to come, of
// whatever module. The page below each must not be touched.
struct Stacks {
	std::map<size_t, std::vector<void *>> unused; // by size

	~Stacks()
	{
		for (auto &[bytes, list] : unused)
			for (void *p : list)
				munmap(static_cast<char *>(p) - 4096, bytes + 4096);
	}
};
static thread_local Stacks stacks;

void *take_stack(size_t bytes)
{
	std::vector<void *> &unused = stacks.unused[bytes];
	if (!unused.empty()) {
		void *p = unused.back();
		unused.pop_back();
		return p;
	}
	void *p = mmap(nullptr, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return nullptr;
	mprotect(p, 4096, PROT_NONE);
	return static_cast<char *>(p) + 4096;
}

void give_stack(void *stack, size_t bytes) { stacks.unused[bytes].push_back(stack); }

// One launch, whose blocks are dealt to whoever is free.
struct Launch {
	Kernel *kernel;
	Dim grid, block;
	unsigned shared;
	void **params;
	bool backwards;
	uint64_t blocks;
	std::atomic<uint64_t> next{0}, done{0};
	std::mutex lock;
	std::condition_variable finished;

	// work runs blocks until none is left.
	void work()
	{
		for (uint64_t i; (i = next++) < blocks;) {
			uint64_t b = backwards ? blocks - 1 - i : i;
			Dim at = {unsigned(b % grid.x), unsigned(b / grid.x % grid.y), unsigned(b / grid.x / grid.y)};
			if (card_status() == Success)
				if (const char *why = kernel->run(kernel->entry, grid, block, at, shared, params))
					card_fails(LaunchFailed, "kernel " + kernel->name + ": " + why);
			if (++done == blocks) {
				std::lock_guard<std::mutex> hold(lock);
				finished.notify_all();
			}
		}
	}
};

// The pool of workers serves all streams; a stream's own thread works too.
struct Pool {
	std::mutex lock;
	std::condition_variable change;
	std::vector<std::shared_ptr<Launch>> launches;

	Pool()
	{
		for (int i = 1; i < workers(); i++)
			std::thread([this] {
				quiet();
				for (;;)
					next()->work();
			}).detach();
	}

	// next waits for a launch with blocks left.
	std::shared_ptr<Launch> next()
	{
		std::unique_lock<std::mutex> hold(lock);
		for (;;) {
			for (auto &l : launches)
				if (l->next < l->blocks)
					return l;
			change.wait(hold);
		}
	}

	void add(std::shared_ptr<Launch> l)
	{
		{
			std::lock_guard<std::mutex> hold(lock);
			launches.push_back(std::move(l));
		}
		change.notify_all();
	}

	void remove(const std::shared_ptr<Launch> &l)
	{
		std::lock_guard<std::mutex> hold(lock);
		launches.erase(std::find(launches.begin(), launches.end(), l));
	}
};

void run_kernel(Kernel *k, Dim grid, Dim block, unsigned shared, void **params)
{
	static Pool *pool = new Pool; // never ended: its threads are waiting in it
	// No order of blocks is promised: every second launch runs them backwards.
	static std::atomic<unsigned> turn{0};
	if (k->module) {
		ptx::launch(*k, grid, block, shared, params, turn++ & 1);
		return memory_check("kernel " + k->name);
	}
	auto l = std::make_shared<Launch>();
	l->kernel = k, l->grid = grid, l->block = block, l->shared = shared, l->params = params;
	l->backwards = turn++ & 1;
	l->blocks = uint64_t(grid.x) * grid.y * grid.z;
	pool->add(l);
	l->work();
	{
		std::unique_lock<std::mutex> hold(l->lock);
		l->finished.wait(hold, [&] { return l->done == l->blocks; });
	}
	pool->remove(l);
	memory_check("kernel " + k->name);
}

} // namespace gpuemu
