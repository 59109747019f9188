package machine

import (
	"fmt"
	"os"
)

// FilePlace names a file by its location rather than by its path: two processes with the
// same answer see the same file. A file of one machine is named by machine, device and
// inode. A file on a shared file system, such as NFS or Lustre, is named by the kind of
// the file system and the inode, because each machine numbers devices for itself. Size
// and time of the last change follow.
func FilePlace(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %d bytes, changed %d", whereIs(path, info), info.Size(), info.ModTime().UnixNano()), nil
}

// host names this machine. If the system tells, the name changes when it is restarted.
func host() string {
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		return string(id[:max(0, len(id)-1)])
	}
	name, _ := os.Hostname() // "": all are taken to be on one machine
	return name
}
