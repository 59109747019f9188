package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/report"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

func newReport(a *cli.App) *cobra.Command {
	c := collector{a: a}
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "One web page of a run: images, convergence, gathers, times, settings",
		Long: `Report makes one HTML page of a run, in one file that needs no other and no
network: image and adjoint, velocity, spectra, convergence, gathers, times, configuration,
where everything came from, and a verdict in plain words. RUN is the image file
that lsm run has written.

The image file holds most of it. Report looks for the adjoint and the survey where
the configuration names them, and uses them if they belong to the run. What is not
there is left out, and the page says how to get it. A page that report made of RUN
is replaced; any other file of that name is kept, unless --force is given.`,
		Example: `  lsm report image.h5
  lsm report image.h5 --compute -o report.html
  lsm run config.toml --json > run.log; lsm report image.h5 --log run.log`,
		Annotations: cli.Exits("3", "4", "5", "130"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.ctx = cmd.Context()
			return c.makeReport(args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&c.output, "output", "o", "report.html", "`HTML` file to write")
	flags.StringVar(&c.adjoint, "adjoint", "", "image `FILE` of the plain migration (default: output.adjoint of the run)")
	flags.StringVar(&c.residual, "residual", "", "survey `FILE` with the residual traces (default: output.residual of the run)")
	flags.StringVar(&c.log, "log", "", "`FILE` with what lsm run --json has printed: times, memory, adjoint tests")
	flags.StringVar(&c.folder, "folder", "", "`DIR` from which the paths of the configuration start (default: found from RUN's)")
	flags.IntSliceVar(&c.shots, "shots", nil, "`rows` of /sources whose gathers are shown (default: three)")
	flags.Float64SliceVar(&c.at, "at", nil, "`x,y,z` in m, where slices of a 3-D image cross (default: its centre)")
	flags.Float64SliceVar(&c.gathers, "gather", nil, "`x,…` in m (3-D: x,y,…) of image gathers (default: five along x)")
	flags.BoolVar(&c.compute, "compute", false, "compute from the run's inputs: adjoint, residual, weak arrivals, a dot test")
	return cmd
}

func (c *collector) makeReport(image string) error {
	a := c.a
	if ext := strings.ToLower(filepath.Ext(c.output)); ext != ".html" && ext != ".htm" {
		return status.Usage(fmt.Errorf("report: %s: the page is HTML, its name must end in .html", c.output))
	}
	read := cli.Named("the image", image, "--adjoint", c.adjoint, "--residual", c.residual, "--log", c.log)
	if err := cli.InOrder(func() error { return a.Reads(read...) }, func() error { return a.Writes(cli.Use("--output", c.output)) }); err != nil {
		return err
	}
	source := SourceOf(c.output, image)
	check := func() error { return h5.CheckOutput(c.output, a.Force || report.Source(c.output) == source) }
	if err := check(); err != nil {
		return err
	}
	c.run = &report.Run{File: image, Source: source, At: c.at}
	if c.compute {
		var err error
		if c.scratch, err = os.MkdirTemp("", "lsm-report-"); err != nil {
			return status.Resource(err)
		}
		defer plainfile.Unfinished(c.scratch)()
		defer os.RemoveAll(c.scratch)
	}
	if err := c.collect(); err != nil {
		return err
	}
	r := c.run
	if dim := r.Image.Grid.Dim(); len(c.at) != 0 && dim != 3 {
		return status.Usage(errors.New("report: --at: has no effect here, the image is not a 3-D array whose slices are drawn"))
	} else if len(c.at) != 0 && len(c.at) != dim {
		return status.Usage(fmt.Errorf("report: --at has %s, the image has %d axes", readable.Count(len(c.at), "value"), dim))
	}
	var page bytes.Buffer
	if err := report.Write(&page, r); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err // somebody has written it meanwhile
	}
	if err := pipeline.WriteText(c.output, page.String()); err != nil {
		return err
	}
	a.Wrote("report", c.output, "bytes", page.Len(), "adjoint", r.Adjoint != nil, "gathers", len(r.Gathers),
		"residual", c.residual != "", "times", r.Times != nil, "notes", len(r.Notes))
	return nil
}

