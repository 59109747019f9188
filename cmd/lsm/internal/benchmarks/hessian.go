package benchmarks

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// hessianEngines are those whose Hessian is measured.
var hessianEngines = []string{"cpu", "reference"}

func newBenchHessian(a *cli.App) *cobra.Command {
	var o bench.HessianSize
	cmd := &cobra.Command{
		Use:   "hessian",
		Short: "Nanoseconds per (trace, pair of points) of the Hessian of a target",
		Long: `Hessian measures what lsm target is made of: AᵀA of a window in the middle of an image,
for each trace and pair of points whose wavelets overlap on it. The adjoint of the same traces
over the whole image runs in turn with it, for the ratio of a pair to one of its triples (source,
receiver, image point).

The matrix is compared with the operator of the engine reference, and with its transpose.`,
		Example: `  lsm bench hessian --threads 1
  lsm bench hessian --shape 40,40,40 --window 16,16,16 --dynamic`,
		Annotations: cli.Exits("4", "5"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkHessian(&o); err != nil {
				return err
			}
			return benchHessian(cmd.Context(), a, o)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&o.Sources, "sources", 16, "sources along the top")
	fl.IntVar(&o.Receivers, "receivers", 32, "receivers along the top")
	fl.IntSliceVar(&o.Shape, "shape", []int{256, 200}, "image points, `NX,NZ` or NX,NY,NZ, 10 m apart")
	fl.IntSliceVar(&o.Window, "window", []int{64, 64}, "points of the window, `NX,NZ` or NX,NY,NZ")
	fl.IntVar(&o.Samples, "samples", 1000, "samples per trace, 4 ms apart")
	fl.IntVar(&o.Wavelet, "wavelet", 81, "samples of the wavelet")
	fl.StringVar(&o.Engine, "engine", "cpu", strings.Join(hessianEngines, " or "))
	fl.IntVar(&o.Threads, "threads", 0, "number of threads; 0: all processors")
	fl.BoolVar(&o.Dynamic, "dynamic", false, "use amplitude weights and an angle limit")
	fl.IntVar(&o.Runs, "runs", 5, "number of runs; the median is printed")
	return cmd
}

func checkHessian(o *bench.HessianSize) error {
	if err := positive(map[string]int{"sources": o.Sources, "receivers": o.Receivers, "runs": o.Runs, "wavelet": o.Wavelet}); err != nil {
		return err
	}
	if !slices.Contains(hessianEngines, o.Engine) {
		return status.Usage(fmt.Errorf("bench: --engine is %q: the Hessian is measured with %s", o.Engine, strings.Join(hessianEngines, " or ")))
	}
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	return status.Usage(o.Validate())
}

func benchHessian(ctx context.Context, a *cli.App, o bench.HessianSize) error {
	r, err := bench.Hessian(ctx, o)
	if err != nil {
		return status.Usage(err)
	}
	say := a.Report.Printf
	say("%s, %v, %s, dynamic %v: window of %s, %.3g pairs, %.0f %% of them meet\n",
		r.Engine, o.KernelSize, readable.Count(o.Threads, "thread"), o.Dynamic, readable.Count(r.Points, "point"), r.Pairs, 100*r.Met)
	say("Hessian %.3f ns per pair that meets   adjoint %.3f ns per triple   ratio %.3f\n", r.PerPair, r.PerTriple, r.Ratio)
	symmetry := "symmetric to the bit"
	if !r.Symmetric {
		symmetry = "not symmetric"
	}
	say("H v differs from that of the operator by %.1e, %s  %s\n", r.Difference, symmetry, r.Verdict)
	a.Report.Event("hessian", "engine", r.Engine, "points", r.Points, "pairs", r.Pairs, "met", r.Met, "triples", r.Triples,
		"ns_per_pair", r.PerPair, "adjoint_ns", r.PerTriple, "ratio", r.Ratio, "difference", r.Difference, "symmetric", r.Symmetric,
		"threads", o.Threads, "dynamic", o.Dynamic, "verdict", r.Verdict)
	return verdict(r.Verdict)
}
