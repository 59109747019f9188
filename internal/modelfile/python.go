package modelfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/kirchhoff-lsm/lsm/internal/bridge"
)

const (
	bySave  = "numpy.save makes a .npy file, which lsm reads itself"
	byUnzip = "unzip FILE makes .npy files, which lsm reads itself"
	by73    = `save("model.mat", "-v7.3") in MATLAB makes a file that lsm reads itself`
)

// libraries are the Python packages that read formats, and another way that works.
var libraries = map[Format]struct{ name, instead string }{
	NPZ: {"numpy", byUnzip}, MAT: {"scipy", by73}, TIFF: {"tifffile", bySave}, VTK: {"vtk", bySave}, Zarr: {"zarr", bySave},
}

// answer is the report of the Python module kirchhoff_lsm.bridge on a file.
type answer struct {
	What   string     // "" where nothing is written, since several arrays may be meant
	Arrays []struct { // of 2 or 3 axes of more than one point
		Name  string
		Shape []int64
	}
	Name    string   // of the one that it wrote; "" where the file has no names
	Unit    string   // of its values
	Order   []string // of its axes by convention, where they have no names
	Axes    []answerAxis
	N, D, O []float64          // lists of points, spacings and origins beside the array
	Fastest bool               // they begin with the fastest axis
	Packing map[string]float64 // attributes of packed values
	Notes   []string
	Guesses []string
}

// answerAxis is an axis of the array: a regular one, or one of coordinates.
type answerAxis struct {
	Name, Unit, Positive string
	Origin, Spacing      float64
	Coordinates          []float64
}

// openPython opens a file of a format that Python reads: as a .npy file of one array, which lies
// in a folder of its own until the source is closed.
func openPython(ctx context.Context, path string, opt Options) (s *Source, err error) {
	folder, err := os.MkdirTemp("", "lsm-import-")
	if err != nil {
		return nil, systemFault(path, err)
	}
	drop := func() error { return os.RemoveAll(folder) }
	defer func() {
		if err != nil {
			err = errors.Join(err, drop())
		}
	}()
	l := libraries[opt.Format]
	var a answer
	target := filepath.Join(folder, "array.npy")
	read := func(dataset string) error {
		a = answer{}
		return bridge.Read(ctx, string(opt.Format), path, target, []string{dataset}, &a, l.name, l.instead)
	}
	if err := read(opt.Dataset); err != nil {
		return nil, err
	}
	choice := &Source{Path: path}
	if a.What == "" {
		var all []candidate
		for _, c := range a.Arrays {
			all = append(all, candidate{c.Name, c.Shape})
		}
		name, err := choice.choose("", all, opt.arrayNames())
		if err != nil {
			return nil, err
		}
		if err := read(name); err != nil {
			return nil, err
		}
	}
	if s, err = openNPY(target, opt); err != nil {
		return nil, err
	}
	closed := s.close
	s.close = func() error { return errors.Join(closed(), drop()) }
	s.Path, s.Notes, s.Guesses = path, choice.Notes, choice.Guesses
	if err := s.described(a); err != nil {
		return nil, errors.Join(err, closed())
	}
	return s, nil
}

// described takes the module's description of the array.
func (s *Source) described(a answer) error {
	s.What, s.Dataset, s.Unit, s.order = a.What, a.Name, a.Unit, a.Order
	s.Notes, s.Guesses = append(s.Notes, a.Notes...), append(s.Guesses, a.Guesses...)
	for i, said := range a.Axes[:min(len(a.Axes), len(s.Axes))] {
		to := &s.Axes[i]
		to.Name, to.Unit, to.Origin, to.Spacing = axisName(said.Name), textUnit(said.Unit), said.Origin, said.Spacing
		switch {
		case said.Coordinates == nil:
		case len(said.Coordinates) != to.N:
			return s.fault("%s has %d coordinates, its axis %d points", said.Name, len(said.Coordinates), to.N)
		case to.Name == "":
			s.guess("coordinates of %s are passed over: which axis that is is not known", said.Name)
		default:
			if err := s.regular(to, said.Name, said.Coordinates, said.Unit, said.Positive); err != nil {
				return err
			}
		}
	}
	if a.D != nil && a.O != nil {
		if _, err := s.lists(a.N, a.D, a.O, a.Fastest); err != nil {
			return err
		}
	}
	s.scan = packedNumbers(s, func(name string) (float64, bool) {
		v, ok := a.Packing[name]
		return v, ok
	}, s.scan)
	return nil
}
