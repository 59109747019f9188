//go:build ignore

// The driver's functions: cards, contexts, copies, modules, launches, events.
#include "emulator.h"
#include "ptx.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

namespace gpuemu {

static thread_local int current = -1; // the card of this thread's context

// enter is the beginning of every call that needs a context.
static int enter(const char *function)
{
	if (int s = fault(function))
		return s;
	if (current < 0)
		return InvalidContext;
	return card_status();
}

// The visible cards' numbers, from CUDA_VISIBLE_DEVICES where that is set: the
// list ends at the first number that is none.
static std::vector<int> visible()
{
	std::vector<int> v;
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	if (!list) {
		for (int i = 0; i < cards(); i++)
			v.push_back(i);
		return v;
	}
	for (const char *p = list; *p;) {
		char *end;
		long n = strtol(p, &end, 10);
		if (end == p || n < 0 || n >= cards())
			break;
		v.push_back(int(n));
		p = *end ? end + 1 : end;
	}
	return v;
}

// A card's number is its place among all cards, visible or not.
static bool card_exists(int card) { return card >= 0 && card < cards(); }

EXPORT int cuInit(unsigned)
{
	if (int s = fault("cuInit"))
		return s;
	return visible().empty() ? NoDevice : Success;
}

EXPORT int cuDriverGetVersion(int *version)
{
	*version = 12040;
	return Success;
}

EXPORT int cuDeviceGetCount(int *n)
{
	*n = int(visible().size());
	return Success;
}

EXPORT int cuDeviceGet(int *card, int ordinal)
{
	std::vector<int> v = visible();
	if (ordinal < 0 || size_t(ordinal) >= v.size())
		return InvalidDevice;
	*card = v[ordinal];
	return Success;
}

EXPORT int cuDeviceGetName(char *name, int len, int)
{
	snprintf(name, size_t(len), "emulated GPU");
	return Success;
}

EXPORT int cuDeviceGetPCIBusId(char *id, int len, int card)
{
	snprintf(id, size_t(len), "0000:%02x:00.0", card + 1);
	return Success;
}

EXPORT int cuDeviceGetUuid_v2(unsigned char *id, int card)
{
	memset(id, 0xE, 16);
	id[15] = static_cast<unsigned char>(card);
	return Success;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int card)
{
	*bytes = card_memory();
	return card_exists(card) ? Success : InvalidDevice;
}

EXPORT int cuDeviceGetAttribute(int *v, int which, int card)
{
	static const std::map<int, int> values = {
		{1, block_threads}, {8, free_shared_bytes}, {97, shared_bytes}, {10, warp_threads}, {13, 1000000},
		{16, 4}, {36, 1000000}, {37, 64}, {38, 1 << 20}, {75, 9}, {76, 0},
	};
	auto it = values.find(which);
	if (it == values.end() || !card_exists(card))
		return InvalidValue;
	*v = it->second;
	if (which == 75 || which == 76)
		*v = which == 75 ? capability() / 10 : capability() % 10;
	return Success;
}

struct Module {
	void *library = nullptr;
	std::unique_ptr<ptx::Module> program; // of PTX, which has no library
	std::mutex lock;
	std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

static std::mutex users_lock;
static std::map<int, int> users; // of each card's primary context
static std::map<int, std::vector<std::unique_ptr<Module>>> programs; // of PTX, that it has loaded

EXPORT int cuDevicePrimaryCtxRetain(void **context, int card)
{
	if (int s = fault("cuDevicePrimaryCtxRetain"))
		return s;
	if (!card_exists(card))
		return InvalidDevice;
	std::lock_guard<std::mutex> hold(users_lock);
	users[card]++;
	*context = reinterpret_cast<void *>(intptr_t(card + 1) << 16); // as a pointer may be
	return Success;
}

// The last user of a context frees its contents. A failure goes when no card has a user, because it
// belongs to the process.
EXPORT int cuDevicePrimaryCtxRelease_v2(int card)
{
	std::lock_guard<std::mutex> hold(users_lock);
	if (users[card] == 0)
		return InvalidContext;
	if (--users[card] == 0) {
		memory_clear(card);
		programs.erase(card);
		int all = 0;
		for (auto &[other, n] : users)
			all += n;
		if (all == 0)
			card_recovers();
		if (uint64_t n = ptx::accesses_watched())
			report("watched " + std::to_string(n) + " accesses");
	}
	return Success;
}

EXPORT int cuCtxSetCurrent(void *context)
{
	current = int(reinterpret_cast<intptr_t>(context) >> 16) - 1;
	return Success;
}

EXPORT int cuMemGetInfo_v2(size_t *free, size_t *total)
{
	if (int s = enter("cuMemGetInfo"))
		return s;
	size_t used = memory_used(current);
	*total = card_memory();
	*free = *total > used ? *total - used : 0;
	return Success;
}

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	if (int s = enter("cuMemAlloc"))
		return s;
	return memory_alloc(address, bytes, current);
}

// All streams of the process with their cards, so that what waits for a card can.
static std::mutex streams_lock;
static std::map<Stream *, int> streams;

EXPORT int cuMemFree_v2(uint64_t address)
{
	if (int s = enter("cuMemFree"))
		return s;
	std::vector<Stream *> all;
	{
		std::lock_guard<std::mutex> hold(streams_lock);
		for (auto &[s, card] : streams)
			if (card == current)
				all.push_back(s);
	}
	for (Stream *s : all)
		s->drain();
	return memory_free(address);
}

EXPORT int cuStreamCreate(Stream **s, unsigned)
{
	if (int e = enter("cuStreamCreate"))
		return e;
	*s = new Stream;
	std::lock_guard<std::mutex> hold(streams_lock);
	streams[*s] = current;
	return Success;
}

EXPORT int cuStreamDestroy_v2(Stream *s)
{
	{
		std::lock_guard<std::mutex> hold(streams_lock);
		streams.erase(s);
	}
	delete s;
	return Success;
}

// copy is asynchronous if the host's side is pinned. Otherwise it is done when the
// call returns, after all earlier work of the stream.
static int copy(void *dst, const void *src, size_t bytes, const void *host, Stream *s)
{
	if (pinned_holds(host, bytes)) {
		s->add([=] { memcpy(dst, src, bytes); });
		return Success;
	}
	s->drain();
	memcpy(dst, src, bytes);
	return Success;
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t dst, const void *src, size_t bytes, Stream *s)
{
	if (int e = enter("cuMemcpyHtoDAsync"))
		return e;
	if (!memory_holds(dst, bytes) || !s)
		return InvalidValue;
	return copy(reinterpret_cast<void *>(dst), src, bytes, src, s);
}

EXPORT int cuMemcpyDtoHAsync_v2(void *dst, uint64_t src, size_t bytes, Stream *s)
{
	if (int e = enter("cuMemcpyDtoHAsync"))
		return e;
	if (!memory_holds(src, bytes) || !s)
		return InvalidValue;
	return copy(dst, reinterpret_cast<void *>(src), bytes, dst, s);
}

EXPORT int cuMemcpyDtoDAsync_v2(uint64_t dst, uint64_t src, size_t bytes, Stream *s)
{
	if (int e = enter("cuMemcpyDtoDAsync"))
		return e;
	if (!memory_holds(dst, bytes) || !memory_holds(src, bytes) || !s)
		return InvalidValue;
	s->add([=] { memmove(reinterpret_cast<void *>(dst), reinterpret_cast<void *>(src), bytes); });
	return Success;
}

EXPORT int cuMemsetD8Async(uint64_t dst, unsigned char value, size_t bytes, Stream *s)
{
	if (int e = enter("cuMemsetD8Async"))
		return e;
	if (!memory_holds(dst, bytes) || !s)
		return InvalidValue;
	s->add([=] { memset(reinterpret_cast<void *>(dst), value, bytes); });
	return Success;
}

// Further functions that a communication library needs: see nccl.cpp.
EXPORT int cuCtxGetDevice(int *card)
{
	*card = current;
	return current < 0 ? InvalidContext : Success;
}

EXPORT int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t address)
{
	return memory_range(base, bytes, address) ? Success : InvalidValue;
}