// collector gathers what is known of a run. It holds the choices of lsm report.
type collector struct {
	output, folder    string
	adjoint, residual string
	log               string
	at, gathers       []float64
	shots             []int
	compute           bool

	a       *cli.App
	ctx     context.Context // of the one command that this serves
	run     *report.Run
	scratch string            // folder for what is computed
	inputs  map[string]string // digests of the run's inputs, by role

	survey, velocity string // the files that the run read, "" where they are not to be found

	adjointNamed, adjointComputed bool
}

func (c *collector) collect() error {
	return cli.InOrder(c.readRun, c.findInputs, c.computeMissing, c.readTold, c.readAdjoint, c.readVelocity, c.readImageGathers, c.readShots)
}

func (c *collector) readRun() (err error) {
	if c.run.Image, err = c.readImage(c.run.File); err != nil {
		return err
	}
	c.inputs = inputsOf(c.run.Image)
	if c.run.Fields, err = h5.ReadFields(c.run.File); err != nil {
		return err
	}
	if c.folder == "" {
		return nil
	}
	if info, err := os.Stat(c.folder); err != nil || !info.IsDir() {
		return status.Usage(fmt.Errorf("report: --folder %s: no such folder", c.folder))
	}
	return nil
}

// findInputs looks for the run's files where its configuration names them.
func (c *collector) findInputs() error {
	r := c.run
	c.adjointNamed = c.adjoint != ""
	if r.Image.Config == "" {
		return nil
	}
	cfg, err := c.parse(r.Image.Config, nil)
	if err != nil {
		return nil // shown as text: another version of lsm has written it
	}
	r.Config = cfg
	if !c.adjointNamed {
		c.adjoint = c.named("output.adjoint", cfg.Output.Adjoint)
	}
	return cli.InOrder(c.findResidual,
		func() error { return c.readByRun(&c.survey, "survey", cfg.Survey.File, "Its traces are not shown.") },
		func() error { return c.readByRun(&c.velocity, "velocity", cfg.Velocity.File, "It is not shown.") },
		func() error {
			return c.a.Reads(cli.Named("the run's adjoint", c.adjoint, "its residual", c.residual, "its survey", c.survey, "its velocity", c.velocity)...)
		})
}

func (c *collector) readVelocity() error {
	if c.velocity == "" {
		return nil
	}
	g, v, err := h5.ReadModel(c.velocity)
	c.run.Velocity = &report.Model{File: c.velocity, Grid: g, Values: v}
	return err
}

// note says something on the page.
func (c *collector) note(format string, args ...any) {
	c.run.Notes = append(c.run.Notes, fmt.Sprintf(format, args...))
}

// inputsOf are the digests of the inputs from which an image was made, by role.
func inputsOf(im *h5.Image) map[string]string {
	digests := map[string]string{}
	for _, in := range provenance.FromAttrs(im.Attrs).Inputs {
		digests[in.Role] = in.SHA256
	}
	return digests
}

// readImage reads an image file.
func (c *collector) readImage(path string) (*h5.Image, error) {
	kind, err := h5.Kind(path)
	if err != nil {
		if strings.HasSuffix(path, ".toml") && errors.Is(err, h5.ErrInput) {
			return nil, status.Hint(err, "report takes the image file that lsm run has written, not its configuration")
		}
		return nil, err
	}
	if kind != "image" {
		return nil, status.Input(fmt.Errorf("%s: is a file of kind %s, want an image that lsm run has written", path, kind))
	}
	return h5.ReadImage(path)
}

