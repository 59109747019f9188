package gpu

import (
	_ "embed"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

var (
	//go:embed times.cu
	timesText string
	//go:embed adjoint.cu
	adjointText string
	//go:embed forward.cu
	forwardText string
	//go:embed ends.cu
	endsText string
)

// modes are all kinds of tables.
var modes = []simd.Mode{simd.Static, simd.Plane, simd.Space,
	simd.Static + simd.Compact, simd.Plane + simd.Compact, simd.Space + simd.Compact}

// source is the program for one kind of tables: three files one after the other.
func source(m simd.Mode) driver.Source {
	text := ""
	for _, part := range []struct{ name, text string }{{"times.cu", timesText}, {"adjoint.cu", adjointText}, {"forward.cu", forwardText}} {
		text += fmt.Sprintf("#line 1 %q\n%s", part.name, part.text)
	}
	compact := 0
	if m&simd.Compact != 0 {
		compact = 1
	}
	src := driver.Source{Name: "kirchhoff.cu", Text: text,
		Defines: []string{fmt.Sprintf("WEIGHTS=%d", m.Weights()), fmt.Sprintf("COMPACT=%d", compact)}}
	if m.Weights() == simd.Static {
		src.Native = 90 // NVRTC 12.9 spills 64 registers of the adjoint on sm_100 and sm_120
	}
	return src
}

// endsSource is the program for all kinds.
func endsSource() driver.Source { return driver.Source{Name: "ends.cu", Text: endsText} }

// Sources are all programs of this package.
func Sources() []driver.Source {
	all := []driver.Source{endsSource()}
	for _, m := range modes {
		all = append(all, source(m))
	}
	return all
}
