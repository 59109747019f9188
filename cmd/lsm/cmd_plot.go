package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// plotFlags are the choices of lsm plot.
type plotFlags struct {
	output, title, colors string
	clip                  float64
	at, gathers           []float64
	shot, row             int
	convergence, velocity bool
	used                  []string // names of flags that have had a say
}

func newPlot(a *app) *cobra.Command {
	var f plotFlags
	cmd := &cobra.Command{
		Use:   "plot FILE [FILE]",
		Short: "A picture of an image, a model, a gather, a convergence history",
		Long: `Plot draws an image or a velocity model (a section, or three slices in 3-D), one
shot of a survey, a traveltime table, or with --convergence the course of a run.
Two files are drawn side by side, two histories in one diagram. Below an image with
gathers some of these are drawn. A picture that plot drew of the same files is drawn
anew; any other file at its place stays, unless --force is given.`,
		Example: `  lsm plot image.h5
  lsm plot adjoint.h5 image.h5 -o both.png
  lsm plot image.h5 --convergence -o convergence.png
  lsm plot survey.h5 --shot 12 --clip 95`,
		GroupID:     groupFiles,
		Args:        arguments("FILE", "[FILE]"),
		Annotations: exits("3", "4"),
		RunE: func(cmd *cobra.Command, files []string) error {
			out := f.output
			if out == "" {
				out = strings.TrimSuffix(filepath.Base(files[0]), filepath.Ext(files[0])) + ".png"
			}
			if ext := strings.ToLower(filepath.Ext(out)); ext != ".png" {
				return status.Usage(fmt.Errorf("plot: %s: pictures are PNG files, the name must end in .png", out))
			}
			if err := distinct(alike("the input", files...), alike("--output", out)); err != nil {
				return err
			}
			source := sourceOf(out, files...)
			redraws := func() bool {
				made, from := picture.Origin(out)
				return a.force || made == plotSoftware && from == source
			}
			if err := h5.CheckOutput(out, redraws()); err != nil {
				return err
			}
			for _, file := range files {
				if err := a.tryFile(cmd.Context(), file); err != nil {
					return err
				}
			}
			figure, err := f.draw(files)
			if err != nil {
				return err
			}
			if err := f.idle(cmd.Flags()); err != nil {
				return err
			}
			figure.Software, figure.Source = plotSoftware, source
			if err := picture.WriteFile(out, figure, redraws()); err != nil {
				return err
			}
			a.report.Printf("picture: %s\n", out)
			a.finish("output", out)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "`PNG` file to write (default: FILE's name with .png, here)")
	flags.StringVar(&f.title, "title", "", "`text` above the picture")
	flags.Float64Var(&f.clip, "clip", 0, "`percentile` of |amplitude| that gets full colour (default 99)")
	flags.StringVar(&f.colors, "colors", "default", "`map`: default, grey, diverging or sequential")
	flags.Float64SliceVar(&f.at, "at", nil, "`x,y,z` in m, where slices of a 3-D array cross (else at its centre)")
	flags.Float64SliceVar(&f.gathers, "gather", nil, "`x,…` in m (3-D: x,y,…) of image gathers (else five along x)")
	flags.IntVar(&f.shot, "shot", 0, "`row` of /sources whose gather is drawn")
	flags.IntVar(&f.row, "row", 0, "`row` of /source_time that is drawn, of a table file")
	flags.BoolVar(&f.convergence, "convergence", false, "draw the residual and gradient of each iteration")
	flags.BoolVar(&f.velocity, "velocity", false, "draw the velocity model that a survey file carries")
	return cmd
}

// plotSoftware is what pictures of lsm plot say that they were drawn by.
const plotSoftware = "lsm plot"

// sourceOf names the files that an output is made from as seen from its folder, so that
// they may be moved together.
func sourceOf(output string, files ...string) string {
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

// idle complains about a flag that was given and has no say in what is drawn.
func (f *plotFlags) idle(flags *pflag.FlagSet) error {
	for _, c := range [][2]string{
		{"at", "no slices of a 3-D array are drawn"},
		{"gather", "no image is drawn"},
		{"shot", "no traces are drawn"},
		{"row", "no traveltime table is drawn"},
		{"velocity", "no velocity model is drawn"},
		{"clip", "no amplitudes are drawn"},
		{"colors", "nothing is drawn in colours of a map"},
	} {
		if flags.Changed(c[0]) && !slices.Contains(f.used, c[0]) {
			return status.Usage(fmt.Errorf("plot: --%s: has no say here, %s", c[0], c[1]))
		}
	}
	return nil
}

// array readies for the picture of an array of so many axes.
func (f *plotFlags) array(dim int) error {
	f.used = append(f.used, "clip", "colors")
	if dim != 3 {
		return nil
	}
	f.used = append(f.used, "at")
	if n := len(f.at); n != 0 && n != dim {
		return status.Usage(fmt.Errorf("plot: --at has %s, the array has %d axes", readable.Count(n, "value"), dim))
	}
	return nil
}

// options are what all kinds of pictures share.
func (f *plotFlags) options(title string) (picture.Options, error) {
	colors, err := picture.ParseColors(f.colors)
	if err != nil {
		return picture.Options{}, status.Usage(err)
	}
	if f.clip < 0 || f.clip > 100 {
		return picture.Options{}, status.Usage(fmt.Errorf("plot: clip is %g, must be above 0, up to 100", f.clip))
	}
	if f.title != "" {
		title = f.title
	}
	return picture.Options{Title: title, Colors: colors, Clip: f.clip, At: f.at}, nil
}

func (f *plotFlags) draw(files []string) (*picture.Figure, error) {
	if f.convergence {
		return f.histories(files)
	}
	var figures []*picture.Figure
	for _, file := range files {
		figure, err := f.one(file)
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure)
	}
	if len(figures) == 1 {
		return figures[0], nil
	}
	return picture.Beside(figures...), nil
}

func (f *plotFlags) one(file string) (*picture.Figure, error) {
	kind, err := h5.Kind(file)
	if err != nil {
		return nil, withFormatHint(file, err)
	}
	if f.velocity {
		kind, f.used = "model", append(f.used, "velocity")
	}
	switch kind {
	case "image":
		return f.image(file)
	case "model":
		return f.model(file)
	case "survey":
		return f.gather(file)
	case "tables":
		return f.table(file)
	}
	return nil, status.Input(fmt.Errorf("%s: nothing to draw in a file of kind %s", file, kind))
}

func (f *plotFlags) histories(files []string) (*picture.Figure, error) {
	opt, err := f.options("convergence")
	if err != nil {
		return nil, err
	}
	var histories []picture.History
	for _, file := range files {
		im, err := h5.ReadImage(file)
		if err != nil {
			return nil, err
		}
		if len(im.ResidualNorm) == 0 {
			return nil, status.Hint(status.Input(fmt.Errorf("%s: has no /history: no solver made it", file)),
				"lsm run writes images with their history")
		}
		h := picture.History{Residual: im.ResidualNorm, Gradient: im.GradientNorm}
		if len(files) > 1 {
			h.Name = filepath.Base(file)
		}
		histories = append(histories, h)
	}
	return drawable(picture.Convergence(opt, histories...))
}
