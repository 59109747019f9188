package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func newBenchSolve(a *app) *cobra.Command {
	iterations, weak := 5, false
	var backends []string
	cmd := &cobra.Command{
		Use:   "solve CONFIG",
		Short: "A whole solve on 1, 2, 4, … ranks and all process grids",
		Long: `Solve measures iterations of CGLS on the configuration's survey for 1, 2, 4, …
and all ranks that it was started as, on every process grid that the survey allows:
time of an iteration, speed-up and efficiency against one rank, what is summed over
ranks, the share of time that takes and how much of it the overlap hides. With
--weak the survey grows with the ranks: r of R ranks take r/R of its shots. With
several backends each grid is measured by one after the other. Nothing is written.
docs/performance.md derives the columns.`,
		Example: `  lsm bench solve config.toml
  mpirun -n 4 lsm bench solve config.toml --weak
  srun lsm bench solve config.toml --set kirchhoff.engine=cuda --backend nccl,mpi-staged`,
		Args:        arguments("CONFIG"),
		Annotations: exits("3", "4", "5", "6", "130"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if iterations < 1 {
				return status.Usage(fmt.Errorf("bench: --iterations is %d, must be at least 1", iterations))
			}
			if err := besideEachOther(backends); err != nil {
				return err
			}
			if len(backends) > 0 { // the ranks that all of them stand on
				a.set = append(a.set, "comm.backend="+controlOf(backends))
			}
			cfg, err := a.configure(args[0])
			if err != nil {
				return err
			}
			if err := a.once(func() error { return a.tryInputs(cfg) }); err != nil {
				return err
			}
			if len(backends) == 0 {
				backends = []string{cfg.Comm.Backend}
			} else {
				own := *cfg
				own.Comm.Fallback = "none" // a row is of the backend that was asked for
				cfg = &own
			}
			return a.benchSolve(cmd.Context(), cfg, backends, iterations, weak)
		},
	}
	cmd.Flags().IntVar(&iterations, "iterations", iterations, "timed, of which the median is printed")
	cmd.Flags().StringSliceVar(&backends, "backend", nil, "communicators, as comm.backend, with commas between (default comm.backend)")
	cmd.Flags().BoolVar(&weak, "weak", false, "weak scaling: shots in proportion to the ranks")
	return cmd
}

// gridsOf lists the process grids of n ranks.
func gridsOf(n int) (grids [][]int) {
	for blocks := 1; blocks <= n; blocks++ {
		if n%blocks == 0 {
			grids = append(grids, []int{n / blocks, blocks})
		}
	}
	return grids
}

// counts are 1, 2, 4, … and n.
func counts(n int) (list []int) {
	for r := 1; r < n; r *= 2 {
		list = append(list, r)
	}
	return append(list, n)
}

func (a *app) benchSolve(ctx context.Context, cfg *config.Config, backends []string, iterations int, weak bool) error {
	n := a.world.Size()
	shots, err := job.Shots(a.world, cfg)
	if err != nil {
		return err
	}
	if n > shots {
		return status.Usage(fmt.Errorf("bench: %d ranks, the survey has %d shots", n, shots))
	}
	kind := "strong"
	if weak {
		kind = "weak"
	}
	a.report.Printf("# %s scaling on %s, %d iterations of CGLS; median of the slowest rank's times\n", kind, a.world.Name(), iterations)
	a.report.Printf("#%6s  %7s  %6s  %9s  %9s  %8s  %6s  %10s  %7s  %7s  %6s  %9s  %s\n",
		"ranks", "grid", "shots", "setup s", "iter s", "speed-up", "eff %", "bytes/iter", "sums", "alone %", "hid %", "residual", "backend")
	first := map[string]float64{}
	for _, ranks := range counts(n) {
		take := shots
		if weak {
			take = max(1, shots*ranks/n)
		}
		for _, grid := range gridsOf(ranks) {
			for _, backend := range backends {
				t, err := a.trySolve(ctx, cfg, backend, ranks, grid, take, iterations)
				if err != nil {
					return err
				}
				if t == nil {
					continue
				}
				if ranks == 1 {
					first[backend] = t.Iteration
				}
				speed := first[backend] / t.Iteration
				if weak {
					speed *= float64(ranks)
				}
				a.report.Printf("%7d  %7s  %6d  %9.3f  %9.4f  %8.2f  %6.1f  %10s  %7d  %7.1f  %6.1f  %9.4e  %s\n",
					ranks, fmt.Sprintf("%d×%d", grid[0], grid[1]), t.Shots, t.Setup, t.Iteration, speed, 100*speed/float64(ranks),
					humanize.IBytes(uint64(t.Bytes)), t.Collective, 100*t.Sequential, 100*t.Hidden, t.Residual, t.Sums)
				a.report.Event("solve", "scaling", kind, "backend", t.Sums, "ranks", ranks, "grid", grid, "shots", t.Shots, "traces", t.Traces,
					"setup_s", t.Setup, "iteration_s", t.Iteration, "iterations", iterations, "seconds", t.Iteration*float64(iterations),
					"speed_up", speed, "efficiency", speed/float64(ranks), "bytes_sent", t.Bytes, "sums", t.Collective,
					"waiting", t.Waiting, "waiting_without_overlap", t.Sequential, "hidden", t.Hidden, "residual", t.Residual)
			}
		}
	}
	a.finish("ranks", n)
	return nil
}

// trySolve measures one grid on the first ranks while the others wait; nil where
// the survey or the image cannot be laid out so.
func (a *app) trySolve(ctx context.Context, cfg *config.Config, backend string, ranks int, grid []int, shots, iterations int) (*job.Trial, error) {
	color := 0
	if a.world.Rank() >= ranks {
		color = 1
	}
	part, err := a.world.Split(color, a.world.Rank())
	if err != nil {
		return nil, err
	}
	var t *job.Trial
	if color == 0 {
		laid := *cfg
		laid.Comm.Grid, laid.Comm.Backend = slices.Clone(grid), backend
		t, err = job.Try(ctx, part, &laid, shots, iterations)
		if status.Code(err) == status.BadUsage { // too many blocks for the image
			a.report.Infof("# %d×%d: %v", grid[0], grid[1], err)
			t, err = nil, nil
		}
	}
	if waitErr := a.idle(); err == nil {
		err = waitErr
	}
	return t, comm.Together(a.world, err)
}

// idle waits for all ranks without keeping a processor busy, as other collectives
// do, so that ranks without work do not slow the others down.
func (a *app) idle() error {
	r, err := a.world.StartAllReduce(device.Wrap(device.NewHost(1), []int64{0}))
	if err != nil {
		return err
	}
	return r.Wait()
}
