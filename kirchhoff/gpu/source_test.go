package gpu

import (
	"fmt"
	"os"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/driver/drivertest"
	"github.com/kirchhoff-lsm/lsm/internal/gpuemu"
)

func TestMain(m *testing.M) {
	drivertest.ServeCompile()
	os.Exit(gpuemu.Main(m))
}

// The compilers of real cards take the kernels, and no register spills.
func TestRealCompilers(t *testing.T) {
	for _, src := range Sources() {
		t.Run(fmt.Sprint(src.Name, src.Defines), func(t *testing.T) { drivertest.Compile(t, src) })
	}
}
