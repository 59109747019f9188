package gpu

import (
	"os"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

func TestMain(m *testing.M) {
	os.Exit(gputest.Main(m))
}