EXPORT int cuLaunchHostFunc(Stream *s, void (*f)(void *), void *data)
{
	if (int e = enter("cuLaunchHostFunc"))
		return e;
	if (!s)
		return InvalidHandle;
	s->add([=] { f(data); });
	return Success;
}

// replacement is the text that tests substitute for a program as PTX: the file of
// $GPUEMU_PTX whose name is the PTX's FNV-1a hash; "" for none.
static std::string replacement(const char *ptx)
{
	uint64_t hash = 14695981039346656037u;
	for (; *ptx; ptx++)
		hash = (hash ^ static_cast<unsigned char>(*ptx)) * 1099511628211u;
	const char *folder = getenv("GPUEMU_PTX");
	char name[24];
	snprintf(name, sizeof name, "/%016llx", static_cast<unsigned long long>(hash));
	return folder ? contents(folder + std::string(name)) : "";
}

// load_ptx does a driver's work on PTX: it turns it into something that can run.
static int load_ptx(Module **m, const char *text)
{
	auto made = std::make_unique<Module>();
	try {
		made->program = ptx::read(text, current);
	} catch (const ptx::Fault &f) {
		fprintf(stderr, "gpuemu: %s\n", f.why.c_str());
		report(f.why);
		return f.status;
	}
	*m = made.get();
	std::lock_guard<std::mutex> hold(users_lock);
	programs[current].push_back(std::move(made));
	return Success;
}

