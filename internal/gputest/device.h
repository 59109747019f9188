// The header of a kernel that the emulator's compiler makes a shared library:
// CUDA's words, and the machinery that runs one block.
//
// A block runs on one thread of the host. Each of its threads is a fibre: it
// runs until it ends or waits at a barrier, then the next one goes on. A fibre
// that ends hands its stack on, so a kernel without barriers runs all threads
// on one stack. Memory races and the order of memory cannot be seen this way.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#define GPUEMU_EXPORT extern "C" __attribute__((visibility("default")))

namespace gpuemu {

struct Dim {
	unsigned x, y, z;
};

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t stack_bytes = 512 << 10;
#else
constexpr size_t stack_bytes = 128 << 10;
#endif

// A barrier opens when the last of those it waits for has come.
struct Barrier {
	unsigned arrived = 0, turn = 0;
};

struct Fibre {
	void *stack = nullptr;
#if defined(__x86_64__)
	void *pointer = nullptr; // the saved stack pointer
#else
	ucontext_t context;
#endif
	Dim thread = {0, 0, 0};
	bool started = false, ended = false;
};

struct Block {
	Dim grid, block, index;
	unsigned threads, alive;
	void (*entry)(void **);
	void **params;
	unsigned char *shared;
	Barrier barrier;
	std::vector<Fibre> fibres;
	Fibre scheduler;
	bool moved; // somebody ended or a barrier opened since the scheduler asked
};

// Variables of the host thread that runs a block.
inline thread_local Block *block = nullptr;
inline thread_local Fibre *self = nullptr;

#if defined(__x86_64__)
// gpuemu_switch saves the registers that a function must keep on the stack, the
// stack pointer in *from, and goes on where to was saved.
__asm__(".text\n.type gpuemu_switch,@function\ngpuemu_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
        ".size gpuemu_switch,.-gpuemu_switch\n");
extern "C" void gpuemu_switch(void **from, void *to) __attribute__((visibility("hidden")));

inline void change(Fibre &from, Fibre &to) { gpuemu_switch(&from.pointer, to.pointer); }
#else
inline void change(Fibre &from, Fibre &to) { swapcontext(&from.context, &to.context); }
#endif

// yield lets the others go on.
inline void yield() { change(*self, block->scheduler); }

inline void fibre_main()
{
	block->entry(block->params);
	self->ended = true;
	block->alive--;
	block->moved = true;
	for (;;)
		yield();
}

// prepare makes a fibre that begins in fibre_main.
inline void prepare(Fibre &f)
{
#if defined(__x86_64__)
	void **top = reinterpret_cast<void **>(static_cast<char *>(f.stack) + stack_bytes) - 3;
	*top = nullptr;                                    // where fibre_main would return to: 8 off 16, as after a call
	*--top = reinterpret_cast<void *>(&fibre_main);    // where the first switch returns to
	f.pointer = top - 6;                               // six registers of no meaning
#else
	getcontext(&f.context);
	f.context.uc_stack.ss_sp = f.stack;
	f.context.uc_stack.ss_size = stack_bytes;
	f.context.uc_link = nullptr;
	makecontext(&f.context, &fibre_main, 0);
#endif
}

// The emulator keeps stacks, for the kernels of all modules.
inline void *(*take_stack)(size_t bytes);
inline void (*give_stack)(void *stack, size_t bytes);

// resume runs a fibre until it ends or waits.
inline bool resume(Fibre &f)
{
	if (!f.started) {
		if (!(f.stack = take_stack(stack_bytes)))
			return false;
		f.started = true;
		prepare(f);
	}
	self = &f;
	change(block->scheduler, f);
	if (f.ended) {
		give_stack(f.stack, stack_bytes);
		f.stack = nullptr;
	}
	return true;
}

// run is one block from its first thread to its last; it returns what went
// wrong, or nullptr.
inline const char *run(Block &b)
{
	for (unsigned i = 0; i < b.threads; i++)
		b.fibres[i].thread = {i % b.block.x, i / b.block.x % b.block.y, i / b.block.x / b.block.y};
	block = &b;
	const char *wrong = nullptr;
	while (b.alive > 0 && !wrong) {
		b.moved = false;
		for (Fibre &f : b.fibres)
			if (!f.ended && !resume(f))
				wrong = "no memory for the stacks of its threads";
		if (!b.moved && !wrong)
			wrong = "threads wait at a barrier that others of their block do not reach";
	}
	for (Fibre &f : b.fibres)
		if (f.stack)
			give_stack(f.stack, stack_bytes);
	block = nullptr;
	return wrong;
}

// wait passes a barrier for the given number of threads.
inline void wait(Barrier &b, unsigned expected)
{
	unsigned turn = b.turn;
	if (++b.arrived == expected) {
		b.arrived = 0;
		b.turn++;
		block->moved = true;
		return;
	}
	while (b.turn == turn)
		yield();
}

// The parameters of a kernel: their sizes, and a call with them.
template <class... A> inline int sizes(void (*)(A...), size_t *to)
{
	size_t all[] = {sizeof(A)..., 0};
	if (to)
		memcpy(to, all, sizeof...(A) * sizeof(size_t));
	return int(sizeof...(A));
}

template <class... A, size_t... I>
inline void call(void (*f)(A...), void **params, std::index_sequence<I...>)
{
	f(*static_cast<std::remove_reference_t<A> *>(params[I])...);
}

template <class... A> inline void call(void (*f)(A...), void **params)
{
	call(f, params, std::index_sequence_for<A...>{});
}

} // namespace gpuemu

// The compiler adds one of these for each kernel.
#define GPUEMU_KERNEL(name)                                                                    \
	GPUEMU_EXPORT void gpuemu_call_##name(void **params) { gpuemu::call(name, params); }       \
	GPUEMU_EXPORT int gpuemu_sizes_##name(size_t *to) { return gpuemu::sizes(name, to); }

// gpuemu_stacks says where stacks come from.
GPUEMU_EXPORT void gpuemu_stacks(void *(*take)(size_t), void (*give)(void *, size_t))
{
	gpuemu::take_stack = take;
	gpuemu::give_stack = give;
}

GPUEMU_EXPORT const char *gpuemu_run(void (*entry)(void **), gpuemu::Dim grid, gpuemu::Dim block,
                                     gpuemu::Dim index, unsigned shared, void **params)
{
	gpuemu::Block b;
	b.grid = grid, b.block = block, b.index = index, b.entry = entry, b.params = params;
	b.threads = b.alive = block.x * block.y * block.z;
	b.fibres.resize(b.threads);
	// Exactly the requested length, and full of NaN.
	b.shared = static_cast<unsigned char *>(::operator new(shared, std::align_val_t(256)));
	memset(b.shared, 0xFF, shared);
	const char *wrong = gpuemu::run(b);
	::operator delete(b.shared, std::align_val_t(256));
	return wrong;
}

#include "words.h"
