package h5

import (
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/velocity"
)

// Spellings of the units that datasets are read in.
var (
	metres  = []string{"m", "meter", "meters", "metre", "metres"}
	seconds = []string{"s", "sec", "second", "seconds"}
)

// wantUnits refuses a dataset with an attribute units in none of the spellings; the
// message names the first of them.
func wantUnits(d *Dataset, spellings []string) error {
	text, err := units(d)
	if err != nil || text == "" || slices.Contains(spellings, strings.ToLower(text)) {
		return err
	}
	return inputError(d.path, d.name+"@units", "is %q, want %q: the numbers are taken for %[2]s", text, spellings[0])
}

// units is a dataset's attribute of that name, "" where it has none.
func units(d *Dataset) (string, error) {
	if !d.Attrs().Has("units") {
		return "", nil
	}
	text, err := d.Attrs().Text("units")
	return strings.TrimSpace(text), err
}

// speedUnit is the unit of velocities: that of the attribute units, or else the one
// wanted, which "" leaves to the file. Two that differ are an error.
func speedUnit(d *Dataset, want string) (string, error) {
	text, err := units(d)
	if err != nil || text == "" {
		return want, err
	}
	has := velocity.Unit(text)
	switch {
	case has == "" && want == "":
		return "", inputError(d.path, d.name+"@units", "is %q, want m/s, km/s or ft/s", text)
	case has != "" && want != "" && has != want:
		return "", inputError(d.path, d.name+"@units", "is %q, but %s is asked for: one of the two is wrong", text, want)
	case has != "":
		return has, nil
	}
	return want, nil
}
