package recorded

import (
	"fmt"
	"os"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// frameFile is the file that --frame names, "" where it gives numbers or nothing.
func frameFile(text string) string {
	if text == "" {
		return ""
	}
	if _, err := os.Stat(text); err == nil {
		return text
	}
	if _, err := grid.ParseFrame(text); err == nil {
		return ""
	}
	return text
}

// frameOf is the frame that --frame gives, nil for none: EAST,NORTH,AZIMUTH[,left], or that of a
// file of lsm.
func frameOf(text string) (*grid.Frame, error) {
	file := frameFile(text)
	switch {
	case text == "":
		return nil, nil
	case file == "":
		return grid.ParseFrame(text)
	}
	if _, err := os.Stat(file); err != nil {
		_, fault := grid.ParseFrame(text)
		return nil, status.Usage(fmt.Errorf("import: --frame: %w, or the name of a file", fault))
	}
	f, err := h5.ReadFrame(file)
	if err == nil && f == nil {
		err = status.Input(fmt.Errorf("%s: has no frame: its x is east and its y is north", file))
	}
	return f, err
}
