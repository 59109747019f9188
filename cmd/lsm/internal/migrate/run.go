package migrate

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/solver"
)

func newRun(a *cli.App) *cobra.Command {
	cmd := cli.JobCommand("run CONFIG", "Least-squares migration: from survey to image",
		`Run migrates a survey by least squares: it finds the image whose predicted
traces fit the recorded ones best. It writes the image with its convergence
history, the resolved configuration and where everything came from.

When it gets SIGUSR1 or reaches checkpoint.time_limit, it finishes its iteration and
writes a checkpoint. When it is interrupted or gets SIGTERM it does so if that takes
no more than a second, else it leaves the checkpoint before. The same command with
--resume goes on from there, and the result has the same bits as that of a run that
never stopped. A second signal ends it at once.`,
		`  lsm run config.toml
  lsm run config.toml --set solver.iterations=40 -o image40.h5`,
		func(ctx context.Context, path string) error { return runJob(ctx, a, path) })
	cmd.Flags().BoolVar(&a.Resume, "resume", false, "continue from the newest checkpoint, if there is one")
	cmd.Annotations = cli.Exits("3", "4", "5", "75", "130")
	return cli.Traced(a, cli.Writes(a, cmd))
}

func runJob(ctx context.Context, a *cli.App, path string) error {
	cfg, err := a.Configure(path)
	if err != nil {
		return err
	}
	j, err := a.Open(cfg, pipeline.NeedTraces, cfg.Output.File, cfg.Output.Residual, cfg.Output.Weights)
	if err != nil {
		return err
	}
	defer j.Close()
	result, err := pipeline.Run(ctx, j, pipeline.RunOptions{Resume: a.Resume, Force: a.Force})
	if err != nil {
		return err
	}
	tellResult(a, cfg.Output.File.File, result)
	tellHalves(a, j, result)
	if err := tellWork(a, j); err != nil {
		return err
	}
	return a.Closing(j.Memory().Total())
}

// tellWork adds to the event "done" what all ranks held and did together.
func tellWork(a *cli.App, j *pipeline.Job) error {
	w := j.Work()
	all := []float64{float64(w.Triples), float64(w.TableBytes)}
	err := a.World.Host().AllReduce(all, comm.Sum)
	a.Finish("traces", w.Traces, "triples", int64(all[0]), "tables_bytes", int64(all[1]))
	return err
}

// tellResult says how the solver ended and where the image is.
func tellResult(a *cli.App, out string, result *pipeline.Result) {
	h := result.History.Residual
	last, relative := len(h)-1, 0.0
	if h[0] > 0 {
		relative = h[last] / h[0]
	}
	ended := fmt.Sprintf("%s after %s", result.Reason, readable.Count(last, "iteration"))
	if result.Reason == solver.Matched {
		ended = string(result.Reason)
	}
	a.Report.Printf("%s; residual %.3e, %.2f%% of its start\n", ended, h[last], 100*relative)
	a.Report.Printf("image: %s\n", out)
	a.Finish("output", out, "reason", string(result.Reason), "iterations", last,
		"residual", h[last], "relative_residual", relative)
}

// tellHalves says how well the images of the odd and of the even shots agree, where they were made.
func tellHalves(a *cli.App, j *pipeline.Job, result *pipeline.Result) {
	if !j.Classes().Halves() {
		return
	}
	a.Report.Printf("the odd and the even shots agree by %.3f; lsm plot --field agreement shows where\n", result.Agreed)
	a.Finish("agreement", result.Agreed)
}
