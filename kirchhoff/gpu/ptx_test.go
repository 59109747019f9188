package gpu

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

// What real compilers make of the kernels passes the same tests, and does nothing that a
// card might punish: no race, no access beyond memory, no use of a copy before its time.
func TestOnPTX(t *testing.T) {
	gputest.OnPTX(t, "^Test(TablesMade|Conformance|Exact|Solve|Same|Bounds|Windows|Diagonal|Images)$", func() (string, error) {
		k, err := driver.OpenCompiler(driver.CUDA)
		if err != nil {
			return "", err
		}
		return k.Library, nil
	})
}
