package inspect

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

func newPlot(a *cli.App) *cobra.Command {
	var o drawing
	cmd := &cobra.Command{
		Use:   "plot FILE [FILE]",
		Short: "Draw an image, model, gather, or the convergence of a run",
		Long: `Plot draws the contents of a file as a PNG picture: an image or a velocity model (a section,
in 3-D three slices), traces of a survey (of a shot, receiver, midpoint or offset), a
traveltime table, or a wavelet. Some gathers of an image are drawn below it.

Two files are drawn side by side; --difference adds their difference. --convergence draws the
course of a run. --profile x=… draws a curve along the axis left out (in 3-D give two axes), with
a band of one standard deviation if the file has it; two histories or profiles share one
diagram. --field draws a field of lsm target, such as resolution.

A picture that plot drew of the same files is replaced. Any other file of that name is kept
unless --force is given.`,
		Example: `  lsm plot image.h5
  lsm plot adjoint.h5 image.h5 -o both.png
  lsm plot image.h5 --under model.h5 --window 1000,3000,200,1500
  lsm plot before.h5 after.h5 --difference -o change.png
  lsm plot survey.h5 --cmp 2500 --wiggles --gain 1
  lsm plot image.h5 --convergence -o convergence.png
  lsm plot target.h5 --field standard_deviation -o deviation.png
  lsm plot target.h5 image.h5 --profile x=2300 -o profile.png
  lsm plot survey.h5 --shot 12 --clip 95`,
		Annotations: cli.Exits("3", "4"),
		RunE: func(cmd *cobra.Command, files []string) error {
			if o.output == "" {
				o.output = strings.TrimSuffix(filepath.Base(files[0]), filepath.Ext(files[0])) + ".png"
			}
			if err := o.pick.complete(cmd.Flags()); err != nil {
				return err
			}
			return plotFiles(a, files, &o, cmd.Flags())
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "", "`PNG` file to write (default: FILE's name with .png, here)")
	flags.StringVar(&o.title, "title", "", "`text` above the picture")
	flags.Float64Var(&o.clip, "clip", 0, "`percentile` of |amplitude| that gets full colour (default 99)")
	flags.StringVar(&o.colors, "colors", "default", "`map`: default, grey, diverging or sequential")
	flags.Float64SliceVar(&o.at, "at", nil, "`x,y,z` in m, where slices of a 3-D array cross (default: its centre)")
	flags.Float64SliceVar(&o.gathers, "gather", nil, "`x,…` in m (3-D: x,y,…) of image gathers (default: five along x)")
	flags.Float64SliceVar(&o.window, "window", nil, "`left,right,top,bottom`: draw this part, in the units of the axes")
	flags.Float64SliceVar(&o.size, "size", nil, "`width,height` of the frame in inches (0: as usual)")
	flags.Float64Var(&o.gain, "gain", 0, "`power` of depth or time by which to multiply before drawing")
	flags.BoolVar(&o.wiggles, "wiggles", false, "draw traces as lines, their positive side filled")
	flags.StringVar(&o.under, "under", "", "velocity model `FILE` that colours the ground of an image")
	flags.BoolVar(&o.common, "common", false, "give two pictures one scale of colours")
	flags.BoolVar(&o.difference, "difference", false, "draw the second file less the first as well, all on one scale")
	o.pick.define(flags)
	flags.IntVar(&o.row, "row", 0, "`row` of /source_time in a table file to draw")
	flags.BoolVar(&o.convergence, "convergence", false, "draw the residual and gradient of each iteration")
	flags.StringVar(&o.field, "field", "", "`name` of a field of lsm target to draw, such as resolution")
	flags.StringVar(&o.profile, "profile", "", "draw images along the axis that `x=…` or x=…,y=… leave out")
	flags.BoolVar(&o.velocity, "velocity", false, "draw the velocity model that a survey file carries")
	cli.First(cmd, "output", "shot", "under", "difference", "convergence", "window")
	return cmd
}

func plotFiles(a *cli.App, files []string, d *drawing, flags *pflag.FlagSet) error {
	out := d.output
	if err := CheckPNG(out); err != nil {
		return status.Usage(fmt.Errorf("plot: %w", err))
	}
	source := SourceOf(out, files...)
	redraws := func() bool {
		made, from := picture.Origin(out)
		return a.Force || made == plotSoftware && from == source
	}
	inputs := cli.Alike("the input", files...)
	if d.under != "" {
		inputs = append(inputs, cli.Alike("--under", d.under)...)
	}
	if err := a.CheckOutput(inputs, out, redraws()); err != nil {
		return err
	}
	figure, err := d.draw(files)
	if err != nil {
		return err
	}
	for _, c := range [][2]string{
		{"at", "no slices of a 3-D array are drawn"},
		{"gather", "no image is drawn"},
		{"shot", "no traces are drawn"},
		{"receiver", "no traces are drawn"},
		{"cmp", "no traces are drawn"},
		{"offset", "no traces are drawn"},
		{"wiggles", "neither traces nor a 2-D image are drawn"},
		{"gain", "no 2-D array is drawn"},
		{"window", "no 2-D array is drawn"},
		{"under", "no 2-D image is drawn"},
		{"size", "no array is drawn"},
		{"common", "no arrays are drawn"},
		{"difference", "no arrays are drawn"},
		{"row", "no traveltime table is drawn"},
		{"velocity", "no velocity model is drawn"},
		{"field", "no image is drawn"},
		{"clip", "no amplitudes are drawn"},
		{"colors", "nothing is drawn in colours of a map"},
	} {
		if flags.Changed(c[0]) && !slices.Contains(d.used, c[0]) {
			return status.Usage(fmt.Errorf("plot: --%s: has no effect here, %s", c[0], c[1]))
		}
	}
	figure.Software, figure.Source = plotSoftware, source
	if err := picture.WriteFile(out, figure, redraws()); err != nil {
		return err
	}
	a.Wrote("picture", out)
	return nil
}

// plotSoftware is the name of the software in pictures of lsm plot.
const plotSoftware = "lsm plot"

// SourceOf names the files that an output is made from as seen from its folder, so that
// they may be moved together.
func SourceOf(output string, files ...string) string {
	var names []string
	folder, err := filepath.Abs(filepath.Dir(output))
	for _, file := range files {
		if at, fault := filepath.Abs(file); err == nil && fault == nil {
			if rel, fault := filepath.Rel(folder, at); fault == nil {
				file = filepath.ToSlash(rel)
			}
		}
		names = append(names, file)
	}
	return strings.Join(names, "\n")
}

// CheckPNG refuses names of pictures that are not those of PNG files; "" stands for none.
func CheckPNG(paths ...string) error {
	for _, path := range paths {
		if path != "" && !strings.EqualFold(filepath.Ext(path), ".png") {
			return fmt.Errorf("%s: pictures are PNG files, the name must end in .png", path)
		}
	}
	return nil
}

// WritePicture publishes a figure that the command has drawn from files, and prints its path after
// the text what.
func WritePicture(a *cli.App, path, what string, figure *picture.Figure, files ...string) error {
	figure.Software, figure.Source = "lsm "+a.Command, SourceOf(path, files...)
	if err := picture.WriteFile(path, figure, a.Force); err != nil {
		return err
	}
	a.Report.Printf("%s: %s\n", what, path)
	return nil
}
