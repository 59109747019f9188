package machine

import (
	"fmt"
	"os"
)

// FilePlace names a file by where it lies rather than by its path: two processes with
// the same answer see the same file. On a file system of one machine that is machine,
// device and inode; on one that machines share, such as NFS or Lustre, its kind and the
// inode, with size and times, since devices are numbered by each machine for itself.
func FilePlace(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %d bytes, changed %d", whereIs(path, info), info.Size(), info.ModTime().UnixNano()), nil
}

// host names this machine, one run of its system apart from the next where it can.
func host() string {
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		return string(id[:max(0, len(id)-1)])
	}
	name, _ := os.Hostname() // "": all are taken to be on one machine
	return name
}
