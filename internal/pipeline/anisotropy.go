package pipeline

import (
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// ReadAnisotropy reads what a model file holds of anisotropy, at all points.
func ReadAnisotropy(file string) (a traveltime.Anisotropy, err error) {
	r, err := h5.OpenModel(file, "")
	if err != nil {
		return a, FileError(err)
	}
	defer r.Close()
	if err := r.OpenAnisotropy(); err != nil {
		return a, FileError(err)
	}
	for i, values := range a.All() {
		if *values, err = r.ReadProperty(h5.Property(i), 0, r.Grid().Len()); err != nil {
			return a, FileError(err)
		}
	}
	return a, nil
}

// Beside is what stands of a beside the velocity in a model file.
func PropertiesBeside(a traveltime.Anisotropy) (list []h5.Beside) {
	for i, values := range a.All() {
		if *values != nil {
			list = append(list, h5.Beside{Property: h5.Property(i), Values: *values})
		}
	}
	return list
}
