package inspect

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// loadField reads a field that lsm target or lsm ava wrote beside an image.
func loadField(file, name string) (*item, error) {
	title, units, ok := h5.FieldTitle(name)
	if !ok {
		return nil, status.Usage(cli.DidYouMean(fmt.Errorf("plot: --field: there is no field %q", name), name, h5.FieldNames(), "", "fields are "+strings.Join(h5.FieldNames(), ", ")))
	}
	r, err := h5.OpenImage(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all, err := h5.ReadFields(file)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(f h5.Field) bool { return f.Name == name })
	if i < 0 {
		return nil, status.Hint(status.Input(fmt.Errorf("%s: has no /%s", file, name)), "lsm target writes it, deviations with --image or --noise; image.halves = true writes agreement, lsm ava --sections gradients")
	}
	bar := title
	if units != "" {
		bar += " (" + units + ")"
	}
	if h5.FieldSigned(name) {
		bar = ""
	}
	return &item{title: filepath.Base(file) + ": " + title, grid: r.Grid(), values: all[i].Data, bar: bar}, nil
}
