package machine

import "C" // for address_linux.c, which looks at the limit before Go starts

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// addressLimit is the limit on the address space of this process in bytes.
func addressLimit() uint64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &r) != nil {
		return unix.RLIM_INFINITY
	}
	return r.Cur
}

// affinity lists the processors that this process may run on, at most as many as
// GOMAXPROCS allows.
func affinity() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return unbound()
	}
	var list []int
	for c := 0; len(list) < set.Count(); c++ {
		if set.IsSet(c) {
			list = append(list, c)
		}
	}
	return list[:max(1, min(len(list), runtime.GOMAXPROCS(0)))]
}

// shared are the numbers of file systems that several machines see (statfs(2), and
// Lustre's, GPFS', BeeGFS' and WekaFS' own).
var shared = map[uint32]string{
	0x6969: "nfs", 0x0BD00BD0: "lustre", 0x47504653: "gpfs", 0x19830326: "beegfs",
	0x00C36400: "ceph", 0xFF534D42: "cifs", 0xFE534D42: "smb2", 0x517B: "smb",
	0x5346414F: "afs", 0x01161970: "gfs2", 0x7461636F: "ocfs2", 0x20030528: "orangefs",
	0xAAD7AAEA: "panfs", 0x01021997: "9p", 0x65735546: "fuse", 0x18031977: "weka",
}

func whereIs(path string, info os.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return host() + " " + path
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err == nil {
		if kind := shared[uint32(fs.Type)]; kind != "" {
			return fmt.Sprintf("%s inode %d, its inode changed %d.%09d", kind, stat.Ino, stat.Ctim.Sec, stat.Ctim.Nsec)
		}
	}
	return fmt.Sprintf("%s device %d inode %d", host(), stat.Dev, stat.Ino)
}
