package inspect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/modelfile"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// arrayOptions are the choices of lsm export for files that hold an array on a grid: models
// and images as RSF, raw binary or NetCDF.
type arrayOptions struct {
	modelfile.ExportOptions
	output string // where its name means HDF5, which export does not write
}

func (f *arrayOptions) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.Property, "property", "", "of a model, instead of velocity: `epsilon`, delta, tilt, azimuth, eta")
	fl.StringVar(&f.Units, "units", "", "of a model: `m/s` (default), km/s, ft/s, s/m, s/km, s2/m2, s2/km2")
	fl.StringVar(&f.Type, "type", "", "RSF, raw, NetCDF: `float32` or float64 (default: as in the input)")
	fl.StringSliceVar(&f.Axes, "axes", nil, "RSF, raw, NetCDF: order of the axes, slowest first, such as `z,x`")
}

// complete finds the format, "" for SEG-Y and SU, which Kind says.
func (f *arrayOptions) complete(cmd *cobra.Command, output, format, order string) error {
	all := []modelfile.Format{modelfile.RSF, modelfile.Raw, modelfile.NetCDF}
	f.Format = modelfile.Format(format)
	if format == "" {
		f.Format = modelfile.FormatOf(output)
	}
	if f.Format == modelfile.HDF5 && format == "" {
		f.output = output
	}
	if !slices.Contains(all, f.Format) {
		f.Format = ""
		for _, name := range []string{"type", "axes"} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for files of format %v", name, all)
			}
		}
		return f.Validate()
	}
	for _, name := range []string{"line", "azimuth", "line-origin", "gathers", "sample-format"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is for SEG-Y and SU, this file is of format %s", name, f.Format)
		}
	}
	f.Order = order
	return f.Validate()
}

// refuse refuses what a file of a kind does not have.
func (f *arrayOptions) refuse(path, kind string, velocity bool) error {
	model := kind == "model" || velocity
	switch {
	case f.output != "":
		return status.Usage(fmt.Errorf("export: %s: HDF5 is not written, the input is HDF5 already", f.output))
	case f.Property != "" && !model:
		return status.Usage(fmt.Errorf("export: --property is for models, %s is of kind %s", path, kind))
	case f.Units != "" && !model:
		return status.Usage(fmt.Errorf("export: --units is for models, %s is of kind %s", path, kind))
	case f.Format != "" && !model && kind != "image":
		return status.Usage(fmt.Errorf("export: format %s is for models and images, %s is of kind %s", f.Format, path, kind))
	}
	return nil
}

// read is the array of a model or an image.
func (f *arrayOptions) read(path, kind string) (*modelfile.Array, error) {
	if kind != "image" {
		return modelfile.ReadArray(path, f.Property, f.Units)
	}
	im, err := h5.ReadImage(path)
	if err != nil {
		return nil, err
	}
	a := &modelfile.Array{Grid: im.Grid, Name: "image", Values: make([]float64, len(im.Data))}
	for i, v := range im.Data {
		a.Values[i] = float64(v)
	}
	return a, nil
}

// tracesBack are the flags with which lsm import --model reads SEG-Y or SU of a model again.
func (f *arrayOptions) tracesBack(g grid.Grid, kind segy.Kind) string {
	flags := " --length-units m"
	if kind == segy.SU {
		flags += " --domain " + g.Domain.String()
		if g.Frame != nil { // which the textual header of SEG-Y tells
			flags += " --frame " + g.Frame.Flag()
		}
	}
	if f.Property != "" && f.Property != modelfile.Velocity {
		return flags + " --property " + f.Property + " --into MODEL"
	}
	return flags + " --units " + cmp.Or(f.Units, "m/s")
}

// run writes RSF, raw binary or NetCDF.
func (f *arrayOptions) run(a *cli.App, path, kind, output string) error {
	array, err := f.read(path, kind)
	if err != nil {
		return err
	}
	done, err := modelfile.Export(output, array, f.ExportOptions)
	if err != nil {
		return err
	}
	for _, lost := range done.Lost {
		a.Report.Warn(lost)
	}
	if frame := array.Grid.Frame; frame != nil {
		a.Report.Printf("the file does not say its frame: %s\n", frame)
	}
	a.Report.Printf("%s: %s, %s\n", output, done.What, readable.Bytes(done.Bytes))
	if array.Name == "image" {
		done.WayBack = ""
	} else {
		a.Report.Printf("the way back: lsm import --model %s -o again.h5%s\n", output, done.WayBack)
	}
	a.Finish("output", output, "format", string(f.Format), "what", done.What, "bytes", done.Bytes, "lost", done.Lost)
	return nil
}
