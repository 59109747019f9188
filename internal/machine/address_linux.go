package machine

import "C" // for address_linux.c, which looks at the limit before Go starts

import "golang.org/x/sys/unix"

// addressLimit is the limit on the address space of this process in bytes.
func addressLimit() uint64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &r) != nil {
		return unix.RLIM_INFINITY
	}
	return r.Cur
}
