// A damaged file can make libhdf5 read outside its memory. That cannot be undone, but it can be
// reported: the program ends with a message and a status instead of a dump of Go's run-time system.

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "shim.h"

enum { inputStatus = 3 }; // status.BadInput

static struct sigaction before[NSIG];
extern char __executable_start, etext; // where this program's own code begins and ends

static char text[1 << 13];
static size_t length;
static int channel = 2;

// Sets the message about a crash and the file descriptor to write it to. It needs the library's
// lock.
void lsm_h5_crash_text(int fd, const char *s, size_t n) {
	length = 0;
	channel = fd;
	memcpy(text, s, n < sizeof text ? n : sizeof text);
	length = n < sizeof text ? n : sizeof text;
}

static uintptr_t place(void *context) {
#if defined(__x86_64__)
	return ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return ((ucontext_t *)context)->uc_mcontext.pc;
#else
	(void)context;
	return 0;
#endif
}

static void crashed(int number, siginfo_t *info, void *context) {
	uintptr_t at = place(context);
	if (lsm_h5_inside() && length > 0 && (at < (uintptr_t)&__executable_start || at >= (uintptr_t)&etext)) {
		if (write(channel, text, length) < 0) {
			// no reader
		}
		_exit(inputStatus);
	}
	if (before[number].sa_flags & SA_SIGINFO)
		before[number].sa_sigaction(number, info, context);
	else if (before[number].sa_handler != SIG_DFL && before[number].sa_handler != SIG_IGN)
		before[number].sa_handler(number);
	else
		sigaction(number, &before[number], NULL); // and so once more
}

static void install(void) {
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
	struct sigaction a;
	size_t i;
	memset(&a, 0, sizeof a);
	a.sa_sigaction = crashed;
	a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART; // as Go asks for
	sigfillset(&a.sa_mask);
	for (i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &a, &before[signals[i]]);
}

void lsm_h5_catch(void) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, install);
}
