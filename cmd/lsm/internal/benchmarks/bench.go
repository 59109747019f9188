// Package benchmarks holds lsm bench and the commands below it.
package benchmarks

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Command is lsm bench with the commands below it.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the speed of this machine",
		Long: `Bench measures this program on this machine. Each figure is the median of several runs and is
printed with the error of the timed result.`,
		Example: `  lsm bench kernel --threads 1
  lsm bench solve config.toml`,
		RunE: func(*cobra.Command, []string) error {
			return status.Hint(status.Usage(fmt.Errorf("bench: what to measure is missing")), "lsm bench kernel, traveltime, comm, solve, backends or matmul")
		},
		Annotations: cli.Exits("4", "5", "6", "130"),
	}
	cmd.AddCommand(newBenchKernel(a), newBenchTraveltime(a), newBenchComm(a), newBenchSolve(a), newBenchBackends(a), newBenchMatmul(a))
	return cmd
}

// kernelOptions are the choices of lsm bench kernel.
type kernelOptions struct {
	bench.KernelSize
	reproducible string
	limits       bool
}

func newBenchKernel(a *cli.App) *cobra.Command {
	var o kernelOptions
	cmd := &cobra.Command{
		Use:   "kernel",
		Short: "Nanoseconds per (source, receiver, image point) of forward and adjoint",
		Example: `  lsm bench kernel --sources 64 --receivers 128 --shape 401,301 --samples 1500 --threads 1
  lsm bench kernel --shape 101,101,101 --sources 16 --receivers 64 --dynamic --limits`,
		Annotations: cli.Exits("4", "5"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return benchKernel(cmd.Context(), a, o)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&o.Sources, "sources", 16, "sources along the top")
	fl.IntVar(&o.Receivers, "receivers", 64, "receivers along the top")
	fl.IntSliceVar(&o.Shape, "shape", []int{401, 301}, "image points, `NX,NZ` or NX,NY,NZ, 10 m apart")
	fl.IntVar(&o.Samples, "samples", 1500, "samples per trace, 4 ms apart")
	fl.IntVar(&o.Wavelet, "wavelet", 81, "samples of the wavelet; 1 leaves convolution out")
	fl.StringVar(&o.Engine, "engine", "cpu", english.WordSeries(computing(), "or"))
	fl.IntVar(&o.Threads, "threads", 0, "number of threads; 0: all processors")
	fl.BoolVar(&o.Dynamic, "dynamic", false, "use amplitude weights and an angle limit")
	fl.BoolVar(&o.Streamer, "streamer", false, "use a moving spread instead of a fixed one")
	fl.IntVar(&o.Runs, "runs", 5, "number of runs; the median is printed")
	fl.BoolVar(&o.limits, "limits", false, "measure this machine's limits too; a card's are always measured")
	fl.StringVar(&o.reproducible, "reproducible", "ranks", "off leaves out what solver.reproducible = \"ranks\" costs")
	return cmd
}

// computing are the engines of the operator.
func computing() []string { return append(carried(), "reference") }

func (o *kernelOptions) check() error {
	if err := positive(map[string]int{"sources": o.Sources, "receivers": o.Receivers, "runs": o.Runs, "wavelet": o.Wavelet}); err != nil {
		return err
	}
	if !slices.Contains(computing(), o.Engine) {
		return status.Usage(fmt.Errorf("bench: engine %q is unknown, want %s", o.Engine, english.WordSeries(computing(), "or")))
	}
	if o.reproducible != "ranks" && o.reproducible != "off" {
		return status.Usage(fmt.Errorf("bench: --reproducible is %q, want ranks or off", o.reproducible))
	}
	o.Exact = o.reproducible == "ranks" && o.Engine != "reference"
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	return nil
}

func benchKernel(ctx context.Context, a *cli.App, o kernelOptions) error {
	if engine := gpu.EngineOf(o.Engine); engine != nil {
		card, err := pipeline.OpenCard(engine, 1, a.Report.Warn)
		if err != nil {
			return err
		}
		defer card.Close()
		o.Card = card
	}
	r, err := bench.Kernel(ctx, o.KernelSize)
	if err != nil {
		return status.Usage(err)
	}
	var limits *bench.Limits
	if o.limits && r.Card == nil {
		l := bench.MeasureLimits(o.Runs)
		limits = &l
	}
	tellKernel(a, o, r, limits)
	return verdict(r.Verdict)
}

// tellKernel prints a result, with the limits of one core if they were measured.
func tellKernel(a *cli.App, o kernelOptions, r *bench.KernelResult, limits *bench.Limits) {
	say := a.Report.Printf
	say("%s, %v, %s, dynamic %v: %.3g triples\n", r.Engine, o.KernelSize, readable.Count(o.Threads, "thread"), o.Dynamic, float64(r.Triples))
	say("forward %.3f ns  adjoint %.3f ns per triple   %.1f and %.1f GFLOP/s   tables %.3g bytes per triple\n",
		r.Forward, r.Adjoint, r.GFlops[0], r.GFlops[1], r.BytesPer)
	if o.Exact {
		say("with the same bits for any number of ranks: forward %.3f ns (× %.3f)  adjoint %.3f ns (× %.3f)\n",
			r.Exact[0], r.ExactRatio[0], r.Exact[1], r.ExactRatio[1])
	}
	storeShare, gatherShare := 0.0, 0.0
	if limits != nil {
		storeShare, gatherShare = limits.StoreNS/(r.Forward*float64(o.Threads)), limits.GatherNS/(r.Adjoint*float64(o.Threads))
		say("one core here: %.3f ns a pick of two samples (adjoint at %.0f %% of a gather program's limit), %.3f ns an added pair (forward at %.0f %%), memory %.1f GB/s\n",
			limits.GatherNS, 100*gatherShare, limits.StoreNS, 100*storeShare, limits.ReadBytes/1e9)
	}
	if card := r.Card; card != nil {
		say("%.3g triples a second forward, %.3g adjoint\n", 1e9/r.Forward, 1e9/r.Adjoint)
		say("this card copies %.4g GB/s (forward at %.1f %%, adjoint at %.1f %%) and issues %.3g instructions a second (%s)\n",
			card.CopyBytes/1e9, 100*r.CopyShare[0], 100*r.CopyShare[1], card.Issue, shares(r.IssueShare))
	}
	say("dot test %.1e  %s\n", r.DotError, r.Verdict)
	fields := []any{"engine", r.Engine, "triples", r.Triples, "dot_error", r.DotError, "threads", o.Threads, "dynamic", o.Dynamic,
		"table_bytes", r.TableBytes, "bytes_per_triple", r.BytesPer, "limits", limits, "store_share", storeShare, "gather_share", gatherShare,
		"card", r.Card, "verdict", r.Verdict}
	for _, f := range []struct {
		name string
		of   [2]float64 // forward, adjoint
	}{{"ns", [2]float64{r.Forward, r.Adjoint}}, {"exact_ns", r.Exact}, {"exact_ratio", r.ExactRatio},
		{"gflops", r.GFlops}, {"copy_share", r.CopyShare}, {"issue_share", r.IssueShare}} {
		fields = append(fields, "forward_"+f.name, f.of[0], "adjoint_"+f.name, f.of[1])
	}
	a.Report.Event("kernel", fields...)
}

// shares prints the shares of forward and adjoint; zeros mean that they were not counted.
func shares(of [2]float64) string {
	if of == [2]float64{} {
		return "not counted"
	}
	return fmt.Sprintf("%.1f %%, %.1f %%", 100*of[0], 100*of[1])
}

func newBenchTraveltime(a *cli.App) *cobra.Command {
	var shape []int
	var sources, threads, runs int
	cmd := &cobra.Command{
		Use:         "traveltime",
		Short:       "Milliseconds per source and error of the eikonal solver",
		Example:     `  lsm bench traveltime --shape 401,301 --sources 32 --threads 1`,
		Annotations: cli.Exits("4", "5"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := positive(map[string]int{"sources": sources, "runs": runs}); err != nil {
				return err
			}
			if threads <= 0 {
				threads = runtime.GOMAXPROCS(0)
			}
			r, err := bench.Traveltimes(cmd.Context(), shape, sources, threads, runs)
			if err != nil {
				return status.Usage(err)
			}
			a.Report.Printf("eikonal, %d points, %s, %s: %.3f ms a source and core\n", r.Points, readable.Count(r.Sources, "source"), readable.Count(r.Threads, "thread"), r.PerSource)
			a.Report.Printf("relative error: rms %.1e, worst %.1e  %s\n", r.RMS, r.Worst, r.Verdict)
			a.Report.Event("traveltime", "ms_per_source", r.PerSource, "rms_relative", r.RMS, "max_relative", r.Worst,
				"sources", r.Sources, "threads", r.Threads, "points", r.Points, "verdict", r.Verdict)
			return verdict(r.Verdict)
		},
	}
	fl := cmd.Flags()
	fl.IntSliceVar(&shape, "shape", []int{401, 301}, "points of the model, `NX,NZ` or NX,NY,NZ, 10 m apart")
	fl.IntVar(&sources, "sources", 32, "sources")
	fl.IntVar(&threads, "threads", 0, "number of threads; 0: all processors")
	fl.IntVar(&runs, "runs", 5, "number of runs; the median is printed")
	return cmd
}

func positive(values map[string]int) error {
	for name, v := range values {
		if v < 1 {
			return status.Usage(fmt.Errorf("bench: --%s is %d, must be at least 1", name, v))
		}
	}
	return nil
}

func verdict(v string) error {
	if v != "OK" {
		return status.Numerical(fmt.Errorf("bench: the result that was timed is wrong"))
	}
	return nil
}
