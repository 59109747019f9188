package modelfile

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/sniff"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// hdf5 is an HDF5 file whose array is looked for.
type hdf5 struct {
	*Source
	file   *h5.File
	info   *h5.Description
	data   *h5.Dataset
	matlab bool
}

// hdf5Attrs are the attributes of a dataset.
type hdf5Attrs struct{ h5.Attrs }

func (a hdf5Attrs) text(name string) string {
	if !a.Has(name) {
		return ""
	}
	text, _ := a.Text(name) // no text: says nothing
	return strings.TrimSpace(text)
}

func (a hdf5Attrs) number(name string) (float64, bool) {
	if !a.Has(name) {
		return 0, false
	}
	v, err := a.Floats(name, -1)
	if err != nil || len(v) == 0 {
		return 0, false
	}
	return v[0], true
}

func openHDF5(path string, opt Options) (*Source, error) {
	file, err := h5.Open(path)
	if err != nil {
		return nil, err
	}
	f := &hdf5{Source: &Source{Path: path, close: file.Close}, file: file}
	if err := f.find(opt); err != nil {
		file.Close()
		return nil, err
	}
	return f.Source, nil
}

// find opens the array that the options name, or the only one, and describes it.
func (f *hdf5) find(opt Options) (err error) {
	if f.info, err = f.file.Describe(h5.DescribeOptions{}); err != nil {
		return err
	}
	wanted := opt.Dataset
	if wanted != "" && !strings.HasPrefix(wanted, "/") {
		wanted = "/" + wanted
	}
	if f.Dataset, err = f.choose(wanted, f.arrays(), opt.arrayNames()); err != nil {
		return err
	}
	if f.data, err = f.file.Dataset(f.Dataset); err != nil {
		return err
	}
	attrs := hdf5Attrs{f.data.Attrs()}
	f.What = "HDF5, " + f.data.Type()
	if kind, err := sniff.Path(f.Path); attrs.Has("MATLAB_class") || err == nil && kind == sniff.MAT73 {
		f.matlab, f.What = true, "MATLAB 7.3 (HDF5), "+f.data.Type()
		f.note("%s is as MATLAB writes it: its last index is the slowest axis", f.Dataset)
	}
	f.Wide = strings.Contains(f.data.Type(), "64") || strings.Contains(f.data.Type(), "int32")
	f.Unit = attrs.text("units")
	for _, n := range f.data.Shape() {
		f.Axes = append(f.Axes, Axis{N: n})
	}
	if _, err := f.points(0, math.MaxInt64); err != nil { // h5 has compared the shape with the file
		return err
	}
	f.order = map[int][]string{2: {"x", "z"}, 3: {"x", "y", "z"}}[len(f.long())]
	for _, describe := range []func() (bool, error){f.judi, f.ownGrid, f.scales} {
		if done, err := describe(); done || err != nil {
			if err != nil {
				return err
			}
			break
		}
	}
	f.Source.scan = packedNumbers(f.Source, attrs.number, f.each)
	return nil
}

// arrays are the datasets that may hold a model.
func (f *hdf5) arrays() (list []candidate) {
	for _, o := range f.info.Objects {
		long := 0
		c := candidate{name: o.Name}
		for _, n := range o.Shape {
			if c.shape = append(c.shape, int64(n)); n > 1 {
				long++
			}
		}
		if ofNumbers(o) && (long == 2 || long == 3) {
			list = append(list, c)
		}
	}
	return list
}

// ofNumbers reports whether an object is a dataset of real numbers.
func ofNumbers(o h5.Object) bool {
	return strings.Contains(o.Type, "float") || strings.Contains(o.Type, "int")
}

// each reads the array.
func (f *hdf5) each(take taker) (err error) {
	fault := h5.EachPart(f.data, func(first int, part []float64) {
		if err == nil {
			err = take(first, part)
		}
	})
	if err != nil {
		return err
	}
	return fault
}

