package recorded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/internal/condition"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// processing is the work of lsm process.
type processing struct {
	output   string
	velocity string // file, or m/s
	undo     int
	first    string // where the first survey is now

	source string // the file that the steps start from
	digest string // its SHA-256
}

func newProcess(a *cli.App) *cobra.Command {
	var p processing
	cmd := &cobra.Command{
		Use:   "process SURVEY [STEP]... -o SURVEY",
		Short: "Prepare traces: band-pass, gain, mute, f-k, deconvolution",
		Long: `Process applies steps to the traces of a survey, in the order given, and writes a new
survey. It works shot by shot, so the survey may be larger than the memory. Steps:

` + condition.Help() + `
Band-pass and deconvolution also act on the survey's wavelet, so that it still fits the
traces. The output records all steps since the first survey and the digest of that
survey. --undo N makes the survey again from the first one, without the last N steps. If
the first survey has moved, --first gives its path.`,
		Example: `  lsm process line.h5 bandpass=4,8,50,65 mute=top,picks.csv -o clean.h5
  lsm process line.h5 gain=2 decon=predictive,0.032,0.16 balance=trace -o even.h5
  lsm process vsp.h5 mute=arrival,0.05 --velocity model.h5 -o upgoing.h5
  lsm process clean.h5 --undo 1 -o before.h5`,
		Annotations: cli.Exits("3", "4", "130"),
		RunE:        func(cmd *cobra.Command, args []string) error { return p.run(cmd.Context(), a, args[0], args[1:]) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&p.output, "output", "o", "", "survey `FILE` to write")
	fl.StringVar(&p.velocity, "velocity", "", "velocity model `FILE`, or a number of m/s, for steps by first arrivals")
	fl.IntVar(&p.undo, "undo", 0, "make the survey without the last `N` steps")
	fl.StringVar(&p.first, "first", "", "with --undo: path `FILE` of the first survey, if it has moved")
	cli.Require(cmd, "output")
	return cmd
}

// Root attributes of a processed survey.
const (
	stepsAttr  = "processing"        // the steps, one a line
	sourceAttr = "processing_source" // path of the first survey, from the folder of this one
	digestAttr = "processing_source_sha256"
)

func (p *processing) run(ctx context.Context, a *cli.App, path string, steps []string) error {
	switch {
	case p.undo < 0:
		return status.Usage(fmt.Errorf("process: --undo is %d, must be at least 0", p.undo))
	case p.first != "" && p.undo == 0:
		return status.Usage(errors.New("process: --first needs --undo"))
	case p.undo > 0 && len(steps) > 0:
		return status.Usage(errors.New("process: give steps or --undo, not both"))
	case p.undo == 0 && len(steps) == 0:
		return status.Usage(errors.New("process: no step is given; lsm process -h lists them"))
	}
	inputs := cli.Alike("the survey", path)
	if _, err := strconv.ParseFloat(p.velocity, 64); err != nil {
		inputs = append(inputs, cli.Use("--velocity", p.velocity))
	}
	if err := a.CheckOutput(inputs, p.output, a.Force); err != nil {
		return err
	}
	before, err := p.history(path)
	if err != nil {
		return err
	}
	if err := a.Reads(cli.Use("the first survey", p.source)); err != nil { // which --undo will read
		return err
	}
	from := path
	if p.undo > 0 {
		if from, steps, err = p.back(path, before); err != nil {
			return err
		}
		before = nil
	}
	r, err := inspect.OpenTraces(from, "process works on traces")
	if err != nil {
		return err
	}
	defer r.Close()
	chain, err := condition.New(steps, r.Survey(), p.arrivals(ctx, a, r.Survey()))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return status.Usage(fmt.Errorf("process: %w", err))
	}
	if err := a.Reads(cli.Alike("a step's file", chain.Files...)...); err != nil {
		return err
	}
	return p.write(ctx, a, r, chain, before)
}

// history reads the steps that made a survey, and finds the survey that they started from.
func (p *processing) history(path string) (steps []string, err error) {
	attrs, err := h5.ReadAttrs(path)
	if err != nil {
		return nil, err
	}
	for _, at := range attrs {
		text, _ := at.Value.(string)
		switch at.Name {
		case stepsAttr:
			steps = strings.Split(text, "\n")
		case sourceAttr:
			p.source = text
			if !filepath.IsAbs(text) {
				p.source = filepath.Join(filepath.Dir(path), text)
			}
		case digestAttr:
			p.digest = text
		}
	}
	if len(steps) > 0 {
		return steps, nil
	}
	in, err := provenance.Hash("survey", path)
	p.source, p.digest = path, in.SHA256
	return nil, status.Input(err)
}

