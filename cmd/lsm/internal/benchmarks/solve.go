package benchmarks

import (
	"context"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// solveOptions are the choices of lsm bench solve.
type solveOptions struct {
	backends   []string
	iterations int
	weak       bool
}

func newBenchSolve(a *cli.App) *cobra.Command {
	o := solveOptions{iterations: 5}
	cmd := &cobra.Command{
		Use:   "solve CONFIG",
		Short: "A whole solve on 1, 2, 4, … ranks and all process grids",
		Long: `Solve measures iterations of CGLS on the survey of a configuration, on 1, 2, 4, … and all
ranks of the run and on every process grid that the survey allows. It prints the time of an
iteration, speed-up and efficiency against one rank, the bytes summed over ranks, the share
of the time that sums take, and how much of it the overlap hides.

With --weak the survey grows with the ranks: r of R ranks take r/R of its shots. Several
backends are measured in turn on each grid; mpi-onesided is mpi with
comm.accumulate = "onesided". Solve writes no file. docs/measuring.md explains the columns.`,
		Example: `  lsm bench solve config.toml
  mpirun -n 4 lsm bench solve config.toml --weak
  mpirun -n 4 lsm bench solve config.toml --backend mpi,mpi-onesided
  srun lsm bench solve config.toml --set kirchhoff.engine=cuda --backend nccl,mpi-staged`,
		Annotations: cli.Exits("3", "4", "5", "6", "130"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := positive(map[string]int{"iterations": o.iterations}); err != nil {
				return err
			}
			if err := besideEachOther(o.backends, "mpi", oneSided, "mpi-staged", "nccl", "rccl"); err != nil {
				return err
			}
			if len(o.backends) > 0 { // all of them use these ranks
				a.Set = append(a.Set, "comm.backend="+controlOf(o.backends))
			}
			cfg, err := a.Configure(args[0])
			if err != nil {
				return err
			}
			if err := a.Once(func() error { return cli.TryInputs(a, cfg) }); err != nil {
				return err
			}
			if len(o.backends) == 0 {
				o.backends = []string{cfg.Comm.Backend}
			} else {
				own := *cfg
				own.Comm.Fallback = "none" // a row shows the requested backend
				cfg = &own
			}
			return benchSolve(cmd.Context(), a, cfg, o)
		},
	}
	cmd.Flags().IntVar(&o.iterations, "iterations", o.iterations, "timed iterations; the median is printed")
	cmd.Flags().StringSliceVar(&o.backends, "backend", nil, "communicators, as in comm.backend, separated by commas (default comm.backend)")
	cmd.Flags().BoolVar(&o.weak, "weak", false, "weak scaling: shots in proportion to the ranks")
	return cmd
}

// oneSided is the backend mpi with sums by one-sided access.
const oneSided = "mpi-onesided"

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

func benchSolve(ctx context.Context, a *cli.App, cfg *config.Config, o solveOptions) error {
	n := a.World.Size()
	shots, err := pipeline.ConfiguredShots(a.World, cfg)
	if err != nil {
		return err
	}
	if n > shots {
		return status.Usage(fmt.Errorf("bench: %d ranks, the survey has %d shots", n, shots))
	}
	table := newScaling(a, o)
	for _, ranks := range counts(n) {
		take := shots
		if o.weak {
			take = max(1, shots*ranks/n)
		}
		for _, grid := range gridsOf(ranks) {
			for _, backend := range o.backends {
				t, unfit, err := trySolve(ctx, a.World, cfg, backend, ranks, grid, take, o.iterations)
				if err != nil {
					return err
				}
				if unfit != nil {
					a.Report.Infof("# %d×%d: %v", grid[0], grid[1], unfit)
				}
				if t == nil {
					continue
				}
				table.row(ranks, grid, backend, t)
			}
		}
	}
	a.Finish("ranks", n)
	return nil
}

// scaling is the table of lsm bench solve.
type scaling struct {
	app   *cli.App
	o     solveOptions
	kind  string
	first map[string]float64 // s, an iteration of one rank, by backend
}

// newScaling prints the head of a table.
func newScaling(a *cli.App, o solveOptions) *scaling {
	kind := "strong"
	if o.weak {
		kind = "weak"
	}
	a.Report.Printf("# %s scaling, %d iterations of CGLS; median of the slowest rank's times on %s\n", kind, o.iterations, a.World.Name())
	a.Report.Printf("#%6s  %7s  %6s  %9s  %9s  %8s  %6s  %10s  %7s  %7s  %6s  %9s  %s\n",
		"ranks", "grid", "shots", "setup s", "iter s", "speed-up", "eff %", "bytes/iter", "sums", "alone %", "hid %", "residual", "backend")
	return &scaling{a, o, kind, map[string]float64{}}
}

// row prints what a trial took.
func (s *scaling) row(ranks int, grid []int, backend string, t *pipeline.Trial) {
	if ranks == 1 {
		s.first[backend] = t.Iteration
	}
	speed := s.first[backend] / t.Iteration
	if s.o.weak {
		speed *= float64(ranks)
	}
	s.app.Report.Printf("%7d  %7s  %6d  %9.3f  %9.4f  %8.2f  %6.1f  %10s  %7d  %7.1f  %6.1f  %9.4e  %s\n",
		ranks, fmt.Sprintf("%d×%d", grid[0], grid[1]), t.Shots, t.Setup, t.Iteration, speed, 100*speed/float64(ranks),
		humanize.IBytes(uint64(t.Bytes)), t.Collective, 100*t.Sequential, 100*t.Hidden, t.Residual, t.Sums)
	s.app.Report.Event("solve", "scaling", s.kind, "backend", t.Sums, "ranks", ranks, "grid", grid, "shots", t.Shots, "traces", t.Traces,
		"setup_s", t.Setup, "iteration_s", t.Iteration, "iterations", s.o.iterations, "seconds", t.Iteration*float64(s.o.iterations),
		"speed_up", speed, "efficiency", speed/float64(ranks), "bytes_sent", t.Bytes, "sums", t.Collective,
		"waiting", t.Waiting, "waiting_without_overlap", t.Sequential, "hidden", t.Hidden, "residual", t.Residual)
}

// trySolve measures one grid on the first ranks while the others wait. Where the survey
// or the image cannot be laid out on the grid, unfit says why.
func trySolve(ctx context.Context, world comm.Comm, cfg *config.Config, backend string, ranks int, grid []int, shots, iterations int) (t *pipeline.Trial, unfit, err error) {
	color := 0
	if world.Rank() >= ranks {
		color = 1
	}
	part, err := world.Split(color, world.Rank())
	if err != nil {
		return nil, nil, err
	}
	if color == 0 {
		laid := *cfg
		laid.Comm.Grid, laid.Comm.Backend = slices.Clone(grid), backend
		if backend == oneSided {
			laid.Comm.Backend, laid.Comm.Accumulate = "mpi", "onesided"
		}
		if laid.Comm.Accumulate == "onesided" && laid.Solver.Reproducible == "run" {
			err = status.Usage(fmt.Errorf("backend %s adds in any order, solver.reproducible is \"run\"", backend))
		} else {
			t, err = pipeline.Try(ctx, part, &laid, shots, iterations)
		}
		if status.Code(err) == status.BadUsage { // too many blocks for the image
			t, unfit, err = nil, err, nil
		}
	}
	return t, unfit, wait(world, err)
}
