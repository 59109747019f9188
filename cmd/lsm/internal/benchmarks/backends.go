package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// docs/gpu.md promises that least-squares images of a card and of the cpu differ by at most this
// distance (relative, L2), up to this number of iterations.
const (
	promisedDistance   = 1e-4
	promisedIterations = 20
)

// backendsOptions are the choices of lsm bench backends. The embedded Iterations counts the timed
// sums.
type backendsOptions struct {
	commOptions
	iterations int
	plot       string
}

func newBenchBackends(a *cli.App) *cobra.Command {
	o := backendsOptions{iterations: 5}
	cmd := &cobra.Command{
		Use:   "backends CONFIG",
		Short: "Processor and GPU, MPI and NCCL: one solve by each, compared",
		Long: `Backends solves the problem of a configuration in every way that this machine offers:
processors with MPI, GPUs with MPI through the host, GPUs with GPU-aware MPI, and GPUs with
NCCL or RCCL. A line says why the others are not offered. Backends writes no image.

For each way it prints the bandwidth of an all-reduce by size and the time of an iteration. It
also prints the share of that time that sums over ranks take without overlap, how much of it
the overlap hides, the residual, and the digest of the image. The verdict compares times and
images: images of one engine must have the same bits with solver.reproducible = "ranks", and
engines may differ as far as docs/gpu.md allows. docs/measuring.md explains the columns.`,
		Example: `  mpirun -n 2 lsm bench backends config.toml
  srun lsm bench backends config.toml --iterations 10 --plot backends.png
  mpirun -n 2 lsm bench backends config.toml --engine hip --last 256MiB --json`,
		Annotations: cli.Exits("3", "4", "5 a sum or an image is wrong", "6", "130"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(a.Force); err != nil {
				return err
			}
			// All ways run on these ranks; each way then has its own engine and backend.
			a.Set = append(a.Set, "kirchhoff.engine=cpu", "comm.backend=auto", "comm.fallback=none", "comm.accumulate=allreduce")
			cfg, err := a.Configure(args[0])
			if err != nil {
				return err
			}
			if err := a.Once(func() error { return cli.TryInputs(a, cfg) }); err != nil {
				return err
			}
			b := &backends{app: a, cfg: cfg, o: o}
			return b.run(cmd.Context())
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&o.iterations, "iterations", o.iterations, "timed iterations of CGLS, at most 20; the median is printed")
	fl.StringVar(&o.first, "first", "4KiB", "`bytes` of the smallest array of the all-reduce")
	fl.StringVar(&o.last, "last", "64MiB", "`bytes` of the largest array; memory may end the list earlier")
	fl.StringVar(&o.engine, "engine", "auto", "engine of the GPUs: "+strings.Join(gpu.Names(), ", ")+", or auto for the one that is found")
	fl.StringVar(&o.plot, "plot", "", "`PNG` of bandwidth by size and time by backend")
	return cmd
}

func (o *backendsOptions) check(force bool) (err error) {
	if err := positive(map[string]int{"iterations": o.iterations}); err != nil {
		return err
	}
	if o.iterations > promisedIterations {
		return status.Usage(fmt.Errorf("bench: --iterations is %d, must be at most %d: images of cpu and GPU are only promised to agree that long", o.iterations, promisedIterations))
	}
	if names := append([]string{"auto"}, gpu.Names()...); !slices.Contains(names, o.engine) {
		return status.Usage(fmt.Errorf("bench: --engine is %q, want %s", o.engine, english.WordSeries(names, "or")))
	}
	o.Factor, o.commOptions.Iterations, o.Warmup, o.Operations = 4, 10, 2, []string{"all-reduce"}
	if err := o.readSizes(); err != nil || o.plot == "" {
		return err
	}
	return pipeline.CheckOutput(o.plot, force)
}

// backends is the comparison under way.
type backends struct {
	app     *cli.App
	cfg     *config.Config
	o       backendsOptions
	ways    []*way
	threads int // of this rank's share of the machine
	wrong   int64
}

// way is an engine with the communicator that carries its sums over ranks.
type way struct {
	engine, backend string // as in kirchhoff.engine and comm.backend

	why   string // why it was not measured; "" if it was
	sums  []bench.CommRow
	trial *pipeline.Trial
}

func (w *way) String() string { return w.engine + " " + w.backend }

// run measures and tells everything.
func (b *backends) run(ctx context.Context) error {
	read := append(cli.Named("the configuration file", b.cfg.Path()), cli.Uses(b.cfg.Reads())...)
	if err := b.app.Once(func() error { return b.app.CheckOutputs(read, cli.Named("--plot", b.o.plot), b.app.Force) }); err != nil {
		return err
	}
	if err := b.measureSums(ctx); err != nil {
		return err
	}
	b.tellSums()
	b.tellHead()
	for _, w := range b.ways {
		if w.why == "" {
			if err := b.excuse(ctx, w, b.solve(ctx, w)); err != nil {
				return err
			}
		}
		b.tell(w)
	}
	if b.o.plot != "" {
		if err := b.app.Once(b.plot); err != nil {
			return err
		}
	}
	b.app.Finish("ranks", b.app.World.Size())
	return b.app.Once(b.verdict)
}

// excuse keeps an error as the reason why a way is not measured. It returns errors of the first
// way, errors that not all ranks share, and errors that say that a result is wrong.
func (b *backends) excuse(ctx context.Context, w *way, err error) error {
	var agreed *comm.Agreed
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, w == b.ways[0], b.app.World.Size() > 1 && !errors.As(err, &agreed),
		status.Code(err) == status.Stopped, status.Code(err) == status.NotNumerical:
		return err
	}
	w.why, w.trial = err.Error(), nil
	return nil
}

