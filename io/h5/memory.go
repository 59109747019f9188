package h5

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/machine"
)

// maxBytes is more than any file system holds in one file.
const maxBytes = math.MaxInt64 / 2

// room is the memory in bytes that can still be had, maxBytes where that is not known.
func room() int {
	if n := machine.Room(); n > 0 {
		return int(n)
	}
	return maxBytes
}

// checkMemory refuses an allocation of n elements that this machine cannot hold now,
// before the attempt takes the process down.
func checkMemory(path, object string, n, size int) error {
	if have := room(); n > have/size {
		return resourceError(path, object, fmt.Errorf("needs %.3g GiB of memory for %d elements, %.3g GiB can be had",
			float64(n)*float64(size)/(1<<30), n, float64(have)/(1<<30)))
	}
	return nil
}
