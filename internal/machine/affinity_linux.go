package machine

import (
	"runtime"

	"golang.org/x/sys/unix"
)

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
