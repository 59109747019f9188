package benchmarks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/probe"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// commOptions are the choices of lsm bench comm.
type commOptions struct {
	bench.CommSpec
	first, last, typ string // of the specification, as typed
	engine           string
	backends         []string
	limits           bool
}

func newBenchComm(a *cli.App) *cobra.Command {
	var o commOptions
	cmd := &cobra.Command{
		Use:   "comm",
		Short: "Microseconds and bandwidth of collectives, messages and copies",
		Long: `Comm times the collectives on arrays of growing size and checks every element of every
result. The tables have the form of the NCCL tests; docs/collectives.md derives their
columns. Several backends are measured in turn for each size. nccl, rccl and mpi-staged work
on arrays in GPU memory. mpi does so if it is listed with them or --engine is given, and if
the MPI library can.

send-recv sends an array to another rank by messages and by one-sided access, and copies it
within a rank: in one direction and in both, alone and beside a kernel. By default comm
measures all operations that a backend has: all-reduce, start-all-reduce, accumulate,
all-gather, broadcast, send-recv.` + strings.Join(bench.CommOperations(), ", ") + ".",
		Example: `  mpirun -n 4 lsm bench comm
  mpirun -n 4 lsm bench comm --operations all-reduce --first 1MiB --last 64MiB --limits
  mpirun -n 2 lsm bench comm --operations send-recv --last 64MiB
  srun lsm bench comm --type float64 --json
  srun lsm bench comm --backend nccl,mpi,mpi-staged --operations all-reduce`,
		Annotations: cli.Exits("4", "5", "6", "130"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return joinAndBench(cmd.Context(), a, o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.first, "first", "1KiB", "`bytes` of the smallest array")
	fl.StringVar(&o.last, "last", "1GiB", "`bytes` of the largest array; memory may end the list earlier")
	fl.IntVar(&o.Factor, "factor", 2, "ratio of one size to the one before")
	fl.IntVar(&o.Iterations, "iterations", 10, "timed iterations; the median is printed")
	fl.IntVar(&o.Warmup, "warm-up", 2, "iterations before the timed ones")
	fl.StringSliceVar(&o.Operations, "operations", nil, "operations to measure, separated by commas (default all)")
	fl.StringVar(&o.typ, "type", "float32", "float32, float64 or int64")
	fl.StringSliceVar(&o.backends, "backend", []string{"auto"}, "communicators, as in comm.backend, separated by commas")
	fl.StringVar(&o.engine, "engine", "", "engine whose memory holds the arrays: "+strings.Join(carried(), ", ")+" (default: by the backends)")
	fl.BoolVar(&o.limits, "limits", false, "also measure how fast the ranks can copy memory")
	return cmd
}

func (o *commOptions) check() (err error) {
	if o.Type, err = elementType(o.typ); err != nil {
		return err
	}
	if err := checkBackends(o.backends, &o.engine); err != nil {
		return err
	}
	return o.readSizes()
}

// readSizes reads the sizes as typed.
func (o *commOptions) readSizes() (err error) {
	if o.First, err = byteCount("first", o.first); err != nil {
		return err
	}
	o.Last, err = byteCount("last", o.last)
	return err
}

// joinAndBench joins the other ranks, opens cards and communicators, and measures.
func joinAndBench(ctx context.Context, a *cli.App, o commOptions) error {
	threads, node, err := o.join(a)
	if err != nil {
		return err
	}
	o.Beside = device.NewHost(threads)
	aware := false
	if o.engine != "cpu" {
		var claim comm.Claim
		o.Card, claim, err = openCards(a, gpu.EngineOf(o.engine), node)
		if err != nil {
			return err
		}
		defer o.Card.Close()
		aware = claim.Takes
		beside, err := pipeline.OpenCard(gpu.EngineOf(o.engine), node, nil) // with a stream of its own
		if err := comm.Together(a.World, err); err != nil {
			return err
		}
		defer beside.Close()
		o.Beside = beside
	}
	comms, done, err := carriers(a, a.World, o.backends, o.Card, aware)
	if err != nil {
		return err
	}
	defer done()
	return benchComm(ctx, a, o, comms...)
}

// join joins the other ranks, and says what joinMachine does.
func (o *commOptions) join(a *cli.App) (threads, ranks int, err error) {
	cfg := &config.Config{}
	cfg.Comm.Backend = controlOf(o.backends)
	if err := comm.Together(a.World, a.Join(cfg)); err != nil {
		return 0, 0, err
	}
	if err := a.Agree(cfg); err != nil {
		return 0, 0, err
	}
	return o.joinMachine(a.World)
}

// joinMachine notes how much memory the ranks of this machine may use, and returns the
// threads of this rank and the number of those ranks. It is collective.
func (o *commOptions) joinMachine(world comm.Comm) (threads, ranks int, err error) {
	m := machine.ReadMemory("/proc", "/sys/fs/cgroup")
	if o.Memory = m.Available; m.Limit > 0 {
		o.Memory = min(m.Available, m.Limit)
	}
	seats, err := comm.GatherJSON(world.Host().AllGather, machine.OwnSeat())
	if err != nil {
		return 0, 0, err
	}
	threads, ranks = machine.Share(seats[world.Rank()], seats)
	return threads, ranks, nil
}

// openCards opens the GPU of every rank, and says whether MPI takes their memory. An error
// is one of all ranks, and no card is then open.
func openCards(a *cli.App, engine accel.Engine, onNode int) (card *gpu.Device, claim comm.Claim, err error) {
	card, err = pipeline.OpenCard(engine, onNode, a.Report.Warn)
	if err := comm.Together(a.World, err); err != nil {
		if card != nil {
			card.Close() // another rank has none
		}
		return nil, claim, err
	}
	if a.World.Name() != "mpi" {
		return card, claim, nil
	}
	if claim, err = a.TryMemory(probe.Patience, func() accel.Engine { return engine }); err != nil {
		card.Close()
		return nil, claim, err
	}
	return card, claim, nil
}

func byteCount(flag, text string) (int64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > 1<<50 {
		return 0, status.Hint(status.Usage(fmt.Errorf("bench: --%s is %q, must be a number of bytes up to 1 PiB", flag, text)), "such as 4096, 64KiB or 1GiB")
	}
	return int64(n), nil
}

func elementType(name string) (device.Type, error) {
	for _, t := range []device.Type{device.F32, device.F64, device.I64} {
		if t.String() == name {
			return t, nil
		}
	}
	return 0, status.Usage(fmt.Errorf("bench: --type is %q, want float32, float64 or int64", name))
}

// benchComm prints one table for each operation, with the closing lines of the NCCL tests
// and a row for each communicator.
func benchComm(ctx context.Context, a *cli.App, o commOptions, comms ...comm.Comm) error {
	c := comms[0]
	b, err := bench.NewComm(o.CommSpec, comms...)
	if err := comm.Together(c, err); err != nil {
		return err
	}
	where := "the host's memory"
	if o.Card != nil {
		where = o.Card.Name()
	}
	a.Report.Printf("# backend %s, ranks %d, on this node %d; arrays in %s; median of %d iterations after %d of warm-up\n",
		strings.Join(namesOf(comms), ", "), c.Size(), b.Here, where, o.Iterations, o.Warmup)
	if len(b.Left) > 0 {
		a.Report.Warn(fmt.Sprintf("sizes end at %s: with %d ranks on a node there is no memory for %s",
			humanize.IBytes(uint64(slices.Max(b.Sizes))), b.Here, humanize.IBytes(uint64(b.Left[0]))))
	}
	if o.limits {
		rate, err := b.CopyBandwidth()
		if err != nil {
			return err
		}
		a.Report.Printf("# each rank copies %.3f GB/s when all do; docs/collectives.md says what busbw that allows on one node\n", rate/1e9)
		a.Report.Event("limits", "copy_gbs", rate/1e9)
	}
	wrong := int64(0)
	for _, operation := range b.Operations {
		var rows []bench.CommRow
		tellHead(a, operation, len(comms) > 1)
		err := b.Run(ctx, operation, func(r bench.CommRow) {
			if r.Why != "" {
				a.Report.Printf("# not measured: %s: %s\n", r.Backend, r.Why)
				a.Report.Event("not_measured", "operation", operation, "backend", r.Backend, "why", r.Why)
				return
			}
			rows = append(rows, r)
			tellRow(a, r, o.Type, comms)
		})
		if err != nil {
			return err
		}
		wrong += tellSum(a, rows, len(comms) > 1)
	}
	a.Finish("ranks", c.Size(), "wrong", wrong)
	if wrong > 0 {
		return comm.Together(c, status.Numerical(fmt.Errorf("bench: %d elements are wrong", wrong)))
	}
	return nil
}

// label names a row by its backend, and a row of send-recv also by its direction.
func label(r bench.CommRow) string {
	switch {
	case r.Direction == "":
		return r.Backend
	case r.Beside:
		return r.Backend + " " + r.Direction + " kernel"
	}
	return r.Backend + " " + r.Direction + " alone"
}

// behind is a last column, which only a table of several backends has.
func behind(several bool, text string) string {
	if !several {
		return ""
	}
	return "  " + text
}

func tellHead(a *cli.App, operation string, several bool) {
	name := "backend"
	if operation == "send-recv" {
		several, name = true, "way, direction, beside a kernel or alone"
	}
	const head = "# %10s  %12s  %10s  %6s  %6s  %9s  %8s  %8s  %6s%s\n"
	a.Report.Printf("#\n# %s\n#\n", operation)
	a.Report.Printf(head, "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", behind(several, name))
	a.Report.Printf(head, "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "")
}

func tellRow(a *cli.App, r bench.CommRow, typ device.Type, comms []comm.Comm) {
	a.Report.Printf("%12d  %12d  %10v  %6s  %6d  %9.2f  %8.3f  %8.3f  %6d%s\n",
		r.Size, r.Count, typ, r.Redop, r.Root, 1e6*r.Seconds, r.Algorithm/1e9, r.Bus/1e9, r.Wrong, behind(len(comms) > 1 || r.Direction != "", label(r)))
	collectiveEvent(a, r, typ, comms[0].Size())
}

// collectiveEvent is a row for --json, with more keys and values.
func collectiveEvent(a *cli.App, r bench.CommRow, typ device.Type, ranks int, more ...any) {
	a.Report.Event("collective", append([]any{"operation", r.Operation, "backend", r.Backend, "direction", r.Direction, "beside_kernel", r.Beside, "ranks", ranks,
		"size", r.Size, "count", r.Count, "type", typ.String(), "redop", r.Redop, "root", r.Root,
		"time_us", 1e6 * r.Seconds, "algbw_gbs", r.Algorithm / 1e9, "busbw_gbs", r.Bus / 1e9, "wrong", r.Wrong}, more...)...)
}

// tellSum closes a table and returns the number of wrong elements. Several backends, and the
// ways of send-recv, each have a mean.
func tellSum(a *cli.App, rows []bench.CommRow, several bool) (wrong int64) {
	bus := map[string][]float64{}
	var labels []string
	for _, r := range rows {
		wrong += r.Wrong
		if name := label(r); bus[name] == nil {
			labels = append(labels, name)
		}
		bus[label(r)] = append(bus[label(r)], r.Bus)
	}
	if len(rows) == 0 {
		a.Report.Printf("# Nothing was measured\n")
	} else {
		a.Report.Printf("# Out of bounds values : %d %s\n", wrong, passed(wrong == 0))
	}
	for _, name := range labels {
		a.Report.Printf("# Avg bus bandwidth    : %.6g%s\n", stat.Mean(bus[name], nil)/1e9, behind(several || len(labels) > 1, name))
	}
	return wrong
}

func namesOf(comms []comm.Comm) []string {
	names := make([]string, len(comms))
	for i, c := range comms {
		names[i] = c.Name()
	}
	return names
}

// besideEachOther refuses backends other than those that can be measured one after the
// other over the same ranks, unless there is one alone.
func besideEachOther(backends []string, can ...string) error {
	for i, b := range backends {
		if last := len(can) - 1; len(backends) > 1 && !slices.Contains(can, b) {
			return status.Usage(fmt.Errorf("bench: --backend has %q among others, want %s or %s", b, strings.Join(can[:last], ", "), can[last]))
		}
		if slices.Contains(backends[:i], b) {
			return status.Usage(fmt.Errorf("bench: --backend has %q twice", b))
		}
	}
	return nil
}

// carried are the engines whose memory communicators carry.
func carried() []string { return append([]string{"cpu"}, gpu.Names()...) }

// checkBackends refuses backends that do not go together. It chooses the engine whose
// memory they carry if none is given.
func checkBackends(backends []string, engine *string) error {
	if err := besideEachOther(backends, "mpi", "mpi-staged", "nccl", "rccl"); err != nil {
		return err
	}
	for _, b := range backends {
		want := *engine
		if of := gpu.CarriedBy(b); of != nil {
			want = of.String()
		}
		if *engine = cmp.Or(*engine, want); *engine != want {
			return status.Usage(fmt.Errorf("bench: --backend %s carries memory of engine %s, not of %s", b, want, *engine))
		}
	}
	staged := slices.Contains(backends, "mpi-staged")
	switch {
	case *engine == "" && staged:
		*engine = gpu.Names()[0]
	case *engine == "":
		*engine = "cpu"
	case *engine == "cpu" && staged:
		return status.Usage(errors.New("bench: --backend mpi-staged carries memory of a GPU, --engine is cpu"))
	case !slices.Contains(carried(), *engine):
		return status.Usage(fmt.Errorf("bench: --engine is %q, want %s", *engine, english.WordSeries(carried(), "or")))
	}
	return nil
}

// controlOf is the comm.backend of the ranks that the backends use.
func controlOf(backends []string) string {
	if slices.ContainsFunc(backends, func(b string) bool { return strings.HasPrefix(b, "mpi") }) {
		return "mpi"
	}
	return backends[0]
}

// carriers are the communicators of some backends, all over the ranks of the world; done
// closes what was opened for them. If there is a card and the world is not aware of GPUs,
// the world itself is left out, unless it is the only one.
func carriers(a *cli.App, world comm.Comm, backends []string, card *gpu.Device, aware bool) (list []comm.Comm, done func(), err error) {
	done = func() {}
	for _, b := range backends {
		switch {
		case strings.HasPrefix(b, "mpi-") || gpu.CarriedBy(b) != nil:
		case card != nil && !aware && world.Size() > 1 && len(backends) > 1:
			a.Report.Infof("%s: its library does not take memory of a GPU: it is left out; mpi-staged goes through the host", b)
			continue
		case card != nil && !aware && world.Size() > 1:
			return nil, nil, status.Resource(fmt.Errorf("bench: the library of backend %s does not take memory of engine %v; mpi-staged goes through the host",
				world.Name(), card.Engine()))
		}
		c, end, err := carrier(a, world, b, card, 0)
		if err != nil {
			done()
			return nil, nil, status.Hint(fmt.Errorf("bench: --backend %s: %w", b, err), status.HintOf(err))
		}
		before := done
		done = func() { end(); before() }
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, nil, status.Resource(errors.New("bench: no backend is left"))
	}
	return list, done, nil
}

// carrier is the communicator of a backend over the ranks of the world; done closes what
// was opened for it. NCCL and RCCL have the given time to start, 0 for any.
func carrier(a *cli.App, world comm.Comm, backend string, card *gpu.Device, timeout time.Duration) (c comm.Comm, done func(), err error) {
	switch {
	case gpu.CarriedBy(backend) != nil:
		g, err := nccl.New(world, card, nccl.Options{Timeout: timeout})
		if err != nil {
			return nil, nil, err
		}
		unwatch := watch.OnVerdict(world, g.Cut)
		a.Report.Printf("# %s\n", g.About())
		return g, func() { unwatch(); g.Close() }, nil
	case backend == "mpi-staged":
		return comm.Staged(world), func() {}, nil
	}
	return world, func() {}, nil
}
