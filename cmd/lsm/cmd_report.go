package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/report"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// reportFlags are the choices of lsm report, and what it has found of the run.
type reportFlags struct {
	output, folder         string
	adjoint, residual      string
	log, trace             string
	at, gathers            []float64
	shots                  []int
	compute                bool
	image                  string            // the argument
	survey, velocity       string            // the files that the run read, "" where they are not to be found
	inputs                 map[string]string // digests by role
	adjointNamed, computed bool
}

func newReport(a *app) *cobra.Command {
	f := reportFlags{}
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "One web page of a run: images, convergence, gathers, times, settings",
		Long: `Report makes one HTML page of a run, in one file that needs no other and no
network: image and adjoint, velocity, spectra, convergence, gathers, times, configuration,
where everything came from, and a verdict in plain words. RUN is the image file
that lsm run has written.

The image file holds most of it. The adjoint and the survey are looked for where
the configuration names them, and taken if they are those of the run. What is not
there is left out, and the page says what would bring it. A page that report made of
RUN is made anew; any other file at its place stays, unless --force is given.`,
		Example: `  lsm report image.h5
  lsm report image.h5 --compute -o report.html
  lsm run config.toml --json > run.log; lsm report image.h5 --log run.log`,
		GroupID:     groupFiles,
		Args:        arguments("RUN"),
		Annotations: exits("3", "4", "5", "130"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.image = args[0]
			return a.makeReport(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "report.html", "`HTML` file to write")
	flags.StringVar(&f.adjoint, "adjoint", "", "image `FILE` of the plain migration (default: output.adjoint of the run)")
	flags.StringVar(&f.residual, "residual", "", "survey `FILE` with the residual traces (default: output.residual of the run)")
	flags.StringVar(&f.log, "log", "", "`FILE` with what lsm run --json has printed: times, memory, adjoint tests")
	flags.StringVar(&f.trace, "trace", "", "`FILE` that lsm run --trace has written: times")
	flags.StringVar(&f.folder, "folder", "", "`DIR` from which the paths of the configuration start (default: found from RUN's)")
	flags.IntSliceVar(&f.shots, "shots", nil, "`rows` of /sources whose gathers are shown (default: three)")
	flags.Float64SliceVar(&f.at, "at", nil, "`x,y,z` in m, where slices of a 3-D image cross (else at its centre)")
	flags.Float64SliceVar(&f.gathers, "gather", nil, "`x,…` in m (3-D: x,y,…) of image gathers (else five along x)")
	flags.BoolVar(&f.compute, "compute", false, "compute adjoint, residual and a dot test from the run's inputs")
	return cmd
}

func (a *app) makeReport(ctx context.Context, f reportFlags) error {
	if ext := strings.ToLower(filepath.Ext(f.output)); ext != ".html" && ext != ".htm" {
		return status.Usage(fmt.Errorf("report: %s: the page is HTML, its name must end in .html", f.output))
	}
	read := []fileUse{{"the image", f.image}, {"--adjoint", f.adjoint}, {"--residual", f.residual}, {"--log", f.log}, {"--trace", f.trace}}
	if err := distinct(read, alike("--output", f.output)); err != nil {
		return err
	}
	source := sourceOf(f.output, f.image)
	remakes := func() bool { return a.force || report.Source(f.output) == source }
	if err := h5.CheckOutput(f.output, remakes()); err != nil {
		return err
	}
	r, err := a.reportOn(ctx, &f)
	if err != nil {
		return err
	}
	if dim := r.Image.Grid.Dim(); len(f.at) != 0 && dim != 3 {
		return status.Usage(errors.New("report: --at: has no say here, the image is no 3-D array whose slices are drawn"))
	} else if len(f.at) != 0 && len(f.at) != dim {
		return status.Usage(fmt.Errorf("report: --at has %s, the image has %d axes", readable.Count(len(f.at), "value"), r.Image.Grid.Dim()))
	}
	r.Source = source
	var page bytes.Buffer
	if err := report.Write(&page, r); err != nil {
		return err
	}
	if err := h5.CheckOutput(f.output, remakes()); err != nil {
		return err // it came to be meanwhile
	}
	if err := job.WriteText(f.output, page.String()); err != nil {
		return err
	}
	a.report.Printf("report: %s\n", f.output)
	a.finish("output", f.output, "bytes", page.Len(), "adjoint", r.Adjoint != nil, "gathers", len(r.Gathers),
		"residual", f.residual != "", "times", r.Times != nil, "notes", len(r.Notes))
	return nil
}

// reportOn gathers what is known of the run.
func (a *app) reportOn(ctx context.Context, f *reportFlags) (*report.Run, error) {
	im, err := a.readImage(ctx, f.image)
	if err != nil {
		return nil, err
	}
	r := &report.Run{File: f.image, Image: im, At: f.at}
	if err := a.find(ctx, f, r); err != nil {
		return nil, err
	}
	if f.compute {
		scratch, err := os.MkdirTemp("", "lsm-report-")
		if err != nil {
			return nil, status.Resource(err)
		}
		defer os.RemoveAll(scratch)
		if err := a.computeFor(ctx, f, r, scratch); err != nil {
			return nil, err
		}
	}
	if err := f.readTold(r); err != nil {
		return nil, err
	}
	if err := a.readAdjoint(ctx, f, r); err != nil {
		return nil, err
	}
	if err := a.readVelocity(ctx, f, r); err != nil {
		return nil, err
	}
	if err := f.readImageGathers(r); err != nil {
		return nil, err
	}
	return r, a.readGathers(ctx, f, r)
}

// readImage reads an image file, in a child process first.
func (a *app) readImage(ctx context.Context, path string) (*h5.Image, error) {
	if err := a.tryFile(ctx, path); err != nil {
		return nil, err
	}
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

// find reads the configuration and looks for the run's files where it names
// them.
func (a *app) find(ctx context.Context, f *reportFlags, r *report.Run) error {
	f.adjointNamed = f.adjoint != ""
	f.inputs = map[string]string{}
	for _, in := range provenance.FromAttrs(r.Image.Attrs).Inputs {
		f.inputs[in.Role] = in.SHA256
	}
	if f.folder != "" {
		if info, err := os.Stat(f.folder); err != nil || !info.IsDir() {
			return status.Usage(fmt.Errorf("report: --folder %s: no such folder", f.folder))
		}
	}
	if r.Image.Config == "" {
		return nil
	}
	var err error
	if r.Config, err = f.parse(r.Image.Config, nil); err != nil {
		return nil // shown as text: another version of lsm has written it
	}
	if path := r.Config.Output.Adjoint; !f.adjointNamed && path.IsSet() {
		if exists(path.File) {
			f.adjoint = path.File
		} else if !f.compute {
			r.Notes = append(r.Notes, fmt.Sprintf("%s, which output.adjoint names, is not there.", path.File))
		}
	}
	if err := a.findResidual(ctx, f, r); err != nil {
		return err
	}
	f.survey, err = f.readByRun(r, "survey", r.Config.Survey.File, "Its traces are not shown.")
	if err != nil {
		return err
	}
	f.velocity, err = f.readByRun(r, "velocity", r.Config.Velocity.File, "It is not shown.")
	return err
}

// readByRun is the file of an input if it is there and the one that the run read, else
// "".
func (f *reportFlags) readByRun(r *report.Run, role string, path config.Path, consequence string) (string, error) {
	if !path.IsSet() || !exists(path.File) {
		return "", nil
	}
	in, err := provenance.Hash(role, path.File)
	if err != nil {
		return "", status.Input(err)
	}
	if in.SHA256 != f.inputs[role] {
		r.Notes = append(r.Notes, fmt.Sprintf("%s is not the %s that the run read: its SHA-256 is another. %s", path.File, role, consequence))
		return "", nil
	}
	return path.File, nil
}

// findResidual takes output.residual if it is of the run that wrote the image.
func (a *app) findResidual(ctx context.Context, f *reportFlags, r *report.Run) error {
	path := r.Config.Output.Residual
	if f.residual != "" || !path.IsSet() {
		return nil
	}
	if !exists(path.File) {
		if !f.compute {
			r.Notes = append(r.Notes, fmt.Sprintf("%s, which output.residual names, is not there.", path.File))
		}
		return nil
	}
	if err := a.tryFile(ctx, path.File); err != nil {
		return err
	}
	attrs, err := h5.ReadAttrs(path.File)
	if err != nil {
		return err
	}
	if made, of := provenance.FromAttrs(attrs), provenance.FromAttrs(r.Image.Attrs); !made.Started.Equal(of.Started) || made.Host != of.Host {
		r.Notes = append(r.Notes, fmt.Sprintf("%s was written by another run than the image. It is not shown.", path.File))
		return nil
	}
	f.residual = path.File
	return nil
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// parse reads the configuration of the run as if it lay in its folder. The
// environment of this process has no say in it.
func (f *reportFlags) parse(text string, set []string) (*config.Config, error) {
	folder := f.folder
	if folder == "" {
		c, err := config.Parse(filepath.Join(filepath.Dir(f.image), "config.toml"), []byte(text), nil, nil)
		if err != nil {
			return nil, err
		}
		folder = runFolder(f.image, c.Output.File.Text)
	}
	return config.Parse(filepath.Join(folder, "config.toml"), []byte(text), set, nil)
}

// runFolder is the folder of the configuration that wrote the image as written
// there: the image's place less that; the image's folder where they do not fit,
// since it may have been moved.
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
func (a *app) readAdjoint(ctx context.Context, f *reportFlags, r *report.Run) error {
	if f.adjoint == "" {
		return nil
	}
	im, err := a.readImage(ctx, f.adjoint)
	if err != nil {
		return err
	}
	fault := ""
	for _, in := range provenance.FromAttrs(im.Attrs).Inputs {
		if want, known := f.inputs[in.Role]; known && want != in.SHA256 {
			fault = fmt.Sprintf("%s was made from another %s than the run's", f.adjoint, in.Role)
		}
	}
	switch {
	case !im.Grid.Equal(r.Image.Grid):
		fault = fmt.Sprintf("%s lies on another grid than the image: %v, not %v", f.adjoint, im.Grid, r.Image.Grid)
	case fault == "" && len(im.ResidualNorm) > 0:
		fault = fmt.Sprintf("%s is no plain migration: it holds the history of a solver", f.adjoint)
	}
	switch {
	case fault == "":
		r.Adjoint, r.AdjointFrom = im, f.adjoint
		if f.computed {
			r.AdjointFrom = "computed for this page"
		}
	case f.adjointNamed || f.computed:
		return status.Input(errors.New(fault))
	default:
		r.Notes = append(r.Notes, fault+". It is not shown.")
	}
	return nil
}