// find_ptx describes a kernel of PTX; false if there is none of that name.
static bool find_ptx(Kernel &k, const ptx::Module &m, const char *name)
{
	auto it = m.kernels.find(name);
	if (it == m.kernels.end())
		return false;
	const ptx::Function &f = m.functions[size_t(it->second)];
	k.module = &m, k.function = it->second, k.shared = int(f.own_shared), k.most_threads = f.most_threads;
	for (const ptx::Symbol &p : f.parameters)
		k.sizes.push_back(p.bytes);
	return true;
}

// find_compiled describes a kernel of the emulated compiler's library.
static bool find_compiled(Kernel &k, void *library, const char *name)
{
	k.entry = reinterpret_cast<Entry>(dlsym(library, (std::string("gpuemu_call_") + name).c_str()));
	auto sizes = reinterpret_cast<int (*)(size_t *)>(dlsym(library, (std::string("gpuemu_sizes_") + name).c_str()));
	if (!k.entry || !sizes)
		return false;
	k.run = reinterpret_cast<Runner>(dlsym(library, "gpuemu_run"));
	k.sizes.resize(size_t(sizes(nullptr)));
	sizes(k.sizes.data());
	k.shared = static_shared();
	if (auto most = reinterpret_cast<int (*)()>(dlsym(library, (std::string("gpuemu_most_") + name).c_str())))
		k.most_threads = most();
	return true;
}

EXPORT int cuModuleLoadData(Module **m, const void *image)
{
	if (int e = enter("cuModuleLoadData"))
		return e;
	const char *p = static_cast<const char *>(image);
	std::string replaced;
	if (strncmp(p, "//", 2) == 0) {
		if (!(replaced = replacement(p)).empty())
			p = replaced.data();
		if (strncmp(p, "//", 2) == 0)
			return load_ptx(m, p);
	}
	if (memcmp(p, "GPUEMU 1", 8) != 0)
		return InvalidImage;
	uint64_t bytes;
	memcpy(&bytes, p + 8, sizeof bytes);
	const char *folder = getenv("TMPDIR");
	std::string name = std::string(folder ? folder : P_tmpdir) + "/gpuemu-XXXXXX";
	int file = mkstemp(name.data());
	if (file < 0)
		return OutOfMemory;
	bool written = write(file, p + 16, bytes) == ssize_t(bytes);
	close(file);
	void *library = written ? dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
	if (!library)
		fprintf(stderr, "gpuemu: %s\n", written ? dlerror() : "the temporary folder is full");
	if (!sanitize() || !library) // which reads lines from the file when it reports
		unlink(name.c_str());
	if (!library)
		return InvalidImage;
	auto use = reinterpret_cast<void (*)(void *(*)(size_t), void (*)(void *, size_t))>(dlsym(library, "gpuemu_stacks"));
	if (!use) {
		dlclose(library);
		return InvalidImage;
	}
	use(take_stack, give_stack);
	*m = new Module;
	(*m)->library = library;
	return Success;
}

EXPORT int cuModuleGetFunction(Kernel **k, Module *m, const char *name)
{
	if (int e = enter("cuModuleGetFunction"))
		return e;
	std::lock_guard<std::mutex> hold(m->lock);
	std::unique_ptr<Kernel> &kernel = m->kernels[name];
	if (!kernel) {
		auto found = std::make_unique<Kernel>();
		found->name = name;
		if (!(m->program ? find_ptx(*found, *m->program, name) : find_compiled(*found, m->library, name)))
			return NotFound;
		size_t bytes = 0;
		for (size_t n : found->sizes)
			bytes += n;
		if (bytes > parameter_bytes) { // which real compilers refuse
			report("kernel " + found->name + " has parameters of " + std::to_string(bytes) + " bytes");
			return InvalidImage;
		}
		found->dynamic = free_shared_bytes - found->shared;
		kernel = std::move(found);
	}
	*k = kernel.get();
	return Success;
}

EXPORT int cuFuncGetAttribute(int *v, int which, Kernel *k)
{
	switch (which) {
	case 1: // static shared memory
		*v = k->shared;
		return Success;
	case 3: // memory a thread beside registers
		*v = 0;
		return Success;
	case 4: // registers
		*v = 32;
		return Success;
	case 8:
		*v = k->dynamic;
		return Success;
	case 9:
		*v = k->carveout;
		return Success;
	}
	return InvalidValue;
}

