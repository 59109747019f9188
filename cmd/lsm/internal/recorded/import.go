package recorded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/internal/fielddata"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/synth"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// importOptions are the choices of lsm import.
type importOptions struct {
	output, folder     string
	plot               string
	mapping            string
	headers            []string
	threeD             bool
	azimuth            float64
	frame              string
	sourceZ, receiverZ float64
	t0                 float64
	ricker             float64
	wavelet            string
	texts              int
	waveletZero        int
	places             placeOptions
	opt                fielddata.Options
	model              modelOptions
}

func newImport(a *cli.App) *cobra.Command {
	f := importOptions{opt: fielddata.DefaultOptions()}
	cmd := &cobra.Command{
		Use:   "import FILE... -o SURVEY",
		Short: "Make a survey from SEG-Y or SU files, or a velocity model with --model",
		Long: `Import makes a survey file from SEG-Y files (revision 0, 1, 2) and SU files, or, with
--model, a velocity model. Without -o it only checks the files. A survey needs the source
wavelet, which SEG-Y does not hold: --ricker makes one, --wavelet reads one.

Files may be larger than the memory. They are read twice: first to find the geometry and
anything unusual, then to copy the traces. Each trace ends up in the survey, or in a list
beside it with the reason. docs/segy.md has the details.

Positions come from the trace headers, at the standard bytes. For other bytes give --header
NAME=BYTE:LENGTH[:SCALE] or --header NAME=none, or a TOML file with a table [header] of such
entries (--mapping). A 2-D survey is projected onto a straight line, which is fitted or given
by --azimuth; import prints how far the positions lie off it. With --3d, x and y are those of
the map, or of the frame of --frame; a run converts them to the frame of its model. z is the
depth below --datum: datum - elevation + depth.

If headers contradict each other, import looks at the traces. If that does not decide, it
refuses the file and names the flag that does: --samples, --extended-texts, --sample-format,
--dt. --salvage takes the whole traces of a damaged file and lists the others.

Stacks and velocities are not surveys. Import refuses them and prints the mapping that makes
zero-offset traces of a stack. It reports static corrections; --apply-statics applies them.

Positions and statics may come from other files: SPS (--sps), UKOOA P1/90 (--p190), CSV
(--positions, --statics). Traces find their records by header words, fldr (field record) and
tracf (channel) unless --key names others. Import lists traces without a record and records
without a trace.

With --model the one FILE is a model in SEG-Y, SU, RSF (Madagascar), raw binary with --shape,
HDF5, NetCDF or .npy. Through Python (LSM_PYTHON) and its libraries import also reads .npz,
MATLAB, TIFF, VTK and Zarr, and surveys in MDIO folders. Import prints the format, axes, units
and spacing that it found and warns of those it guessed. It refuses a file that it could read
in two ways. --units is then the unit of the values: m/s, km/s, ft/s, slowness s/m, s/km, or
its square s2/m2, s2/km2. --crop, --smooth and --resample apply in this order. docs/models.md
has the details.`,
		Example: `  lsm import line.sgy
  lsm import line.sgy -o survey.h5 --ricker 25 --report qc
  lsm import a.sgy b.sgy -o survey.h5 --wavelet wavelet.txt --header receiver_x=181:4
  lsm import swath.su -o survey.h5 --3d --ricker 30
  lsm import --model vp.rsf -o model.h5 --plot model.png
  lsm import --model vp.bin --shape 401,301 --axes z,x --spacing 25,12.5 --units km/s -o model.h5
  lsm import --model eps.sgy --property epsilon --into model.h5 -o vti.h5
  lsm import shots.sgy -o survey.h5 --ricker 30 --sps line.s,line.r,line.x --statics header
  lsm import shots.sgy -o survey.h5 --ricker 30 --positions nav.csv --key fldr,tracf`,
		Annotations: cli.Exits("3", "4", "130"),
		RunE: func(cmd *cobra.Command, files []string) error {
			if f.model.on {
				f.model.plot = f.plot
				if err := cli.InOrder(func() error { return f.model.separate(cmd) }, func() error { return f.model.complete(cmd, &f, files) }); err != nil {
					return status.Usage(fmt.Errorf("import: %w", err))
				}
				return f.model.run(cmd.Context(), a, files[0], f.output)
			}
			if mdio, err := folders(files); err != nil || mdio {
				if err == nil {
					err = f.runMDIO(cmd.Context(), cmd, a, files[0])
				}
				return err
			}
			if err := f.complete(cmd); err != nil {
				return status.Usage(fmt.Errorf("import: %w", err))
			}
			return f.run(cmd.Context(), a, files)
		},
	}
	f.define(cmd)
	for _, name := range []string{"plot", "p190"} {
		cli.NotEmpty(cmd, name, "a file")
	}
	cli.First(cmd, "output", "ricker", "wavelet", "header", "model", "report")
	return cmd
}

