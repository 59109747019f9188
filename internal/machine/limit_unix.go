//go:build linux || darwin

package machine

import (
	"math"
	"syscall"
)

// processLimits are the limits that this process is under.
func processLimits() limits {
	read := func(which int) int64 {
		var l syscall.Rlimit
		if syscall.Getrlimit(which, &l) != nil || l.Cur >= math.MaxInt64/2 {
			return 0
		}
		return int64(l.Cur)
	}
	return limits{space: read(syscall.RLIMIT_AS), data: read(syscall.RLIMIT_DATA)}
}

// FreeDisk is what an ordinary user may still write to the file system of a folder,
// in bytes; 0 where it is not known.
func FreeDisk(folder string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return 0
	}
	return max(1, int64(s.Bavail)*int64(s.Bsize))
}
