package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func newBench(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Speed of this machine, with correctness beside",
		Long: `Bench measures the program on this machine. Every figure is the median of
several runs and stands beside the error of what was timed.`,
		GroupID: groupMachine,
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return status.Hint(status.Usage(fmt.Errorf("bench: what to measure is missing")), "lsm bench kernel, lsm bench traveltime or lsm bench comm")
		},
		Annotations: exits("4", "5"),
	}
	cmd.AddCommand(newBenchKernel(a), newBenchTraveltime(a), newBenchComm(a), newBenchSolve(a))
	return cmd
}

func newBenchKernel(a *app) *cobra.Command {
	size := bench.KernelSize{}
	limits := false
	var reproducible string
	cmd := &cobra.Command{
		Use:   "kernel",
		Short: "Nanoseconds per (source, receiver, image point) of forward and adjoint",
		Example: `  lsm bench kernel --sources 64 --receivers 128 --shape 401,301 --samples 1500 --threads 1
  lsm bench kernel --shape 101,101,101 --sources 16 --receivers 64 --dynamic --limits
  lsm bench kernel --antialias 25 --dip-limit 50,60`,
		Args:        arguments(),
		Annotations: exits("4", "5"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := positive(map[string]int{"sources": size.Sources, "receivers": size.Receivers, "runs": size.Runs, "wavelet": size.Wavelet}); err != nil {
				return err
			}
			switch size.Engine {
			case "cpu", "reference":
			case "cuda", "hip":
				card, _, err := operator.OpenCard(engineOf(size.Engine), 1)
				if err != nil {
					return err
				}
				defer card.Close()
				size.Card = card
			default:
				return status.Usage(fmt.Errorf("bench: engine %q is unknown, want cpu, cuda, hip or reference", size.Engine))
			}
			if reproducible != "ranks" && reproducible != "off" {
				return status.Usage(fmt.Errorf("bench: --reproducible is %q, want ranks or off", reproducible))
			}
			size.Exact = reproducible == "ranks" && size.Engine != "reference"
			if size.Threads <= 0 {
				size.Threads = runtime.GOMAXPROCS(0)
			}
			r, err := bench.Kernel(cmd.Context(), size)
			if err != nil {
				return status.Usage(err)
			}
			if limits && r.Card == nil {
				l := bench.MeasureLimits(size.Runs)
				r.Limits = &l
				// The limits are of one core.
				r.StoreShare = l.StoreNS / (r.Forward * float64(size.Threads))
				r.GatherShare = l.GatherNS / (r.Adjoint * float64(size.Threads))
			}
			a.report.Printf("%s, %s, %s, dynamic %v: %.3g triples\n", r.Engine, size, readable.Count(r.Threads, "thread"), r.Dynamic, float64(r.Triples))
			a.report.Printf("forward %.3f ns  adjoint %.3f ns per triple   %.1f and %.1f GFLOP/s   tables %.3g bytes per triple\n",
				r.Forward, r.Adjoint, r.ForwardGFlops, r.AdjointGFlops, r.BytesPer)
			if size.Exact {
				a.report.Printf("with the same bits for any number of ranks: forward %.3f ns (× %.3f)  adjoint %.3f ns (× %.3f)\n",
					r.ForwardExact, r.ForwardRatio, r.AdjointExact, r.AdjointRatio)
			}
			if r.ForwardCost > 0 {
				a.report.Printf("time over that without dip limit and anti-aliasing: forward × %.3f  adjoint × %.3f\n", r.ForwardCost, r.AdjointCost)
				if size.Exact {
					a.report.Printf("and with the same bits for any number of ranks: forward × %.3f  adjoint × %.3f\n", r.ForwardExactCost, r.AdjointExactCost)
				}
			}
			if r.Limits != nil {
				a.report.Printf("one core here: %.3f ns a pick of two samples (adjoint at %.0f %% of a gather program's limit), %.3f ns an added pair (forward at %.0f %%), memory %.1f GB/s\n",
					r.Limits.GatherNS, 100*r.GatherShare, r.Limits.StoreNS, 100*r.StoreShare, r.Limits.ReadBytes/1e9)
			}
			if r.Card != nil {
				a.report.Printf("%.3g triples a second forward, %.3g adjoint\n", 1e9/r.Forward, 1e9/r.Adjoint)
				a.report.Printf("this card copies %.4g GB/s (forward at %.1f %%, adjoint at %.1f %%) and issues %.3g instructions a second (%.1f %%, %.1f %%)\n",
					r.Card.CopyBytes/1e9, 100*r.ForwardCopy, 100*r.AdjointCopy, r.Card.Issue, 100*r.ForwardIssue, 100*r.AdjointIssue)
			}
			a.report.Printf("dot test %.1e  %s\n", r.DotError, r.Verdict)
			a.report.Event("kernel", "engine", r.Engine, "forward_ns", r.Forward, "adjoint_ns", r.Adjoint,
				"forward_exact_ns", r.ForwardExact, "adjoint_exact_ns", r.AdjointExact,
				"forward_exact_ratio", r.ForwardRatio, "adjoint_exact_ratio", r.AdjointRatio,
				"forward_cost", r.ForwardCost, "adjoint_cost", r.AdjointCost,
				"forward_exact_cost", r.ForwardExactCost, "adjoint_exact_cost", r.AdjointExactCost,
				"triples", r.Triples, "dot_error", r.DotError, "threads", r.Threads, "dynamic", r.Dynamic,
				"forward_gflops", r.ForwardGFlops, "adjoint_gflops", r.AdjointGFlops, "table_bytes", r.TableBytes,
				"bytes_per_triple", r.BytesPer, "limits", r.Limits, "store_share", r.StoreShare,
				"gather_share", r.GatherShare, "card", r.Card, "forward_copy_share", r.ForwardCopy, "adjoint_copy_share", r.AdjointCopy,
				"forward_issue_share", r.ForwardIssue, "adjoint_issue_share", r.AdjointIssue, "verdict", r.Verdict)
			return verdict(r.Verdict)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&size.Sources, "sources", 16, "sources along the top")
	fl.IntVar(&size.Receivers, "receivers", 64, "receivers along the top")
	fl.IntSliceVar(&size.Shape, "shape", []int{401, 301}, "image points, `NX,NZ` or NX,NY,NZ, 10 m apart")
	fl.IntVar(&size.Samples, "samples", 1500, "samples a trace, 4 ms apart")
	fl.IntVar(&size.Wavelet, "wavelet", 81, "samples of the wavelet; 1 shows what convolution costs")
	fl.StringVar(&size.Engine, "engine", "cpu", "cpu, cuda, hip or reference")
	fl.IntVar(&size.Threads, "threads", 0, "0: all processors")
	fl.BoolVar(&size.Dynamic, "dynamic", false, "with amplitude weights and angle limit")
	fl.Float64SliceVar(&size.DipLimit, "dip-limit", nil, "with a limit of the dip, `START,CUT` in degrees, and what it costs")
	fl.Float64Var(&size.Antialias, "antialias", 0, "with anti-aliasing for traces `SPACING` metres apart, and what it costs")
	fl.BoolVar(&size.Compact, "compact", false, "times in 16 bits, as kirchhoff.tables = \"uint16\"")
	fl.BoolVar(&size.Streamer, "streamer", false, "a moving spread instead of a fixed one")
	fl.IntVar(&size.Runs, "runs", 5, "runs, of which the median is printed")
	fl.StringVar(&reproducible, "reproducible", "ranks", "off leaves out what solver.reproducible = \"ranks\" costs")
	fl.BoolVar(&limits, "limits", false, "measure this machine's limits as well; a card's are always measured")
	return cmd
}

func newBenchTraveltime(a *app) *cobra.Command {
	var shape []int
	var sources, threads, runs int
	cmd := &cobra.Command{
		Use:         "traveltime",
		Short:       "Milliseconds a source, and the error, of the eikonal solver",
		Example:     `  lsm bench traveltime --shape 401,301 --sources 32 --threads 1`,
		Args:        arguments(),
		Annotations: exits("4", "5"),
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
			a.report.Printf("eikonal, %d points, %s, %s: %.3f ms a source and core\n", r.Points, readable.Count(r.Sources, "source"), readable.Count(r.Threads, "thread"), r.PerSource)
			a.report.Printf("relative error: rms %.1e, worst %.1e  %s\n", r.RMS, r.Worst, r.Verdict)
			a.report.Event("traveltime", "ms_per_source", r.PerSource, "rms_relative", r.RMS, "max_relative", r.Worst,
				"sources", r.Sources, "threads", r.Threads, "points", r.Points, "verdict", r.Verdict)
			return verdict(r.Verdict)
		},
	}
	fl := cmd.Flags()
	fl.IntSliceVar(&shape, "shape", []int{401, 301}, "points of the model, `NX,NZ` or NX,NY,NZ, 10 m apart")
	fl.IntVar(&sources, "sources", 32, "sources")
	fl.IntVar(&threads, "threads", 0, "0: all processors")
	fl.IntVar(&runs, "runs", 5, "runs, of which the median is printed")
	return cmd
}

// engineOf is the engine of a card: "hip", else CUDA.
func engineOf(name string) driver.Engine {
	if name == driver.HIP.String() {
		return driver.HIP
	}
	return driver.CUDA
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