func (f *importOptions) define(cmd *cobra.Command) {
	fl, o := cmd.Flags(), &f.opt
	f.model.define(fl)
	fl.StringVarP(&f.output, "output", "o", "", "survey or model `FILE` to write; without it the files are only checked")
	fl.StringVar(&f.plot, "plot", "", "draw the model, or the fold of a survey, in a `PNG` file")
	fl.StringVar(&f.folder, "report", "", "`DIR` for a report: text, pictures, traces left out")
	fl.Float64Var(&f.ricker, "ricker", 0, "wavelet: a Ricker of this peak frequency, `HZ`")
	fl.StringVar(&f.wavelet, "wavelet", "", "wavelet: from this `FILE`, of lsm wavelet, a survey, SEG-Y, SU or a text")
	fl.IntVar(&f.waveletZero, "wavelet-zero", -1, "`N`, the wavelet's sample at time zero (-1: the file's own)")
	fl.StringArrayVar(&f.headers, "header", nil, "where a number lies: `NAME=BYTE:LEN`, such as source_x=73:4; may be repeated")
	fl.StringVar(&f.mapping, "mapping", "", "TOML `FILE` with a table [header] of such positions")
	f.places.define(fl)
	fl.BoolVar(&f.threeD, "3d", false, "keep x and y (columns x y z) instead of a line")
	fl.Float64Var(&f.azimuth, "azimuth", 0, "azimuth of the line, `DEGREES` from y (north) to x (east) (default: fitted)")
	fl.Float64SliceVar(&o.Origin, "line-origin", nil, "`X,Y` on the map, m, where the line's x is 0")
	fl.StringVar(&f.frame, "frame", "", "3-D: `FRAME` of x and y on the map, E,N,AZIMUTH[,left], or FILE that has one")
	fl.Float64Var(&o.Tolerance, "tolerance", o.Tolerance, "positions that lie within `M` metres are one place")
	fl.Float64Var(&o.Datum, "datum", 0, "elevation of z = 0, `M` metres")
	fl.Float64Var(&f.sourceZ, "source-z", 0, "z of all sources, `M` metres; overrides the headers")
	fl.Float64Var(&f.receiverZ, "receiver-z", 0, "z of all receivers, `M` metres; overrides the headers")
	fl.StringVar(&o.Units, "units", "", "lengths in headers: `m`, ft or us-ft; a model's values: m/s, s/km, ...")
	fl.Float64Var(&o.DT, "dt", 0, "sampling interval, `S` seconds; overrides the headers")
	fl.IntVar(&o.NT, "samples", 0, "`N`, samples of a trace, if headers leave it open; otherwise of the survey's")
	fl.IntVar(&f.texts, "extended-texts", 0, "number `N` of extended textual headers; overrides byte 3505")
	fl.BoolVar(&o.Read.Salvage, "salvage", false, "take the whole traces of a damaged file, and list what is not whole")
	fl.Float64Var(&f.t0, "t0", 0, "time of the survey's first sample, `S` seconds (default: as most have)")
	fl.IntSliceVar(&o.IDs, "trace-id", o.IDs, "trace identification `codes` that count as data")
	fl.BoolVar(&o.KeepDead, "keep-dead", false, "keep traces whose samples are all zero")
	fl.BoolVar(&o.KeepDuplicates, "keep-duplicates", false, "keep traces that equal an earlier one of their source and receiver")
	fl.BoolVar(&o.KeepPositive, "keep-positive", false, "keep files without a negative sample, which look like velocities")
	fl.BoolVar(&o.ApplyStatics, "apply-statics", false, "move traces by the static corrections of their headers (bytes 99 to 104)")
	fl.StringVar((*string)(&o.Read.Kind), "format", "", "`segy` or su, of models also rsf, raw, netcdf, ... (default: as the file looks)")
	fl.StringVar((*string)(&o.Read.Order), "byte-order", "", "`big` or little (default: detected)")
	fl.IntVar((*int)(&o.Read.Format), "sample-format", 0, "format `code` of the samples, 1 IBM, 5 IEEE, ...; overrides byte 3225")
}

