//go:build linux || darwin

package machine

import "syscall"

// FreeDisk is what an ordinary user may still write to the file system of a folder,
// in bytes; 0 where it is not known.
func FreeDisk(folder string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return 0
	}
	return max(1, int64(s.Bavail)*int64(s.Bsize))
}
