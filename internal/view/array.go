package view

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/midpoint"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// Axis is one axis of an array.
type Axis struct {
	Name    string    `json:"name"` // such as x, z, time, offset, trace
	Unit    string    `json:"unit"` // "" for numbers that count
	Size    int       `json:"size"`
	Origin  float64   `json:"origin"`
	Spacing float64   `json:"spacing"`
	Values  []float64 `json:"values,omitempty"` // of an axis that is not regular: it counts from 0, these are its labels
}

// counts reports whether nothing lies between the numbers of the axis, such as between traces.
func (a Axis) counts() bool { return a.Unit == "" || a.Values != nil }

// Array is a dataset of numbers that can be shown.
type Array struct {
	Name   string  `json:"name"` // of the dataset
	Title  string  `json:"title"`
	Of     string  `json:"of"`   // what the numbers are, such as amplitude
	Unit   string  `json:"unit"` // of the numbers, "" where the file does not say
	Axes   []Axis  `json:"axes"` // slowest first, as in the file
	Low    float64 `json:"low"`  // what the colours span
	High   float64 `json:"high"`
	Colors string  `json:"colors"` // name of a colour map
	Shots  []int   `json:"shots,omitempty"`

	data                  *h5.Dataset
	deviation, resolution *h5.Dataset // of data, on its grid; nil where the file has none
}

// File is an open file and what can be shown of it.
type File struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Arrays []*Array `json:"arrays"`
	Picks  []Pick   `json:"picks,omitempty"`

	path  string
	file  interface{ Close() error }
	picks *h5.Picks // nil for none

	velocities []midpoint.Pick // of a table; nil for none
}

// openFile opens what can be shown of a file. Its numbers are not compared with their digests:
// that would read all of it.
func openFile(path string) (*File, error) {
	if isTable(path) {
		return openVelocities(path)
	}
	kind, err := h5.Kind(path)
	if err != nil {
		return nil, err
	}
	f := &File{Name: filepath.Base(path), Kind: kind, Arrays: []*Array{}, path: path}
	open, ok := map[string]func(string) error{
		"image": f.openImage, "model": f.openModel, "survey": f.openSurvey, "tables": f.openTables, "picks": f.openPicks,
	}[kind]
	if !ok {
		return nil, status.Input(fmt.Errorf("%s: nothing to show in a file of kind %s", path, kind))
	}
	if err := open(path); err != nil {
		f.close()
		return nil, err
	}
	for _, a := range f.Arrays {
		if err := a.measure(); err != nil {
			f.close()
			return nil, err
		}
	}
	return f, nil
}

func (f *File) close() {
	if f.file != nil {
		f.file.Close()
	}
}

// add takes a dataset whose axes are those given.
func (f *File) add(file *h5.File, name, title string, colors picture.Colors, axes ...Axis) error {
	d, err := file.Dataset(name)
	if err != nil {
		return err
	}
	for i, axis := range axes {
		if len(d.Shape()) != len(axes) || d.Shape()[i] != axis.Size {
			return status.Input(fmt.Errorf("%s: %s: has shape %v, which is not that of its axes", f.path, name, d.Shape()))
		}
	}
	unit := ""
	if d.Attrs().Has("units") {
		if unit, err = d.Attrs().Text("units"); err != nil {
			return err
		}
	}
	f.Arrays = append(f.Arrays, &Array{Name: name, Title: title, Of: quantity(name, title), Unit: unit, Axes: axes, Colors: colors.String(), data: d})
	return nil
}

func gridAxes(g grid.Grid) []Axis {
	axes := make([]Axis, g.Dim())
	for a := range axes {
		axes[a] = Axis{Name: g.AxisName(a), Unit: g.Unit(a), Size: g.Shape[a], Origin: g.Origin[a], Spacing: g.Spacing[a]}
	}
	return axes
}