// complete turns the flags into options.
func (f *importOptions) complete(cmd *cobra.Command) error {
	o := &f.opt
	if err := f.model.separate(cmd); err != nil {
		return err
	}
	for name, to := range map[string]struct {
		flag *float64
		opt  **float64
	}{"azimuth": {&f.azimuth, &o.Azimuth}, "source-z": {&f.sourceZ, &o.SourceZ}, "receiver-z": {&f.receiverZ, &o.ReceiverZ}, "t0": {&f.t0, &o.T0}} {
		if cmd.Flags().Changed(name) {
			*to.opt = to.flag
		}
	}
	if f.threeD {
		o.Dim = 3
	} else if f.frame != "" {
		return errors.New("--frame needs --3d; for a 2-D line give --azimuth and --line-origin")
	}
	if err := f.readTexts(cmd); err != nil {
		return err
	}
	if f.mapping != "" {
		if err := o.Mapping.ReadMapping(f.mapping); err != nil {
			return err
		}
	}
	for _, h := range f.headers {
		if err := o.Mapping.Set(h); err != nil {
			return err
		}
	}
	if err := inspect.CheckForm(o.Read.Kind, o.Read.Order); err != nil {
		return err
	}
	for _, name := range []string{"sps", "positions", "statics", "key"} {
		if list, err := cmd.Flags().GetStringSlice(name); err == nil && cmd.Flags().Changed(name) && len(list) == 0 {
			return fmt.Errorf("--%s is empty", name)
		}
	}
	if err := f.places.check(o); err != nil {
		return err
	}
	switch {
	case o.Read.Format != 0 && o.Read.Format.Bytes() == 0:
		return fmt.Errorf("sample format is %d, want one of 1, 2, 3, 5 to 12, 15, 16", o.Read.Format)
	case f.ricker != 0 && f.wavelet != "":
		return errors.New("give --ricker or --wavelet, not both")
	case f.ricker != 0 && !(f.ricker > 0 && f.ricker < 1e6):
		return fmt.Errorf("the Ricker's peak frequency is %g Hz, must be positive", f.ricker)
	}
	return o.Validate()
}

// readTexts takes --extended-texts, which may be 0.
func (f *importOptions) readTexts(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("extended-texts") {
		return nil
	}
	if f.texts < 0 {
		return fmt.Errorf("--extended-texts is %d, must be at least 0", f.texts)
	}
	f.opt.Read.Texts = &f.texts
	return nil
}

func (f *importOptions) run(ctx context.Context, a *cli.App, files []string) error {
	if err := f.prepare(a, files); err != nil {
		return err
	}
	var err error
	if f.opt.Frame, err = frameOf(f.frame); err != nil {
		return err
	}
	if err := f.places.read(&f.opt); err != nil {
		return err
	}
	im, err := fielddata.Read(ctx, files, f.opt, a.Report)
	if err != nil {
		return err
	}
	defer im.Close()
	tellImport(a, im)
	if f.plot != "" {
		if err := plotFold(a, files, f.plot, im.Dim, im.QC.Fold, im.QC.FoldMap); err != nil {
			return err
		}
	}
	if f.output == "" {
		if err := writeReport(a, im, f.folder); err != nil {
			return err
		}
		if n := len(im.Left); n > 0 && f.folder == "" {
			a.Report.Printf("--report DIR lists the %d traces that would be left out\n", n)
		}
		return nil
	}
	w, err := f.sourceWavelet(im.DT)
	if err != nil {
		return err
	}
	// Refuse everything that can be refused before anything is written.
	if err := im.Room(f.output); err != nil {
		return err
	}
	if err := writeReport(a, im, f.folder); err != nil {
		return err
	}
	attrs, err := importAttrs(a, files, f.places.files())
	if err != nil {
		return err
	}
	if err := im.Write(ctx, f.output, w, h5.WriteOptions{Force: a.Force, Attrs: attrs}, a.Report); err != nil {
		return err
	}
	if err := writeReadiness(ctx, a, f.output, f.folder); err != nil {
		return err
	}
	if len(im.Left) > 0 {
		if err := writeLeft(a, im, f.leftFile()); err != nil {
			return err
		}
		a.Finish("left_out", f.leftFile())
	}
	a.Wrote("survey", f.output)
	return nil
}

