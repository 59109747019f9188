package gpu

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

// The same tests pass on what real compilers make of the kernels, run statement by statement.
func TestOnPTX(t *testing.T) {
	gputest.OnPTX(t, "^Test(CUDA|AsOnTheHost|DerivativesAsOnTheHost|CrossingsAreCounted|ManyGoroutines)$", func() (string, error) {
		k, err := driver.OpenCompiler(driver.CUDA)
		if err != nil {
			return "", err
		}
		return k.Library, nil
	})
}
