package machine

import (
	"math"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
)

// Memory is the main memory in bytes; 0 stands for what is not known.
type Memory struct {
	Total     int64 // of the machine
	Available int64 // could be had now without swapping
	Limit     int64 // of this process's control group (container, batch job); 0: none
	Address   int64 // left of this process's address space, where that is limited (ulimit -v); 0: it is not
}

// ReadMemory reads the memory from the folder proc, usually "/proc", and the
// control group's limits from the folder cgroup, usually "/sys/fs/cgroup".
func ReadMemory(proc, cgroup string) Memory {
	info := filepath.Join(proc, "meminfo")
	m := Memory{Total: bytesOf(info, "MemTotal"), Available: bytesOf(info, "MemAvailable")}
	m.Limit = groupLimit(proc, cgroup)
	m.Address = addressLeft(proc, addressLimit())
	if m.Total > 0 && m.Limit >= m.Total {
		m.Limit = 0 // no limit in effect
	}
	return m
}

// PeakMemory is the most main memory, in bytes, that this process has had
// resident at any time, memory shared with other processes included; 0 where the
// system does not say.
func PeakMemory() int64 { return bytesOf("/proc/self/status", "VmHWM") }

// bytesOf is a field of one of proc's files that gives sizes in KiB; 0 where it is not
// there.
func bytesOf(path, name string) int64 {
	kib, _ := strconv.ParseInt(strings.TrimSuffix(field(path, name), " kB"), 10, 64) // no number: not known
	return kib << 10
}

// field is the first field of a name in one of proc's files, "" where it is not there.
func field(path, name string) string {
	text, _ := os.ReadFile(path) // not there: not known
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Heap is the memory, in bytes, that Go's run time holds: its heap, stacks and what it
// needs itself.
func Heap() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// groupLimit is the least memory limit of this process's control group and the
// groups around it, version 2 or 1; 0 for none.
func groupLimit(proc, cgroup string) int64 {
	least := int64(0)
	take := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			return
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && n > 0 && (least == 0 || n < least) { // "max" is no number
			least = n
		}
	}
	text, _ := os.ReadFile(filepath.Join(proc, "self", "cgroup"))
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		folder, file := cgroup, "memory.max"
		if parts[1] == "memory" {
			folder, file = filepath.Join(cgroup, "memory"), "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		for group := filepath.Clean("/" + parts[2]); ; group = filepath.Dir(group) {
			take(filepath.Join(folder, group, file))
			if group == "/" {
				break
			}
		}
	}
	return least
}

// Room is the memory, in bytes, that this process can have now: what the machine has
// available, what its control group may take, what is left of its address space
// (ulimit -v). It is 0 where nothing is known.
func Room() int64 {
	m := ReadMemory("/proc", "/sys/fs/cgroup")
	known := slices.DeleteFunc([]int64{m.Available, m.Limit, Usable(m.Address)}, func(n int64) bool { return n == 0 })
	if len(known) == 0 {
		return 0
	}
	return slices.Min(known)
}

// Usable is how much of the address space that is left may be planned with: garbage, and pieces too
// small for an allocation, take the rest.
func Usable(address int64) int64 { return address / 4 * 3 }

// addressLeft is the address space that a limit leaves to this process, whose size proc tells, in
// bytes. It is at least 1, or 0 without a limit.
func addressLeft(proc string, limit uint64) int64 {
	if limit >= math.MaxInt64 {
		return 0
	}
	text, _ := os.ReadFile(filepath.Join(proc, "self", "statm")) // not there: nothing taken yet
	size := int64(0)
	if f := strings.Fields(string(text)); len(f) > 0 {
		pages, _ := strconv.ParseInt(f[0], 10, 64) // no number: nothing taken either
		size = pages * int64(os.Getpagesize())
	}
	return max(1, int64(limit)-size)
}