// measureSums finds the ways and measures the all-reduce of each. GPUs are open meanwhile.
func (b *backends) measureSums(ctx context.Context) error {
	threads, onNode, err := b.o.joinMachine(b.app.World)
	if err != nil {
		return err
	}
	b.threads = threads
	if b.o.Type = device.F32; b.cfg.Solver.Reproducible == "ranks" {
		b.o.Type = device.F64 // what exact sums travel as
	}
	engine, err := b.cards()
	if err != nil {
		return err
	}
	b.ways = []*way{{engine: "cpu", backend: b.app.World.Name()}}
	through := []string{"mpi-staged", "mpi", nccl.Backend(engine)}
	if b.app.World.Size() == 1 { // which sends nothing: MPI's two ways are one
		through = []string{b.app.World.Name(), nccl.Backend(engine)}
	}
	for _, backend := range through {
		b.ways = append(b.ways, &way{engine: engine.String(), backend: backend})
	}
	if err := b.reduce(ctx, b.ways[0]); err != nil {
		return err
	}
	var claim comm.Claim
	b.o.Card, claim, err = openCards(b.app, engine, onNode)
	if err == nil {
		defer b.o.Card.Close()
	}
	for _, w := range b.ways[1:] {
		err := err
		if err == nil && w.backend == "mpi" && !claim.Takes {
			err = &comm.Agreed{Err: fmt.Errorf("MPI does not take memory of %v's GPUs: %s", engine, claim.Why)}
		}
		if err == nil {
			err = b.reduce(ctx, w)
		}
		if err := b.excuse(ctx, w, err); err != nil {
			return err
		}
	}
	return nil
}

// cards is the engine of the GPUs to measure: for auto what rank 0 finds, or the first that there is.
func (b *backends) cards() (accel.Engine, error) {
	if b.o.engine != "auto" {
		return gpu.EngineOf(b.o.engine), nil
	}
	mine, err := pipeline.FindGPU()
	if err != nil {
		mine = gpu.Engines[0]
	}
	all, err := comm.GatherJSON(b.app.World.Host().AllGather, mine.String())
	if err != nil {
		return nil, err
	}
	return gpu.EngineOf(all[0]), nil
}

// reduce measures the all-reduce of a way.
func (b *backends) reduce(ctx context.Context, w *way) error {
	c, done, err := carrier(b.app, b.app.World, w.backend, b.o.Card, time.Duration(b.cfg.Comm.Timeout*float64(time.Second)))
	if err != nil {
		return err
	}
	defer done()
	spec := b.o.CommSpec
	m, err := bench.NewComm(spec, c)
	if err := comm.Together(b.app.World, err); err != nil {
		return err
	}
	return m.Run(ctx, spec.Operations[0], func(r bench.CommRow) {
		r.Backend = w.backend
		w.sums = append(w.sums, r)
		b.wrong += r.Wrong
		collectiveEvent(b.app, r, spec.Type, b.app.World.Size(), "engine", w.engine)
	})
}

// solve measures the solve of a way.
func (b *backends) solve(ctx context.Context, w *way) (err error) {
	own := *b.cfg
	own.Kirchhoff.Engine, own.Comm.Backend = w.engine, w.backend
	w.trial, err = pipeline.Try(ctx, b.app.World, &own, 0, b.o.iterations)
	return err
}
