package bench

import (
	"os"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/driver/drivertest"
)

func TestMain(m *testing.M) {
	drivertest.ServeCompile()
	os.Exit(m.Run())
}

// The compilers of real cards take the kernels, and no register spills.
func TestRealCompilers(t *testing.T) { drivertest.Compile(t, LimitsSource()) }
