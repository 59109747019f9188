package h5

import (
	"fmt"
	"math"
)

// maxBytes is more than any file system holds in one file.
const maxBytes = math.MaxInt64 / 2

// checkMemory refuses an allocation of n elements that this machine cannot
// hold, before the attempt takes the process down.
func checkMemory(path, object string, n, size int) error {
	have := physicalMemory()
	if n > maxBytes/size || have > 0 && uint64(n)*uint64(size) > have {
		return resourceError(path, object, fmt.Errorf("needs %.3g GiB of memory for %d elements, the machine has %.3g GiB",
			float64(n)*float64(size)/(1<<30), n, float64(have)/(1<<30)))
	}
	return nil
}
