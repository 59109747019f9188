package gpu

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/gputest/ptxtest"
)

// What real compilers make of the kernels passes the same tests, and does nothing that a
// card might punish: no race, no access beyond memory, no use of a copy before its time.
func TestOnPTX(t *testing.T) {
	ptxtest.OnPTX(t, "^Test(TablesMade|Conformance|Exact|Same|Bounds|Windows|Diagonal|Images|HalfWithGaps)$")
}