EXPORT int cuFuncSetAttribute(Kernel *k, int which, int v)
{
	if (int e = fault("cuFuncSetAttribute"))
		return e;
	if (which == 8 && v >= 0 && v + k->shared <= shared_bytes)
		k->dynamic = v;
	else if (which == 9 && v >= -1 && v <= 100)
		k->carveout = v;
	else
		return InvalidValue;
	return Success;
}

// The copy that a launch keeps: the parameters may change once the call has returned.
struct Parameters {
	std::vector<std::unique_ptr<char[]>> values;
	std::vector<void *> pointers;
};

EXPORT int cuLaunchKernel(Kernel *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, Stream *s, void **params, void **)
{
	if (int e = enter("cuLaunchKernel"))
		return e;
	if (!s || !k)
		return InvalidHandle;
	if (!gx || !gy || !gz || !bx || !by || !bz || gx > 0x7FFFFFFFu || gy > 65535 || gz > 65535 ||
	    uint64_t(bx) * by * bz > block_threads || bz > 64 || shared > unsigned(k->dynamic))
		return InvalidValue;
	// A kernel has the registers that its launch bounds leave, or as many as a thread may have.
	if (uint64_t(bx) * by * bz > uint64_t(k->most_threads ? k->most_threads : unbounded_threads))
		return OutOfResources;
	auto kept = std::make_shared<Parameters>();
	for (size_t i = 0; i < k->sizes.size(); i++) {
		kept->values.emplace_back(new char[k->sizes[i]]);
		memcpy(kept->values[i].get(), params[i], k->sizes[i]);
		kept->pointers.push_back(kept->values[i].get());
	}
	s->add([=] {
		if (card_status() == Success)
			run_kernel(k, {gx, gy, gz}, {bx, by, bz}, shared, kept->pointers.data());
	});
	return Success;
}

// An event's state is shared with the places in streams that it was put in.
struct Mark {
	std::mutex lock;
	std::condition_variable change;
	bool passed = false;
	std::chrono::steady_clock::time_point when;
};

struct Event {
	std::mutex lock;
	std::shared_ptr<Mark> mark;

	std::shared_ptr<Mark> last()
	{
		std::lock_guard<std::mutex> hold(lock);
		return mark;
	}
};

EXPORT int cuEventCreate(Event **e, unsigned)
{
	if (int s = enter("cuEventCreate"))
		return s;
	*e = new Event;
	return Success;
}

EXPORT int cuEventDestroy_v2(Event *e)
{
	delete e;
	return Success;
}

EXPORT int cuEventRecord(Event *e, Stream *s)
{
	if (int f = enter("cuEventRecord"))
		return f;
	auto m = std::make_shared<Mark>();
	{
		std::lock_guard<std::mutex> hold(e->lock);
		e->mark = m;
	}
	s->add([m] {
		std::lock_guard<std::mutex> hold(m->lock);
		m->passed = true;
		m->when = std::chrono::steady_clock::now();
		m->change.notify_all();
	});
	return Success;
}

EXPORT int cuEventQuery(Event *e)
{
	if (int s = enter("cuEventQuery"))
		return s;
	auto m = e->last();
	if (!m)
		return Success;
	std::lock_guard<std::mutex> hold(m->lock);
	return m->passed ? card_status() : NotReady;
}

EXPORT int cuStreamWaitEvent(Stream *s, Event *e, unsigned)
{
	if (int f = enter("cuStreamWaitEvent"))
		return f;
	if (auto m = e->last())
		s->add([m] {
			std::unique_lock<std::mutex> hold(m->lock);
			m->change.wait(hold, [&] { return m->passed; });
		});
	return Success;
}

EXPORT int cuEventElapsedTime(float *ms, Event *a, Event *b)
{
	auto start = a->last(), end = b->last();
	if (!start || !end)
		return InvalidHandle;
	std::lock_guard<std::mutex> first(start->lock);
	std::lock_guard<std::mutex> second(end->lock);
	if (!start->passed || !end->passed)
		return NotReady;
	*ms = std::chrono::duration<float, std::milli>(end->when - start->when).count();
	return Success;
}

static const struct {
	int status;
	const char *name, *text;
} errors[] = {
	{InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{NoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{InvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
	{InvalidPTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
	{InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{OutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
	{LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

static int error(int status, const char **text, bool name)
{
	for (auto &e : errors)
		if (e.status == status) {
			*text = name ? e.name : e.text;
			return Success;
		}
	return InvalidValue;
}

EXPORT int cuGetErrorName(int status, const char **text) { return error(status, text, true); }

EXPORT int cuGetErrorString(int status, const char **text) { return error(status, text, false); }

} // namespace gpuemu
