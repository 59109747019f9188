package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

func newBenchComm(a *app) *cobra.Command {
	s := bench.CommSpec{}
	var first, last, typ, engine, plot string
	var backends []string
	var limits bool
	cmd := &cobra.Command{
		Use:   "comm",
		Short: "Microseconds and bandwidth of the collectives over all ranks",
		Long: `Bench comm times the collectives on arrays of growing size and checks every
element of every result. The tables are those of the NCCL tests;
docs/collectives.md derives their columns. With several backends each size is
measured by one after the other. nccl, rccl and mpi-staged work on arrays in the
memory of GPUs, and mpi beside them or with --engine, where the library takes
such. Operations, of which those that a backend has are measured by default:
` + strings.Join(bench.CommOperations(), ", ") + ".",
		Example: `  mpirun -n 4 lsm bench comm
  mpirun -n 4 lsm bench comm --operations all-reduce --first 1MiB --last 64MiB --limits
  srun lsm bench comm --type float64 --json
  srun lsm bench comm --backend nccl,mpi,mpi-staged --operations all-reduce`,
		Args:        arguments(),
		Annotations: exits("4", "5", "6", "130"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if s.First, err = byteCount("first", first); err != nil {
				return err
			}
			if s.Last, err = byteCount("last", last); err != nil {
				return err
			}
			if s.Type, err = elementType(typ); err != nil {
				return err
			}
			if err := checkBackends(backends, &engine); err != nil {
				return err
			}
			if plot != "" {
				if err := job.CheckOutput(plot, a.force); err != nil {
					return err
				}
			}
			cfg := &config.Config{}
			cfg.Comm.Backend = controlOf(backends)
			if err := comm.Together(a.world, a.join(cfg)); err != nil {
				return err
			}
			if err := a.agree(cfg); err != nil {
				return err
			}
			m := machine.ReadMemory("/proc", "/sys/fs/cgroup")
			if s.Memory = m.Available; m.Limit > 0 {
				s.Memory = min(m.Available, m.Limit)
			}
			if engine != "cpu" {
				_, node, err := machine.Share(a.world.Host().AllGather)
				if err != nil {
					return err
				}
				var warning string
				s.Card, warning, err = operator.OpenCard(engineOf(engine), node)
				if err := comm.Together(a.world, err); err != nil {
					return err
				}
				defer s.Card.Close()
				if warning != "" {
					a.report.Warn(warning)
				}
			}
			b, built := comm.Lookup(a.world.Name())
			comms, done, err := a.carriers(a.world, backends, s.Card, built && s.Card != nil && b.Aware(s.Card.Space()))
			if err != nil {
				return err
			}
			defer done()
			return a.benchComm(cmd.Context(), s, limits, plot, comms...)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&first, "first", "1KiB", "`bytes` of the smallest array")
	fl.StringVar(&last, "last", "1GiB", "`bytes` of the largest array; memory may end the list earlier")
	fl.IntVar(&s.Factor, "factor", 2, "from one size to the next")
	fl.IntVar(&s.Iterations, "iterations", 10, "timed, of which the median is printed")
	fl.IntVar(&s.Warmup, "warm-up", 2, "iterations before the timed ones")
	fl.StringSliceVar(&s.Operations, "operations", nil, "those to measure, with commas between (default all)")
	fl.StringVar(&typ, "type", "float32", "float32, float64, complex64, complex128 or int64")
	fl.StringSliceVar(&backends, "backend", []string{"auto"}, "communicators, as comm.backend, with commas between")
	fl.StringVar(&engine, "engine", "", "whose memory holds the arrays: cpu, cuda, hip (else what the backends need)")
	fl.StringVar(&plot, "plot", "", "`PNG` of the time of the first operation against the size")
	fl.BoolVar(&limits, "limits", false, "measure how fast the ranks can copy memory as well")
	return cmd
}

func byteCount(flag, text string) (int64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > 1<<50 {
		return 0, status.Hint(status.Usage(fmt.Errorf("bench: --%s is %q, must be a number of bytes up to 1 PiB", flag, text)), "such as 4096, 64KiB or 1GiB")
	}
	return int64(n), nil
}

func elementType(name string) (device.Type, error) {
	for _, t := range []device.Type{device.F32, device.F64, device.C64, device.C128, device.I64} {
		if t.String() == name {
			return t, nil
		}
	}
	return 0, status.Usage(fmt.Errorf("bench: --type is %q, want float32, float64, complex64, complex128 or int64", name))
}

// benchComm prints one table for each operation, each closed as the NCCL tests
// close theirs; with several communicators a row for each.
func (a *app) benchComm(ctx context.Context, s bench.CommSpec, limits bool, plot string, comms ...comm.Comm) error {
	c := comms[0]
	b, err := bench.NewComm(s, comms...)
	if err := comm.Together(c, err); err != nil {
		return err
	}
	where := "the host's memory"
	if s.Card != nil {
		where = s.Card.Name()
	}
	a.report.Printf("# backend %s, ranks %d, on this node %d; arrays in %s; median of %d iterations after %d of warm-up\n",
		strings.Join(namesOf(comms), ", "), c.Size(), b.Here, where, s.Iterations, s.Warmup)
	if len(b.Left) > 0 {
		a.report.Warn(fmt.Sprintf("sizes end at %s: with %d ranks on a node there is no memory for %s",
			humanize.IBytes(uint64(slices.Max(b.Sizes))), b.Here, humanize.IBytes(uint64(b.Left[0]))))
	}
	if limits {
		rate, err := b.CopyBandwidth()
		if err != nil {
			return err
		}
		a.report.Printf("# each rank copies %.3f GB/s when all do; docs/collectives.md says what busbw that allows on one node\n", rate/1e9)
		a.report.Event("limits", "copy_gbs", rate/1e9)
	}
	wrong := int64(0)
	for i, operation := range b.Operations {
		n, lines, err := a.benchCollective(ctx, b, s, operation, comms)
		if err != nil {
			return err
		}
		wrong += n
		if i == 0 && plot != "" {
			if err := a.once(func() error { return a.plotLines(plot, operation, lines) }); err != nil {
				return err
			}
		}
	}
	a.finish("ranks", c.Size(), "wrong", wrong)
	if wrong > 0 {
		return comm.Together(c, status.Numerical(fmt.Errorf("bench: %d elements are wrong", wrong)))
	}
	return nil
}

// plotLines draws the times of an operation.
func (a *app) plotLines(path, operation string, lines []picture.Line) error {
	figure, err := picture.Lines("size: power of two, bytes", "time, µs", picture.Options{Title: operation}, lines...)
	if err != nil {
		return err
	}
	return picture.WriteFile(path, figure, a.force)
}

// benchCollective prints the table of one operation and returns the number of
// wrong elements, and the times in µs against the binary logarithms of the sizes, a line
// for each communicator that has the operation.
func (a *app) benchCollective(ctx context.Context, b *bench.Comm, s bench.CommSpec, operation string, comms []comm.Comm) (wrong int64, lines []picture.Line, err error) {
	head := "# %10s  %12s  %10s  %6s  %6s  %9s  %8s  %8s  %6s%s\n"
	behind := func(text string) string { // a column for several backends alone
		if len(comms) == 1 {
			return ""
		}
		return "  " + text
	}
	a.report.Printf("#\n# %s\n#\n", operation)
	a.report.Printf(head, "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", behind("backend"))
	a.report.Printf(head, "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "")
	bus := map[string]float64{}
	err = b.Run(ctx, operation, func(r bench.CommRow) {
		wrong += r.Wrong
		bus[r.Backend] += r.Bus / float64(len(b.Sizes))
		at := slices.IndexFunc(lines, func(l picture.Line) bool { return l.Name == r.Backend })
		if at < 0 {
			at, lines = len(lines), append(lines, picture.Line{Name: r.Backend})
		}
		lines[at].X, lines[at].Y = append(lines[at].X, math.Log2(float64(r.Size))), append(lines[at].Y, 1e6*r.Seconds)
		a.report.Printf("%12d  %12d  %10v  %6s  %6d  %9.2f  %8.3f  %8.3f  %6d%s\n",
			r.Size, r.Count, s.Type, r.Redop, r.Root, 1e6*r.Seconds, r.Algorithm/1e9, r.Bus/1e9, r.Wrong, behind(r.Backend))
		a.report.Event("collective", "operation", r.Operation, "backend", r.Backend, "ranks", comms[0].Size(),
			"size", r.Size, "count", r.Count, "type", s.Type.String(), "redop", r.Redop, "root", r.Root,
			"time_us", 1e6*r.Seconds, "algbw_gbs", r.Algorithm/1e9, "busbw_gbs", r.Bus/1e9, "wrong", r.Wrong)
	})
	if err != nil {
		return wrong, nil, err
	}
	v := "OK"
	if wrong > 0 {
		v = "FAILED"
	}
	a.report.Printf("# Out of bounds values : %d %s\n", wrong, v)
	for _, name := range namesOf(comms) {
		if mean, measured := bus[name]; measured {
			a.report.Printf("# Avg bus bandwidth    : %.6g%s\n", mean/1e9, behind(name))
		}
	}
	return wrong, lines, nil
}

func namesOf(comms []comm.Comm) []string {
	names := make([]string, len(comms))
	for i, c := range comms {
		names[i] = c.Name()
	}
	return names
}
