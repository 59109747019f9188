package gpu

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/gputest/ptxtest"
)

// The same tests pass on what real compilers make of the kernels, run statement by statement.
func TestOnPTX(t *testing.T) {
	ptxtest.OnPTX(t, "^Test(CUDA|AsOnTheHost|DerivativesAsOnTheHost|CrossingsAreCounted|ManyGoroutines)$")
}
