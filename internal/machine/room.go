package machine

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

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

// Usable is how much of an address space that is left may be planned with: garbage, and
// pieces too small for what is asked for, take the rest.
func Usable(address int64) int64 { return address / 4 * 3 }

// addressLeft is what a limit on the address space leaves to this process, as proc
// tells its size; at least 1, and 0 where there is no limit.
func addressLeft(proc string, limit uint64) int64 {
	if limit >= math.MaxInt64 {
		return 0
	}
	text, _ := os.ReadFile(filepath.Join(proc, "self", "statm")) // not there: nothing taken yet
	size := int64(0)
	if f := strings.Fields(string(text)); len(f) > 0 {
		pages, _ := strconv.ParseInt(f[0], 10, 64) // no number: likewise
		size = pages * int64(os.Getpagesize())
	}
	return max(1, int64(limit)-size)
}
