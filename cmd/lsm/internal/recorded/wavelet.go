package recorded

import (
	"fmt"
	"math"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// waveletOptions are the choices of lsm wavelet.
type waveletOptions struct {
	output, picture    string
	phase              string
	turn               float64
	direct, seaFloor   []float64
	coefficient, align float64
	length, before     float64
	offsets, times     []float64
	config, image      string
	ridge              float64

	given func(flag string) bool
}

func newWavelet(a *cli.App) *cobra.Command {
	var o waveletOptions
	cmd := &cobra.Command{
		Use:   "wavelet [SURVEY] -o WAVELET",
		Short: "Estimate the source wavelet from the traces",
		Long: `Wavelet estimates the source wavelet of a survey and writes it to a file, in one of three
ways. survey.wavelet_file of a configuration, or lsm import --wavelet, then names the file.

From spectra (--phase): if the reflectivity is white, the mean power spectrum of the traces is
that of the wavelet. The phase is assumed: zero, with time zero in the middle, or minimum, with
time zero at the first sample. The largest sample is 1. --turn rotates the phase. Wavelet
prints the rotation that makes the traces most spiky, which is meaningful if reflections are
few and strong.

From an arrival (--direct, --sea-floor): windows around a wave of known moveout are aligned and
stacked. The direct wave arrives at T0 + offset/V, the reflection of the sea floor at
sqrt(T0^2 + offset^2/V^2). The time given is time zero of the wavelet. The stack is divided by
--coefficient, the signed reflection coefficient. The spreading of the wave is not removed.

By least squares (--config, --image): the wavelet with which the image predicts the traces
best, with the operator, weights and mute of the configuration. Only its product with the image
is determined, so its scale is relative to that of the image.`,
		Example: `  lsm wavelet survey.h5 -o wavelet.h5 --phase minimum --picture wavelet.png
  lsm wavelet survey.h5 -o wavelet.h5 --sea-floor 0.467,1500 --coefficient 0.3
  lsm wavelet --config config.toml --image image.h5 -o wavelet.h5
  lsm run config.toml --set survey.wavelet_file=wavelet.h5`,
		Annotations: cli.Exits("3", "4", "5", "130"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.given = cmd.Flags().Changed
			if err := o.check(args); err != nil {
				return status.Usage(fmt.Errorf("wavelet: %w", err))
			}
			if o.config != "" {
				return o.fromImage(cmd.Context(), a)
			}
			if a.LeavesToRoot() {
				return nil
			}
			return o.fromTraces(cmd.Context(), a, args[0])
		},
	}
	o.define(cmd)
	cli.First(cmd, "output", "phase", "length", "config", "image")
	return cmd
}

func (o *waveletOptions) define(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&o.output, "output", "o", "", "wavelet `FILE` to write")
	fl.StringVar(&o.picture, "picture", "", "PNG `FILE` with the wavelet and its spectrum")
	fl.StringVar(&o.phase, "phase", "zero", "from spectra: `KIND` of phase, zero or minimum")
	fl.Float64Var(&o.turn, "turn", 0, "from spectra: turn the phase by `DEGREES`")
	fl.Float64SliceVar(&o.direct, "direct", nil, "from the direct wave at `T0,V`: s, m/s")
	fl.Float64SliceVar(&o.seaFloor, "sea-floor", nil, "from the sea floor's reflection at `T0,V`: s at offset 0, m/s")
	fl.Float64Var(&o.coefficient, "coefficient", 1, "from an arrival: `R`, its reflection coefficient")
	fl.Float64Var(&o.align, "align", 0.016, "from an arrival: how far windows may move, `S` seconds")
	fl.Float64SliceVar(&o.offsets, "offsets", nil, "`FROM,TO` in m of the traces to use (default: all)")
	fl.Float64SliceVar(&o.times, "times", nil, "from spectra: `FROM,TO` in s of the samples to use (default: all)")
	fl.Float64Var(&o.length, "length", 0.2, "length of the wavelet, `S` seconds (with --image: the given one's)")
	fl.Float64Var(&o.before, "before", 0, "`S` seconds of it before time zero (default: half; with --image: the given one's)")
	fl.StringVar(&o.config, "config", "", "by least squares: configuration `FILE`")
	fl.StringVar(&o.image, "image", "", "by least squares: image `FILE`")
	fl.Float64Var(&o.ridge, "ridge", 1e-4, "by least squares: weight `E` of the wavelet's energy")
	cli.Require(cmd, "output")
	cli.NotEmpty(cmd, "output", "a file")
	cmd.MarkFlagsMutuallyExclusive("phase", "direct", "sea-floor", "config")
}

