package gpu

import (
	_ "embed"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device/driver"
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

// source is the program for one kind of tables, with the given number of values per
// point. It joins three files.
func source(fields int, compact bool) driver.Source {
	text := ""
	for _, part := range []struct{ name, text string }{{"times.cu", timesText}, {"adjoint.cu", adjointText}, {"forward.cu", forwardText}} {
		text += fmt.Sprintf("#line 1 %q\n%s", part.name, part.text)
	}
	flag := 0
	if compact {
		flag = 1
	}
	src := driver.Source{Name: "kirchhoff.cu", Text: text,
		Defines: []string{fmt.Sprintf("WEIGHTS=%d", fields/2), fmt.Sprintf("COMPACT=%d", flag)}}
	if fields == 1 {
		src.Native = 90 // NVRTC 12.9 spills 64 registers of the adjoint on sm_100 and sm_120
	}
	return src
}

// endsSource is the program for all kinds.
func endsSource() driver.Source { return driver.Source{Name: "ends.cu", Text: endsText} }

// Sources are all programs of this package.
func Sources() []driver.Source {
	all := []driver.Source{endsSource()}
	for _, compact := range []bool{false, true} {
		for _, fields := range []int{1, 3, 5} {
			all = append(all, source(fields, compact))
		}
	}
	return all
}
