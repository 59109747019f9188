//go:build ignore

// How the ranks of an emulated communicator meet: in shared memory, with one
// futex that is rung at every change.
#include "nccl.h"

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int cuCtxGetDevice(int *card);

namespace gpuemu_nccl {

void Comm::ring()
{
	shared->bell++;
	syscall(SYS_futex, &shared->bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool Comm::wait(uint32_t seen)
{
	if (aborted)
		return false;
	const struct timespec soon = {0, 20 * 1000 * 1000};
	if (syscall(SYS_futex, &shared->bell, FUTEX_WAIT, seen, &soon, nullptr, 0) != 0 && errno == ETIMEDOUT)
		look_after_others();
	return !aborted;
}

static bool gone(int pid)
{
	if (pid == 0)
		return false;
	char path[64], text[512] = "";
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	FILE *f = fopen(path, "r");
	if (!f)
		return true;
	size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	const char *name_end = strrchr(text, ')');
	return name_end && name_end[1] && (name_end[2] == 'Z' || name_end[2] == 'X');
}

// A rank that is gone is an asynchronous error of those that wait for it; they
// go on waiting until they are aborted.
void Comm::look_after_others()
{
	const bool silent = getenv("GPUEMU_NCCL_SILENT") != nullptr; // cards tell each other nothing
	for (int r = 0; r < size; r++) {
		Member &m = shared->member[r];
		if (r != rank && ((m.dead && !silent) || gone(m.pid)))
			return fails(RemoteError, "rank " + std::to_string(r) + " is gone");
	}
}

void Comm::fails(int result, const std::string &why)
{
	int none = Ok;
	if (error.compare_exchange_strong(none, result))
		refuse(result, why);
}

uint64_t Comm::ticket()
{
	std::lock_guard<std::mutex> hold(lock);
	return asked++;
}

bool Comm::my_turn(uint64_t ticket)
{
	std::unique_lock<std::mutex> hold(lock);
	change.wait(hold, [&] { return served == ticket || aborted; });
	return !aborted;
}

void Comm::next()
{
	std::lock_guard<std::mutex> hold(lock);
	served++;
	change.notify_all();
}

static bool same(const Call &a, const Call &b)
{
	return a.kind == b.kind && a.type == b.type && a.op == b.op && a.root == b.root && a.count == b.count;
}

bool Comm::meet(const Call &c)
{
	uint64_t parity = step % 2;
	shared->member[rank].call[parity] = c;
	shared->member[rank].step = ++step;
	ring();
	for (int r = 0; r < size; r++) {
		Member &m = shared->member[r];
		for (;;) {
			uint32_t seen = shared->bell;
			if (m.step >= step)
				break;
			if (!wait(seen))
				return false;
		}
		if (!same(m.call[parity], c)) {
			// The real library hangs, or worse.
			fails(InternalError, "ranks " + std::to_string(rank) + " and " + std::to_string(r) + " make different calls");
			fprintf(stderr, "gpuemu: ranks %d and %d of a communicator make different calls\n", rank, r);
			for (uint32_t seen = shared->bell; wait(seen); seen = shared->bell)
				;
			return false;
		}
	}
	return !aborted;
}

void aside(std::function<void()> f)
{
	std::thread([f] {
		sigset_t all; // Go wants signals on its own threads
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, nullptr);
		f();
	}).detach();
}

int begin(Comm **out, const std::string &name, int size, int rank)
{
	if (size < 1 || size > most_ranks || rank < 0 || rank >= size)
		return refuse(InvalidArgument, "no such rank");
	int card;
	if (cuCtxGetDevice(&card) != 0)
		return refuse(UnhandledCuda, "no context is current");
	Comm *c = new Comm;
	c->name = name, c->size = size, c->rank = rank, c->card = card;
	*out = c;
	return Ok;
}

int Comm::join()
{
	int result;
	std::string what = planned(0, &result);
	if (what == "hang") {
		std::unique_lock<std::mutex> hold(lock);
		change.wait(hold, [&] { return aborted.load(); });
	}
	if (what == "error")
		return refuse(result, "an error was asked for");
	if (aborted)
		return refuse(InvalidUsage, "the communicator was aborted");
	mapped = sizeof(Shared) + size_t(size) * 2 * slot_bytes + size_t(size) * size * sizeof(Mail);
	int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
	void *p = MAP_FAILED;
	if (file >= 0 && ftruncate(file, off_t(mapped)) == 0)
		p = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (file >= 0)
		close(file);
	if (p == MAP_FAILED)
		return refuse(SystemError, "no shared memory");
	{
		std::lock_guard<std::mutex> hold(lock); // an abort looks at it
		shared = static_cast<Shared *>(p);
	}
	result = meet_first();
	if (rank == 0)
		shm_unlink(name.c_str());
	return result;
}

// meet_first waits until all ranks have joined.
int Comm::meet_first()
{
	Member &me = shared->member[rank];
	me.card = card;
	me.pid = getpid();
	shared->joined++;
	ring();
	for (;;) {
		uint32_t seen = shared->bell;
		if (shared->joined >= size)
			break;
		if (!wait(seen))
			return refuse(InvalidUsage, "the communicator was aborted");
	}
	const char *share = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
	bool may_share = version() >= 23000 && share && strcmp(share, "1") == 0;
	for (int r = 0; r < size && !may_share; r++)
		if (r != rank && shared->member[r].card == card)
			return refuse(InvalidUsage, "Duplicate GPU detected : rank " + std::to_string(rank) + " and rank " +
			                                std::to_string(r) + " both on the same device");
	return Ok;
}

std::string Comm::planned(int call, int *result)
{
	const char *s = getenv("GPUEMU_NCCL_FAULT");
	char what[16];
	int r, at;
	*result = SystemError;
	if (!s || sscanf(s, "%15[^:]:%d:%d:%d", what, &r, &at, result) < 3 || (r != rank && r != -1) || at != call)
		return "";
	return what;
}

// fault makes this call's planned fault. If it returns true, the call must not be done.
bool Comm::fault()
{
	int result;
	std::string what = planned(++calls, &result);
	if (what == "kill")
		kill(getpid(), SIGKILL);
	if (what == "die")
		shared->member[rank].dead = 1;
	if (what == "error")
		fails(result, "an error was asked for");
	return !what.empty();
}

// stay waits until the communicator is aborted.
void Comm::stay()
{
	ring();
	while (wait(shared->bell))
		;
}

void Comm::run(std::vector<Op> ops)
{
	std::vector<Op> post;
	for (Op &op : ops) {
		if (op.call.kind == Send || op.call.kind == Receive) {
			post.push_back(op);
			continue;
		}
		if (fault())
			return stay();
		collective(op);
	}
	if (post.empty())
		return;
	if (fault())
		return stay();
	messages(std::move(post));
}

// collective lets the operands travel through the ranks' slots, piece by piece;
// whoever wants a sum adds in the order of ranks.
void Comm::collective(const Op &op)
{
	const Call &c = op.call;
	size_t element = size_of(c.type), most = slot_bytes / element;
	for (uint64_t at = 0; at < c.count; at += most) {
		size_t n = size_t(std::min<uint64_t>(most, c.count - at)), bytes = n * element;
		uint64_t parity = step % 2;
		if (c.kind != Broadcast || c.root == rank)
			memcpy(slot(rank, parity), op.in + at * element, bytes);
		if (!meet(c))
			return;
		char *to = op.out + at * element;
		if (c.kind == AllGather) {
			for (int r = 0; r < size; r++)
				memcpy(to + uint64_t(r) * c.count * element, slot(r, parity), bytes);
			continue;
		}
		memcpy(to, slot(c.kind == Broadcast ? c.root : 0, parity), bytes);
		for (int r = 1; c.kind == AllReduce && r < size; r++)
			add(c.type, to, slot(r, parity), n);
	}
}

// messages moves all of a group's on, each whenever its peer allows it.
void Comm::messages(std::vector<Op> ops)
{
	for (;;) {
		uint32_t seen = shared->bell;
		bool left = false, moved = false;
		std::map<std::pair<int, int>, bool> waiting; // messages between two ranks keep their order
		for (Op &op : ops) {
			uint64_t total = op.call.count * size_of(op.call.type);
			bool send = op.call.kind == Send;
			if (op.done == total || waiting[{op.call.kind, op.call.root}])
				continue;
			left = waiting[{op.call.kind, op.call.root}] = true;
			Mail *m = send ? mail(rank, op.call.root) : mail(op.call.root, rank);
			if (send ? m->sent != m->taken : m->sent == m->taken)
				continue;
			if (send) {
				m->total = total;
				m->bytes = std::min<uint64_t>(slot_bytes, total - op.done);
				memcpy(m->data, op.in + op.done, m->bytes);
				op.done += m->bytes;
				m->sent++;
			} else {
				if (m->total != total || m->bytes > total - op.done)
					return fails(InternalError, "a message of a wrong length");
				memcpy(op.out + op.done, m->data, m->bytes);
				op.done += m->bytes;
				m->taken++;
			}
			ring();
			moved = true;
		}
		if (!left || (!moved && !wait(seen)))
			return;
	}
}

} // namespace gpuemu_nccl