// back returns the first survey and the steps that are left.
func (p *processing) back(path string, steps []string) (string, []string, error) {
	left := len(steps) - p.undo
	switch {
	case len(steps) == 0:
		return "", nil, status.Input(fmt.Errorf("%s: no step has been applied to it", path))
	case left < 0:
		return "", nil, status.Usage(fmt.Errorf("process: --undo is %d, %s went through %s", p.undo, path, readable.Count(len(steps), "step")))
	case left == 0:
		return "", nil, status.Usage(fmt.Errorf("process: before all its steps, %s was %s", path, p.source))
	}
	p.source = cmp.Or(p.first, p.source)
	in, err := provenance.Hash("survey", p.source)
	const moved = "--first FILE says where the first survey is"
	if err != nil {
		return "", nil, status.Hint(status.Input(fmt.Errorf("the survey that %s was made of: %w", path, err)), moved)
	}
	if in.SHA256 != p.digest && p.first != "" {
		return "", nil, status.Input(fmt.Errorf("%s is not the survey that %s was made of: its SHA-256 is %s, want %s", p.source, path, in.SHA256, p.digest))
	}
	if in.SHA256 != p.digest {
		return "", nil, status.Hint(status.Input(fmt.Errorf("%s is no longer the survey that %s was made of: its SHA-256 is %s, was %s", p.source, path, in.SHA256, p.digest)), moved)
	}
	return p.source, steps[:left], nil
}

// write carries the steps out.
func (p *processing) write(ctx context.Context, a *cli.App, r *h5.SurveyReader, chain *condition.Chain, before []string) error {
	attrs, err := p.attrs(r, slices.Concat(before, chain.Steps))
	if err != nil {
		return err
	}
	order, cuts := chain.Order()
	if _, err := r.Arrange(order, cuts, filepath.Dir(p.output)); err != nil {
		return err
	}
	// The wavelet is written before the traces, but deconvolution finds its operator in them.
	read := func(dst []float32, traces []int32) error { return r.ReadTraceList(dst, traces) }
	if n := chain.Passes() - 1; n > 0 {
		stage := a.Report.Stage("measure")
		stage.Total(n*chain.Shots(), "shots")
		err := chain.Learn(ctx, read, func() { stage.Add(1) })
		stage.End()
		if err != nil {
			return status.Input(err)
		}
	}
	stage := a.Report.Stage("process")
	stage.Total(chain.Shots(), "shots")
	defer stage.End()
	s := chain.Survey()
	wavelet, changed, approximate, err := chain.Wavelet(s.Wavelet)
	if err != nil {
		return status.Input(err)
	}
	s.Wavelet = wavelet
	w, err := h5.CreateSurvey(p.output, s, h5.WriteOptions{Force: a.Force, Attrs: attrs})
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := chain.Run(ctx, read, w.WriteTraceList, func() { stage.Add(1) }); err != nil {
		return status.Input(err)
	}
	if err := errors.Join(r.Unchanged(), w.Commit()); err != nil {
		return err
	}
	stage.End()
	if left, err := leftBehind(r.Path(), p.output); err != nil {
		return err
	} else if len(left) > 0 {
		a.Report.Warn(fmt.Sprintf("%s: does not hold %s of %s: process copies only the survey", p.output, strings.Join(left, ", "), r.Path()))
	}
	for _, step := range approximate {
		a.Report.Warn(fmt.Sprintf("%s differs from trace to trace: the wavelet of %s got the mean operator", step, p.output))
	}
	if changed {
		a.Report.Infof("the wavelet went through the same filters and has %s now", readable.Count(len(s.Wavelet.Samples), "sample"))
	}
	a.Wrote("survey", p.output, "steps", len(before)+len(chain.Steps), "wavelet_changed", changed)
	return nil
}

// leftBehind lists the datasets that one file has and another lacks.
func leftBehind(from, to string) (names []string, err error) {
	old, err := h5.Describe(from, h5.DescribeOptions{})
	if err != nil {
		return nil, err
	}
	made, err := h5.Describe(to, h5.DescribeOptions{})
	if err != nil {
		return nil, err
	}
	for _, o := range old.Objects {
		if o.Class == "dataset" && !slices.ContainsFunc(made.Objects, func(m h5.Object) bool { return m.Name == o.Name }) {
			names = append(names, o.Name)
		}
	}
	return names, nil
}

// attrs returns the attributes of the output's root. They include those of the survey, except its
// provenance.
func (p *processing) attrs(r *h5.SurveyReader, steps []string) ([]h5.Attr, error) {
	old, err := h5.ReadAttrs(r.Path())
	if err != nil {
		return nil, err
	}
	made, err := cli.Made("process", cli.Use("survey", r.Path()))
	if err != nil {
		return nil, err
	}
	attrs := slices.DeleteFunc(provenance.Others(old), func(at h5.Attr) bool {
		return at.Name == stepsAttr || at.Name == sourceAttr || at.Name == digestAttr
	})
	return slices.Concat(made, attrs, []h5.Attr{
		{Name: stepsAttr, Value: strings.Join(steps, "\n")},
		{Name: sourceAttr, Value: inspect.SourceOf(p.output, p.source)},
		{Name: digestAttr, Value: p.digest},
	}), nil
}
