// Package counts makes counts of measures. A length over a spacing, or a time over an interval, may be NaN,
// infinite, or more than an int holds. Go's conversion turns all of these into any int. So every
// measure that a user or a file gives becomes a count here, and the memory of a count is compared with the
// memory that is available before it is allocated.
package counts

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Most is a count that nothing exceeds: arrays have fewer elements.
const Most = math.MaxInt32

// Of is the whole number x as a count from 0 to most. what names it in the error, such as "--length makes samples".
func Of(what string, x float64, most int) (int, error) {
	x = math.Round(x)
	if !(x >= 0 && x <= float64(most)) {
		return 0, fmt.Errorf("%s: %.4g, must be from 0 to %d", what, x, most)
	}
	return int(x), nil
}

// Near is the whole number next to x, or the limit beyond which x lies: for places and reaches, which end
// with what they lie in. No number counts as least.
func Near(x float64, least, most int) int {
	switch x = math.Round(x); {
	case !(x > float64(least)):
		return least
	case x >= float64(most):
		return most
	}
	return int(x)
}

// little is an amount that any process can have. Libraries reserve address space that they do not use, so the
// room left below a limit is not known exactly.
const little = 64 << 20

// Fit refuses what takes more memory, in bytes, than this process can have now.
func Fit(what string, bytes float64) error {
	room := machine.Room()
	if bytes <= little || room == 0 || bytes <= float64(room-little) {
		return nil
	}
	return status.Resource(fmt.Errorf("%s: takes %.4g GiB of memory, %s can be had", what, bytes/(1<<30), readable.Bytes(room)))
}
