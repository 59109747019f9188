package gpu

import (
	"os"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/gpuemu"
)

func TestMain(m *testing.M) {
	os.Exit(gpuemu.Main(m))
}