// check refuses options that contradict each other.
func (o *waveletOptions) check(args []string) error {
	arrival := o.direct != nil || o.seaFloor != nil
	switch {
	case o.config == "" && len(args) == 0:
		return fmt.Errorf("SURVEY is missing, or --config and --image")
	case o.config != "" && len(args) > 0:
		return fmt.Errorf("%s beside --config, which names its survey", args[0])
	case (o.config == "") != (o.image == ""):
		return fmt.Errorf("--config and --image go together")
	case o.phase != "zero" && o.phase != "minimum":
		return fmt.Errorf("--phase %s: want zero or minimum", o.phase)
	case !(o.length > 0 && o.before >= 0 && o.before <= o.length):
		return fmt.Errorf("--length %g s and --before %g s: want a length above 0 and a part of it", o.length, o.before)
	case !(o.align >= 0 && o.align <= o.length):
		return fmt.Errorf("--align %g s: want 0 up to the length, %g s", o.align, o.length)
	case o.coefficient == 0 || math.IsNaN(o.coefficient-o.coefficient):
		return fmt.Errorf("--coefficient %g: want a number other than 0", o.coefficient)
	case !(o.ridge > 0 && o.ridge <= 1):
		return fmt.Errorf("--ridge %g: want a number above 0, at most 1", o.ridge)
	case math.IsNaN(o.turn - o.turn):
		return fmt.Errorf("--turn %g: want degrees", o.turn)
	}
	for _, r := range []struct {
		flag   string
		values []float64
	}{{"offsets", o.offsets}, {"times", o.times}} {
		if r.values != nil && (len(r.values) != 2 || !(r.values[0] < r.values[1])) {
			return fmt.Errorf("--%s has %v, want two numbers that ascend", r.flag, r.values)
		}
	}
	for flag, values := range map[string][]float64{"direct": o.direct, "sea-floor": o.seaFloor} {
		if values != nil && (len(values) != 2 || !(values[0] >= 0) || !(values[1] > 0) || math.IsInf(values[1], 0)) {
			return fmt.Errorf("--%s has %v, want a time from 0 s on and a velocity above 0", flag, values)
		}
		if values != nil {
			if err := velocity.Plausible(values[1], values[1]); err != nil {
				return fmt.Errorf("--%s: %w", flag, err)
			}
		}
	}
	for _, idle := range []struct {
		flag string
		acts bool
	}{
		{"turn", !arrival && o.config == ""}, {"times", !arrival && o.config == ""},
		{"coefficient", arrival}, {"align", arrival}, {"before", arrival || o.config != ""},
		{"offsets", o.config == ""}, {"ridge", o.config != ""},
	} {
		if o.given(idle.flag) && !idle.acts {
			return fmt.Errorf("--%s has no effect on a wavelet that is estimated this way", idle.flag)
		}
	}
	return inspect.CheckPNG(o.picture)
}

// samples are the number of samples at dt s of the wavelet, and the index of its time zero.
func (o *waveletOptions) samples(dt float64) (n, zero int) {
	n = counts.Near(o.length/dt, 0, counts.Most-1) + 1
	zero = n / 2
	if o.given("before") {
		zero = counts.Near(o.before/dt, 0, n-1)
	}
	return n, zero
}

// write publishes the wavelet, and a picture with it if the user chose one. Lines are spectra to
// draw beside that of the wavelet.
func (o *waveletOptions) write(a *cli.App, w survey.Wavelet, how string, attrs []h5.Attr, source []string, lines ...picture.Line) error {
	attrs = append([]h5.Attr{{Name: "estimate", Value: how}}, attrs...)
	if err := h5.WriteWavelet(o.output, w, h5.WriteOptions{Force: a.Force, Attrs: attrs}); err != nil {
		return err
	}
	a.Wrote("wavelet", o.output, "samples", len(w.Samples), "zero", w.Zero, "dt", w.DT)
	a.Report.Printf("  %s\n", inspect.WaveletText(w))
	if o.picture == "" {
		return nil
	}
	figure, err := inspect.WaveletFigure(w, picture.Options{Title: filepath.Base(o.output)}, lines...)
	if err != nil {
		return status.Input(err)
	}
	a.Finish("picture", o.picture)
	return inspect.WritePicture(a, o.picture, "picture", figure, source...)
}

// checkOutputs refuses outputs that cannot be written.
func (o *waveletOptions) checkOutputs(a *cli.App, read ...cli.FileUse) error {
	return a.CheckOutputs(read, cli.Named("--output", o.output, "--picture", o.picture), a.Force)
}
