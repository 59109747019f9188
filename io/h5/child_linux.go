package h5

import "golang.org/x/sys/unix"

// limitCPU lets the system kill a process that has computed for so many seconds.
func limitCPU(pid int, seconds uint64) {
	// One that has ended already needs no limit.
	_ = unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds}, nil)
}