// judi takes shape n, spacing d and origin o beside the array, as JUDI's files have them, and
// some of MATLAB.
func (f *hdf5) judi() (bool, error) {
	var lists [3][]float64
	for i, name := range []string{"n", "d", "o"} {
		name = path.Join(path.Dir(f.Dataset), name)
		at := slices.IndexFunc(f.info.Objects, func(o h5.Object) bool { return o.Name == name })
		if at < 0 {
			return false, nil
		}
		if o := f.info.Objects[at]; o.Class != "link" && !ofNumbers(o) {
			f.guess("%s is passed over, it is no list of numbers but %s", name, cmp.Or(o.Type, o.Class))
			return false, nil
		}
		set, err := f.file.Dataset(name)
		if err != nil {
			return false, err
		}
		if s := set.Shape(); len(s) > 2 || product(s) != len(f.Axes) {
			return false, nil
		}
		if lists[i], err = h5.Read[float64](set); err != nil {
			return false, err
		}
	}
	at, err := f.lists(lists[0], lists[1], lists[2], true)
	if err != nil || f.matlab {
		return true, err
	}
	names := map[int][]string{2: {"x", "z"}, 3: {"x", "y", "z"}}[len(f.Axes)]
	for i := range f.Axes {
		if f.Axes[i].Unit = "m"; names != nil {
			f.Axes[i].Name = names[at(i)]
		}
	}
	f.What = strings.Replace(f.What, "HDF5", "HDF5 of JUDI", 1)
	switch base := strings.ToLower(path.Base(f.Dataset)); {
	case f.Unit == "" && (base == "m" || base == "m0"):
		f.Unit = "s2/km2"
		f.note("%s is squared slowness in s²/km², as JUDI has it", f.Dataset)
	case base == "theta" || base == "phi":
		f.usual = "radians"
	}
	return true, nil
}

// product is the number of elements of a shape.
func product(shape []int) int {
	n := 1
	for _, size := range shape {
		n *= size
	}
	return n
}

// ownGrid takes the attributes origin and spacing of the array or the root, which lsm's files
// have.
func (f *hdf5) ownGrid() (bool, error) {
	from := f.data.Attrs()
	if !from.Has("spacing") {
		from = f.file.Attrs()
	}
	if !from.Has("spacing") || !from.Has("origin") {
		return false, nil
	}
	spacing, err := from.Floats("spacing", -1)
	if err != nil {
		return false, err
	}
	origin, err := from.Floats("origin", -1)
	if err != nil {
		return false, err
	}
	if len(spacing) != len(f.Axes) || len(origin) != len(f.Axes) {
		return false, f.fault("%s has %d axes, its spacing %d and its origin %d numbers", f.Dataset, len(f.Axes), len(spacing), len(origin))
	}
	own := hdf5Attrs{from}.text("format") == h5.FormatModel || hdf5Attrs{f.file.Attrs()}.text("format") == h5.FormatModel
	names := map[int][]string{2: {"x", "z"}, 3: {"x", "y", "z"}}[len(f.Axes)]
	domain := hdf5Attrs{f.data.Attrs()}.text("domain")
	for i := range f.Axes {
		a := &f.Axes[i]
		a.Origin, a.Spacing = origin[i], spacing[i]
		if own && names != nil {
			a.Name, a.Unit = names[i], "m"
		}
	}
	if last := len(f.Axes) - 1; domain == grid.Time.String() {
		f.Axes[last].Name, f.Axes[last].Unit = "time", "s"
	}
	f.note("origin and spacing are attributes of the file")
	if own {
		f.frame, err = f.file.Frame(f.data)
	}
	return true, err
}

// scales takes names and coordinates of the axes from dimension scales, as NetCDF-4 has them.
func (f *hdf5) scales() (bool, error) {
	names, err := f.data.Scales()
	if err != nil {
		return false, err
	}
	found := false
	for i, name := range names {
		a := &f.Axes[i]
		if name == "" {
			continue
		}
		found = true
		a.Name = axisName(path.Base(name))
		if err := f.coordinates(a, name); err != nil {
			return false, err
		}
	}
	if found {
		f.What = strings.Replace(f.What, "HDF5", "HDF5 with dimension scales, as NetCDF-4 has them", 1)
	}
	return found, nil
}

// coordinates reads the positions along an axis. A dimension of NetCDF-4 without coordinates is
// a scale that says so in its name.
func (f *hdf5) coordinates(a *Axis, name string) error {
	at := slices.IndexFunc(f.info.Objects, func(o h5.Object) bool { return o.Name == name })
	if at < 0 {
		return nil
	}
	for _, x := range f.info.Objects[at].Attrs {
		if text, _ := x.Value.(string); x.Name == "NAME" && strings.HasPrefix(text, "This is a netCDF dimension but not a netCDF variable") {
			return nil
		}
	}
	set, err := f.file.Dataset(name)
	if err != nil {
		return err
	}
	if s := set.Shape(); len(s) != 1 || s[0] != a.N {
		return f.fault("%s has shape %v, the axis that it is the scale of has %d points", name, s, a.N)
	}
	v, err := h5.Read[float64](set)
	if err != nil {
		return err
	}
	attrs := hdf5Attrs{set.Attrs()}
	return f.regular(a, name, v, attrs.text("units"), attrs.text("positive"))
}