// named is the file that a key of the configuration names, "" where it is not there.
func (c *collector) named(key string, path config.Path) string {
	switch {
	case !path.IsSet():
		return ""
	case exists(path.File):
		return path.File
	case !c.compute:
		c.note("%s, which %s names, is not there.", path.File, key)
	}
	return ""
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// readByRun sets the file of an input if it is there and the one that the run read.
func (c *collector) readByRun(file *string, role string, path config.Path, consequence string) error {
	if !path.IsSet() || !exists(path.File) {
		return nil
	}
	in, err := provenance.Hash(role, path.File)
	if err != nil {
		return status.Input(err)
	}
	if in.SHA256 != c.inputs[role] {
		c.note("%s is not the %s that the run read: its SHA-256 is another. %s", path.File, role, consequence)
		return nil
	}
	*file = path.File
	return nil
}

// findResidual takes output.residual if it is of the run that wrote the image.
func (c *collector) findResidual() error {
	if c.residual != "" {
		return nil
	}
	path := c.named("output.residual", c.run.Config.Output.Residual)
	if path == "" {
		return nil
	}
	attrs, err := h5.ReadAttrs(path)
	if err != nil {
		return err
	}
	if made, of := provenance.FromAttrs(attrs), provenance.FromAttrs(c.run.Image.Attrs); !made.Started.Equal(of.Started) || made.Host != of.Host {
		c.note("%s was written by another run than the image. It is not shown.", path)
		return nil
	}
	c.residual = path
	return nil
}

// parse reads the configuration of the run as if it lay in its folder. It leaves out the
// environment of this process.
func (c *collector) parse(text string, set []string) (*config.Config, error) {
	folder := c.folder
	if folder == "" {
		cfg, err := config.Recorded(filepath.Join(filepath.Dir(c.run.File), "config.toml"), []byte(text), nil)
		if err != nil {
			return nil, err
		}
		folder = runFolder(c.run.File, cfg.Output.File.Text)
	}
	return config.Recorded(filepath.Join(folder, "config.toml"), []byte(text), set)
}

// runFolder is the folder of the configuration that wrote the image: the image's path
// without the part that the configuration gave, written. If the path does not end in that
// part, the image was moved, and its own folder is taken.
func runFolder(image, written string) string {
	path, err := filepath.Abs(image)
	if err != nil || filepath.IsAbs(written) {
		return filepath.Dir(image)
	}
	if folder, ok := strings.CutSuffix(path, string(filepath.Separator)+filepath.Clean(written)); ok {
		if here, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(here, folder); err == nil {
				return rel // messages and the page name files as short as can be
			}
		}
		return folder + string(filepath.Separator)
	}
	return filepath.Dir(image)
}

// readAdjoint takes the plain image if it is one of the same survey and model.
func (c *collector) readAdjoint() error {
	if c.adjoint == "" {
		return nil
	}
	im, err := c.readImage(c.adjoint)
	if err != nil {
		return err
	}
	fault, r := "", c.run
	for role, digest := range inputsOf(im) {
		if want, known := c.inputs[role]; known && want != digest {
			fault = fmt.Sprintf("%s was made from another %s than the run's", c.adjoint, role)
		}
	}
	switch {
	case !im.Grid.Equal(r.Image.Grid):
		fault = fmt.Sprintf("%s lies on another grid than the image: %v, not %v", c.adjoint, im.Grid, r.Image.Grid)
	case fault == "" && len(im.ResidualNorm) > 0:
		fault = fmt.Sprintf("%s is no plain migration: it holds the history of a solver", c.adjoint)
	}
	switch {
	case fault != "" && (c.adjointNamed || c.adjointComputed):
		return status.Input(errors.New(fault))
	case fault != "":
		c.note("%s. It is not shown.", fault)
	default:
		r.Adjoint, r.AdjointFrom = im, c.adjoint
		if c.adjointComputed {
			r.AdjointFrom = "computed for this page"
		}
	}
	return nil
}