// prepare refuses what cannot work before anything large is read.
func (f *importOptions) prepare(a *cli.App, files []string) error {
	var fresh []string // may exist only with --force
	if f.folder != "" {
		if info, err := os.Stat(f.folder); err == nil && !info.IsDir() {
			return status.Usage(fmt.Errorf("import: %s is no folder", f.folder))
		}
		for _, name := range []string{reportText, reportTraces, reportFold, reportOffsets, reportPlaces, reportShot, reportReady, reportUnmatched} {
			fresh = append(fresh, filepath.Join(f.folder, name))
		}
	}
	if err := inspect.CheckPNG(f.plot); err != nil {
		return status.Usage(fmt.Errorf("import: %w", err))
	}
	outputs := cli.Named("--output", f.output, "--plot", f.plot)
	inputs := slices.Concat(cli.Alike("an input", files...), cli.Named("--wavelet", f.wavelet, "--mapping", f.mapping, "--frame", frameFile(f.frame)), f.places.files())
	if err := a.CheckOutputs(inputs, outputs, a.Force); err != nil {
		return err
	}
	if f.output != "" {
		fresh = append(fresh, f.leftFile())
	}
	if err := a.Writes(cli.Alike("a list or picture of import", fresh...)...); err != nil {
		return err
	}
	for _, path := range fresh {
		if _, err := os.Lstat(path); err == nil && !a.Force {
			return fmt.Errorf("import: %s: %w", path, fs.ErrExist)
		}
	}
	if f.output == "" || f.ricker > 0 || f.wavelet != "" {
		return nil
	}
	peak := ""
	if hz := fielddata.PeakFrequency(files[0], f.opt.Read); hz > 0 {
		peak = fmt.Sprintf(" (the spectrum of the first traces peaks at %.3g Hz)", hz)
	}
	return status.Hint(status.Usage(errors.New("import: a survey needs the source wavelet, which SEG-Y and SU files do not hold")),
		"--ricker HZ makes a Ricker wavelet"+peak+", --wavelet FILE reads one; without -o the files are checked alone")
}

// leftFile is the path of the list of traces that are not in the survey.
func (f *importOptions) leftFile() string {
	return strings.TrimSuffix(f.output, filepath.Ext(f.output)) + "-left-out.csv"
}

func (f *importOptions) sourceWavelet(dt float64) (survey.Wavelet, error) {
	if f.wavelet != "" {
		return fielddata.ReadWavelet(f.wavelet, f.waveletZero, dt)
	}
	if nyquist := 0.5 / dt; f.ricker >= nyquist {
		return survey.Wavelet{}, status.Usage(fmt.Errorf("import: the Ricker's peak frequency is %g Hz, must be below %g Hz, half the sampling rate", f.ricker, nyquist))
	}
	return synth.Ricker(f.ricker, dt), nil
}

// importAttrs is the provenance of the survey.
func importAttrs(a *cli.App, files []string, places []cli.FileUse) ([]h5.Attr, error) {
	defer a.Report.Time("hash inputs")()
	var inputs []cli.FileUse
	for i, file := range files {
		role := "segy"
		if len(files) > 1 {
			role = fmt.Sprintf("segy_%d", i+1)
		}
		inputs = append(inputs, cli.Use(role, file))
	}
	for i, file := range places {
		inputs = append(inputs, cli.Use(fmt.Sprintf("%s_%d", strings.TrimPrefix(file.Role, "--"), i+1), file.Path))
	}
	return cli.Made("import", inputs...)
}

func writeLeft(a *cli.App, im *fielddata.Import, path string) error {
	var b strings.Builder
	if err := im.WriteLeft(&b); err != nil {
		return err
	}
	if err := pipeline.WriteText(path, b.String()); err != nil {
		return err
	}
	a.Report.Printf("left out: %s, listed in %s\n", readable.Count(len(im.Left), "trace"), path)
	return nil
}
