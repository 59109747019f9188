package recorded

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/internal/bridge"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/sniff"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// folders looks for folders among the files: one of MDIO, if it is the only file, is read by
// Python, every other is refused.
func folders(files []string) (mdio bool, err error) {
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			continue // the reader says what is wrong
		}
		kind, err := sniff.Path(path)
		switch {
		case err != nil || kind == sniff.Unknown:
		case kind == sniff.MDIO && len(files) == 1:
			return true, nil
		default:
			return false, status.Hint(status.Input(fmt.Errorf("%s: is %s, not SEG-Y or SU", path, kind)), kind.Hint(path))
		}
	}
	return false, nil
}

// runMDIO makes a survey of an MDIO folder: read_mdio of Python's package, which takes some of the
// flags, writes it beside the output, and it is published after it has been read.
func (f *importOptions) runMDIO(ctx context.Context, cmd *cobra.Command, a *cli.App, path string) (err error) {
	options := map[string]any{}
	cmd.LocalNonPersistentFlags().VisitAll(func(one *pflag.Flag) {
		value, known := map[string]any{
			"output": nil, "3d": 3, "ricker": f.ricker, "wavelet": f.wavelet, "units": f.opt.Units, "datum": f.opt.Datum,
			"source-z": f.sourceZ, "receiver-z": f.receiverZ,
		}[one.Name]
		switch {
		case !one.Changed:
		case !known && err == nil:
			err = status.Usage(fmt.Errorf("import: --%s is for SEG-Y and SU, %s is an MDIO folder", one.Name, path))
		case value != nil:
			options[strings.NewReplacer("3d", "dim", "-", "_").Replace(one.Name)] = value
		}
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(options)
	if err != nil {
		return status.Usage(err) // a number that is none
	}
	beside := os.TempDir()
	if f.output != "" {
		if err := a.CheckOutput(cli.Named("the input", path), f.output, a.Force); err != nil {
			return err
		}
		beside = filepath.Dir(f.output)
	}
	folder, err := os.MkdirTemp(beside, ".lsm-import-")
	if err != nil {
		return status.Resource(err)
	}
	defer os.RemoveAll(folder)
	var said struct{ Warnings []string }
	made := filepath.Join(folder, "survey.h5")
	if err := bridge.Read(ctx, "mdio", path, made, []string{string(text)}, &said, "multidimio", ""); err != nil {
		return err
	}
	r, err := inspect.OpenTraces(made, "")
	if err != nil {
		return err
	}
	defer r.Close()
	s := r.Survey()
	for _, w := range said.Warnings {
		a.Report.Warn(w)
	}
	a.Report.Printf("%s: MDIO, %s of %d samples at %g s, %s, %s\n", path, readable.Count(s.NumTraces(), "trace"), s.NT, s.DT,
		readable.Count(s.NumSources(), "source"), readable.Count(s.NumReceivers(), "receiver"))
	if f.output == "" {
		a.Report.Printf("nothing is written without -o\n")
		return nil
	}
	record, err := cli.Made("import", cli.Use("mdio", path))
	if err != nil {
		return err
	}
	attrs, err := h5.ReadAttrs(made)
	if err != nil {
		return err
	}
	opt := h5.WriteOptions{Force: a.Force, Attrs: slices.Concat(record, provenance.Others(attrs))}
	if err := copySurvey(ctx, r, f.output, opt); err != nil {
		return err
	}
	a.Wrote("survey", f.output)
	return nil
}

// copySurvey writes a survey again, a stretch of traces at a time.
func copySurvey(ctx context.Context, r *h5.SurveyReader, path string, opt h5.WriteOptions) error {
	s := r.Survey()
	w, err := h5.CreateSurvey(path, s, opt)
	if err != nil {
		return err
	}
	defer w.Abort()
	const most = 1 << 22 // samples of a stretch
	step := max(1, most/s.NT)
	data := make([]float32, min(step, s.NumTraces())*s.NT)
	for first := 0; first < s.NumTraces(); first += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(step, s.NumTraces()-first)
		if err := r.ReadTraces(data[:n*s.NT], first, n); err != nil {
			return err
		}
		if err := w.WriteTraces(data[:n*s.NT], first); err != nil {
			return err
		}
	}
	return w.Commit()
}
