package gpu

import (
	"embed"
	"fmt"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/driver"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

//go:embed *.cu
var files embed.FS

// source is the program for one kind of tables: the files one after the other.
func source(m simd.Mode) (driver.Source, error) {
	var text strings.Builder
	for _, name := range []string{"times.cu", "adjoint.cu", "forward.cu", "ends.cu"} {
		part, err := files.ReadFile(name)
		if err != nil {
			return driver.Source{}, err
		}
		fmt.Fprintf(&text, "#line 1 %q\n%s", name, part)
	}
	compact := 0
	if m&simd.Compact != 0 {
		compact = 1
	}
	return driver.Source{Name: "kirchhoff.cu", Text: text.String(),
		Defines: []string{fmt.Sprintf("WEIGHTS=%d", m.Weights()), fmt.Sprintf("COMPACT=%d", compact)}}, nil
}
