package h5

import "golang.org/x/sys/unix"

// limitCPU makes the system kill a process after the given seconds of computing.
func limitCPU(pid int, seconds uint64) {
	// A process that has ended already needs no limit.
	_ = unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds}, nil)
}

// limitData limits the memory that this process can write to, and returns what puts the
// limit back.
func limitData(bytes uint64) (restore func()) {
	var before unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_DATA, &before) != nil || bytes >= before.Cur {
		return func() {}
	}
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: before.Max}) // on failure there is no limit
	return func() { _ = unix.Setrlimit(unix.RLIMIT_DATA, &before) }
}
