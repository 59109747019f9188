//go:build ignore

// The functions of the emulated NCCL. Which of them a library offers is decided
// when it is linked, so that there are old ones too.
#include "nccl.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include <sys/mman.h>

extern const int gpuemu_nccl_version; // of each library its own

extern "C" int cuLaunchHostFunc(void *stream, void (*f)(void *), void *data);
extern "C" int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t address);

namespace gpuemu_nccl {

static std::mutex text_lock;
static std::string last;

int refuse(int result, const std::string &why)
{
	std::lock_guard<std::mutex> hold(text_lock);
	last = why;
	return result;
}

int version()
{
	const char *s = getenv("GPUEMU_NCCL_VERSION");
	return s ? atoi(s) : gpuemu_nccl_version;
}

size_t size_of(int type)
{
	switch (type) {
	case 7: // float32
		return 4;
	case 4: // int64
	case 8: // float64
		return 8;
	}
	return 0;
}

template <class T> static void add_as(void *to, const void *from, size_t n)
{
	T *x = static_cast<T *>(to);
	const T *y = static_cast<const T *>(from);
	for (size_t i = 0; i < n; i++)
		x[i] += y[i];
}

void add(int type, void *x, const void *y, size_t n)
{
	switch (type) {
	case 4:
		return add_as<int64_t>(x, y, n);
	case 7:
		return add_as<float>(x, y, n);
	case 8:
		return add_as<double>(x, y, n);
	}
}

// in_one says whether bytes of the card's memory lie within one allocation.
static bool in_one(const void *p, uint64_t bytes)
{
	uint64_t base, address = reinterpret_cast<uint64_t>(p);
	size_t all;
	return bytes == 0 || (cuMemGetAddressRange_v2(&base, &all, address) == 0 && bytes <= base + all - address);
}

// Calls between group start and end, of this thread.
struct Asked {
	Comm *comm;
	void *stream;
	Op op;
};
static thread_local int depth;
static thread_local std::vector<Asked> group;

struct Work {
	Comm *comm;
	uint64_t ticket;
	std::vector<Op> ops;
};

static void work(void *data)
{
	Work *w = static_cast<Work *>(data);
	if (w->comm->my_turn(w->ticket)) {
		w->comm->run(std::move(w->ops));
		w->comm->next();
	}
	delete w;
}

// note appends a call to the file GPUEMU_NCCL_LOG, in the order of the calls.
static void note(const Work &w)
{
	static const char *const kinds[] = {"all-reduce", "broadcast", "all-gather", "split", "message", "message"};
	const char *path = getenv("GPUEMU_NCCL_LOG");
	if (!path || !*path)
		return;
	std::string line = "rank " + std::to_string(w.comm->rank) + " " + kinds[w.ops[0].call.kind] + "\n";
	if (FILE *f = fopen(path, "a")) {
		fputs(line.c_str(), f);
		fclose(f);
	}
}

static int flush()
{
	int result = Ok;
	while (!group.empty()) {
		Work *w = new Work{group[0].comm, 0, {}};
		void *stream = group[0].stream;
		std::vector<Asked> rest;
		for (Asked &a : group)
			if (a.comm == w->comm && a.stream == stream)
				w->ops.push_back(a.op);
			else
				rest.push_back(a);
		group = std::move(rest);
		w->ticket = w->comm->ticket();
		if (w->comm->nonblocking) { // every call is, and at the first cards are connected
			w->comm->pending = w->comm->connected ? 1 : 3;
			w->comm->connected = true;
			result = InProgress;
		}
		note(*w);
		if (cuLaunchHostFunc(stream, work, w) != 0) {
			delete w;
			group.clear();
			return refuse(UnhandledCuda, "the driver refuses the launch");
		}
	}
	return result;
}

static int ask(Comm *c, void *stream, const Call &call, const void *in, uint64_t bytes_in, void *out, uint64_t bytes_out)
{
	if (!c)
		return refuse(InvalidArgument, "no communicator");
	if (c->aborted)
		return refuse(InvalidUsage, "the communicator was aborted");
	if (c->starting || c->pending > 0)
		return refuse(InvalidArgument, "the call before is not done");
	if (size_of(call.type) == 0 || call.op != 0 || call.root < 0 || call.root >= c->size)
		return refuse(InvalidArgument, "type, operation or root");
	if (call.count == 0)
		return Ok;
	if (!in_one(in, bytes_in) || !in_one(out, bytes_out))
		return refuse(InvalidArgument, "a buffer is not within an allocation of the card");
	Op op;
	op.call = call, op.in = static_cast<const char *>(in), op.out = static_cast<char *>(out);
	group.push_back({c, stream, op});
	return depth > 0 ? int(Ok) : flush();
}

EXPORT int ncclGetVersion(int *v)
{
	*v = version();
	return Ok;
}

EXPORT int ncclGetUniqueId(Id *id)
{
	std::random_device random;
	snprintf(id->text, sizeof id->text, "/gpuemu-nccl-%08x%08x", random(), random());
	// All 128 bytes must arrive.
	memset(id->text + 64, 'x', 64);
	return Ok;
}

static int begin_by(Comm **c, int size, const Id &id, int rank)
{
	for (int i = 64; i < 128; i++)
		if (id.text[i] != 'x')
			return refuse(InvalidArgument, "an identifier that was damaged");
	return begin(c, id.text, size, rank);
}

EXPORT int ncclCommInitRank(Comm **c, int size, Id id, int rank)
{
	if (int result = begin_by(c, size, id, rank))
		return result;
	int result = (*c)->join();
	if (result != Ok)
		*c = nullptr; // others may still look at it
	return result;
}

// start joins the others on a thread of its own.
static void start(Comm *c)
{
	c->nonblocking = true;
	c->starting = true;
	aside([c] {
		int result = c->join();
		if (result != Ok)
			c->error = result;
		c->starting = false;
	});
}

struct Config {
	size_t size;
	unsigned magic, version;
	int blocking;
};

EXPORT int ncclCommInitRankConfig(Comm **c, int size, Id id, int rank, const Config *config)
{
	if (config->size < sizeof(Config) || config->magic != 0xcafebeef || config->version < 21400 || config->blocking != 0)
		return refuse(InvalidArgument, "configuration");
	if (int result = begin_by(c, size, id, rank))
		return result;
	start(*c);
	return InProgress;
}

// It waits until earlier work is done.
EXPORT int ncclCommDestroy(Comm *c)
{
	{
		std::unique_lock<std::mutex> hold(c->lock);
		c->change.wait(hold, [&] { return c->served == c->asked || c->aborted; });
	}
	munmap(c->shared, c->mapped);
	delete c;
	return Ok;
}

// Work that waits in streams comes to its end. The little memory stays allocated,
// since it may still be read.
EXPORT int ncclCommAbort(Comm *c)
{
	std::lock_guard<std::mutex> hold(c->lock);
	c->aborted = true;
	c->change.notify_all();
	if (c->shared) {
		c->shared->member[c->rank].dead = 1;
		c->ring();
	}
	return Ok;
}

EXPORT int ncclCommGetAsyncError(Comm *c, int *result)
{
	*result = c->error;
	if (*result == Ok && c->starting)
		*result = InProgress;
	if (*result == Ok && c->pending > 0) {
		c->pending--;
		*result = InProgress;
	}
	return Ok;
}

EXPORT const char *ncclGetErrorString(int result)
{
	static const char *const texts[] = {"no error", "unhandled cuda error", "unhandled system error",
		"internal error", "invalid argument", "invalid usage",
		"remote process exited or there was a network error", "NCCL operation in progress"};
	return result >= 0 && result < 8 ? texts[result] : "unknown result code";
}

EXPORT const char *ncclGetLastError(Comm *)
{
	static thread_local std::string kept;
	std::lock_guard<std::mutex> hold(text_lock);
	kept = last;
	return kept.c_str();
}

EXPORT int ncclAllReduce(const void *in, void *out, size_t n, int type, int op, Comm *c, void *stream)
{
	return ask(c, stream, {AllReduce, type, op, 0, n}, in, n * size_of(type), out, n * size_of(type));
}

EXPORT int ncclBroadcast(const void *in, void *out, size_t n, int type, int root, Comm *c, void *stream)
{
	return ask(c, stream, {Broadcast, type, 0, root, n}, in, c && c->rank == root ? n * size_of(type) : 0, out, n * size_of(type));
}

EXPORT int ncclAllGather(const void *in, void *out, size_t n, int type, Comm *c, void *stream)
{
	size_t bytes = n * size_of(type);
	return ask(c, stream, {AllGather, type, 0, 0, n}, in, bytes, out, c ? bytes * size_t(c->size) : 0);
}

EXPORT int ncclSend(const void *in, size_t n, int type, int peer, Comm *c, void *stream)
{
	return ask(c, stream, {Send, type, 0, peer, n}, in, n * size_of(type), nullptr, 0);
}

EXPORT int ncclRecv(void *out, size_t n, int type, int peer, Comm *c, void *stream)
{
	return ask(c, stream, {Receive, type, 0, peer, n}, nullptr, 0, out, n * size_of(type));
}

EXPORT int ncclGroupStart()
{
	depth++;
	return Ok;
}

EXPORT int ncclGroupEnd()
{
	if (depth == 0)
		return refuse(InvalidUsage, "a group ends that did not begin");
	return --depth > 0 ? int(Ok) : flush();
}

static int split(Comm *c, int color, int key, Comm **out)
{
	struct Card {
		int color, key;
	};
	bool here = c->my_turn(c->ticket());
	uint64_t parity = c->step % 2;
	Card mine = {color, key};
	memcpy(c->slot(c->rank, parity), &mine, sizeof mine);
	if (!here || !c->meet({Split, 0, 0, 0, 0}))
		return refuse(RemoteError, "the ranks did not all split");
	int size = 0, rank = 0;
	for (int r = 0; r < c->size; r++) {
		Card card;
		memcpy(&card, c->slot(r, parity), sizeof card);
		if (card.color != color)
			continue;
		size++;
		if (card.key < key || (card.key == key && r < c->rank))
			rank++;
	}
	// No rank may write the slots again before all have read them, so the next meeting
	// uses the others.
	c->next();
	std::string name = c->name + "." + std::to_string(c->splits++) + "." + std::to_string(color);
	if (color < 0)
		return Ok;
	Comm *part = new Comm;
	part->name = name, part->size = size, part->rank = rank, part->card = c->card, part->nonblocking = c->nonblocking;
	int result = part->join();
	if (result == Ok)
		*out = part;
	return result;
}

// A split of a communicator made without waiting is said to be Ok at once, as NCCL 2.28 does. Whether it
// is done the communicator alone tells, and what it makes is written then.
EXPORT int ncclCommSplit(Comm *c, int color, int key, Comm **out, void *)
{
	if (color < -1)
		return refuse(InvalidArgument, "a negative color");
	*out = nullptr;
	if (!c->nonblocking)
		return split(c, color, key, out);
	c->starting = true; // until the part is there
	aside([=] {
		int result = split(c, color, key, out);
		if (result != Ok)
			c->error = result;
		c->starting = false;
	});
	return Ok;
}

} // namespace gpuemu_nccl