func (f *File) openImage(path string) error {
	r, err := h5.OpenImage(path)
	if err != nil {
		return err
	}
	f.file = r
	name := "/image"
	if !r.Has(name) {
		name = "/reflectivity"
	}
	if err := f.add(r.File, name, name[1:], picture.Grey, gridAxes(r.Grid())...); err != nil {
		return err
	}
	for _, name := range h5.FieldNames() {
		if title, _, _ := h5.FieldTitle(name); r.Has("/" + name) {
			if err := f.add(r.File, "/"+name, title, picture.Sequential, gridAxes(r.Grid())...); err != nil {
				return err
			}
		}
	}
	f.judge()
	g, err := h5.OpenGathers(path)
	if err != nil || g == nil {
		return err
	}
	defer g.Close()
	classes := Axis{Name: g.Name(), Unit: h5.GatherUnits(g.Kind), Size: len(g.Centers), Spacing: 1, Values: g.Centers}
	colors := picture.Grey
	if g.Kind == "velocity" { // semblances, which have no sign
		colors = picture.Sequential
	}
	return f.add(r.File, "/gathers", "gathers by "+g.Name(), colors, append([]Axis{classes}, gridAxes(g.Grid())...)...)
}

func (f *File) openModel(path string) error {
	r, err := h5.OpenModel(path, "")
	if err != nil {
		return err
	}
	f.file = r
	axes := gridAxes(r.Grid())
	if err := f.add(r.File, "/velocity", "velocity", picture.Sequential, axes...); err != nil {
		return err
	}
	for _, p := range r.Properties() {
		if name := "/" + p.String(); r.Has(name) {
			if err := f.add(r.File, name, p.String(), picture.Sequential, axes...); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *File) openSurvey(path string) error {
	r, err := h5.OpenSurvey(path)
	if err != nil {
		return err
	}
	f.file = r
	if !r.HasData() {
		return status.Input(fmt.Errorf("%s: has no traces to show", path))
	}
	s := r.Survey()
	d, err := r.Dataset("/data")
	if err != nil {
		return err
	}
	time := Axis{Name: "time", Unit: "s", Size: s.NT, Origin: s.T0, Spacing: s.DT}
	if shape := d.Shape(); len(shape) == 3 { // every source with every receiver
		return f.add(r.File, "/data", "traces", picture.Grey, Axis{Name: "source", Size: shape[0], Spacing: 1}, Axis{Name: "receiver", Size: shape[1], Spacing: 1}, time)
	}
	if err := f.add(r.File, "/data", "traces", picture.Grey, Axis{Name: "trace", Size: s.NumTraces(), Spacing: 1}, time); err != nil {
		return err
	}
	last := -1
	for i := range s.NumTraces() {
		if source, _ := s.Pair(i); source != last {
			f.Arrays[0].Shots, last = append(f.Arrays[0].Shots, i), source
		}
	}
	return nil
}

func (f *File) openTables(path string) error {
	t, err := h5.OpenTables(path)
	if err != nil {
		return err
	}
	f.file = t
	for _, role := range []string{"source", "receiver"} {
		name := "/" + role + "_time"
		if !t.File.Has(name) {
			continue
		}
		d, err := t.Dataset(name)
		if err != nil {
			return err
		}
		g := t.Grid()
		places := Axis{Name: role, Size: d.Shape()[0], Spacing: 1}
		axes := append([]Axis{places}, gridAxes(g)...)
		if err := f.add(t.File, name, "times of "+role+"s", picture.Sequential, axes...); err != nil {
			return err
		}
	}
	return nil
}

// sample is how many values along an axis are looked at for the span of the colours.
const sample = 128

// measure finds the span of the colours: for signed numbers the 99th percentile of their
// magnitudes, otherwise least and greatest, of an even sample.
func (a *Array) measure() error {
	var p h5.Part
	for _, axis := range a.Axes {
		step := (axis.Size + sample - 1) / sample
		p.First, p.Step, p.Count = append(p.First, step/2), append(p.Step, step), append(p.Count, (axis.Size-step/2+step-1)/step)
	}
	v := make([]float32, p.Len())
	if err := h5.ReadPart(a.data, v, p); err != nil {
		return err
	}
	v = slices.DeleteFunc(v, func(x float32) bool { return x-x != 0 })
	if len(v) == 0 {
		a.Low, a.High = -1, 1
		return nil
	}
	if a.Colors == picture.Sequential.String() {
		a.Low, a.High = float64(slices.Min(v)), float64(slices.Max(v))
	} else {
		top := cmp.Or(picture.Limit(v, 99), picture.Limit(v, 100))
		a.Low, a.High = -top, top
	}
	if a.Low == a.High {
		pad := math.Max(math.Abs(a.Low)*1e-2, 1)
		a.Low, a.High = a.Low-pad, a.High+pad
	}
	return nil
}
