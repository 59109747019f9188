package gpu

import (
	"fmt"
	"os"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/driver/drivertest"
	"github.com/kirchhoff-lsm/lsm/internal/gpuemu"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

func TestMain(m *testing.M) {
	drivertest.ServeCompile()
	os.Exit(gpuemu.Main(m))
}

// modes are all kinds of tables.
func modes() []simd.Mode {
	return []simd.Mode{simd.Static, simd.Plane, simd.Space,
		simd.Static + simd.Compact, simd.Plane + simd.Compact, simd.Space + simd.Compact}
}

// The compilers of real cards take the kernels, and no register spills.
func TestRealCompilers(t *testing.T) {
	for _, m := range modes() {
		if m&simd.Compact != 0 && testing.Short() {
			continue
		}
		t.Run(fmt.Sprint(m), func(t *testing.T) {
			src, err := source(m)
			must(t, err)
			drivertest.Compile(t, src)
		})
	}
}
