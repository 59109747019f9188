package gpu

import (
	_ "embed"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/driver"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

//go:embed kernels.cu
var text string

// source is the program for one kind of tables.
func source(m simd.Mode) driver.Source {
	compact := 0
	if m&simd.Compact != 0 {
		compact = 1
	}
	return driver.Source{Name: "kernels.cu", Text: text,
		Defines: []string{fmt.Sprintf("WEIGHTS=%d", m.Weights()), fmt.Sprintf("COMPACT=%d", compact)}}
}
