//go:build linux || darwin

package machine

import "syscall"

// FreeDisk is the space on the file system of a folder that an ordinary user may still write, in
// bytes; 0 if it is not known.
func FreeDisk(folder string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return 0
	}
	return max(1, int64(s.Bavail)*int64(s.Bsize))
}
