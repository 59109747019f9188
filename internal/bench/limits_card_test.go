package bench

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/driver/drivertest"
)

// The compilers of real cards take the kernels, and no register spills.
func TestRealCompilers(t *testing.T) { drivertest.Compile(t, LimitsSource()) }
