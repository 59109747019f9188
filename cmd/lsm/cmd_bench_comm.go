package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/device"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func newBenchComm(a *app) *cobra.Command {
	s := bench.CommSpec{}
	var first, last, typ, backend string
	var limits bool
	cmd := &cobra.Command{
		Use:   "comm",
		Short: "Microseconds and bandwidth of the collectives over all ranks",
		Long: `Bench comm times the collectives on arrays of growing size and checks every
element of every result. The tables are those of the NCCL tests;
docs/collectives.md derives their columns. Operations, of which those that the
backend has are measured by default:
` + strings.Join(bench.CommOperations(), ", ") + ".",
		Example: `  mpirun -n 4 lsm bench comm
  mpirun -n 4 lsm bench comm --operations all-reduce --first 1MiB --last 64MiB --limits
  srun lsm bench comm --type float64 --json`,
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
			if backend == "nccl" || backend == "rccl" {
				return status.Hint(status.Usage(fmt.Errorf("bench: --backend is %q, which carries buffers of GPUs alone; those measured here are in the host's memory", backend)),
					"lsm bench solve measures a whole solve with any comm.backend")
			}
			cfg := &config.Config{}
			cfg.Comm.Backend = backend
			if err := comm.Together(a.world, a.join(cfg)); err != nil {
				return err
			}
			m := machine.ReadMemory("/proc", "/sys/fs/cgroup")
			if s.Memory = m.Available; m.Limit > 0 {
				s.Memory = min(m.Available, m.Limit)
			}
			return a.benchComm(cmd.Context(), a.world, s, limits)
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
	fl.StringVar(&backend, "backend", "auto", "communicator, as comm.backend")
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
// close theirs.
func (a *app) benchComm(ctx context.Context, c comm.Comm, s bench.CommSpec, limits bool) error {
	b, err := bench.NewComm(c, s)
	if err := comm.Together(c, err); err != nil {
		return err
	}
	a.report.Printf("# backend %s, ranks %d, on this node %d; median of %d iterations after %d of warm-up\n",
		c.Name(), c.Size(), b.Here, s.Iterations, s.Warmup)
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
	for _, operation := range b.Operations {
		n, err := a.benchCollective(ctx, c, b, s, operation)
		if err != nil {
			return err
		}
		wrong += n
	}
	a.finish("ranks", c.Size(), "wrong", wrong)
	if wrong > 0 {
		return comm.Together(c, status.Numerical(fmt.Errorf("bench: %d elements are wrong", wrong)))
	}
	return nil
}

// benchCollective prints the table of one operation and returns the number of
// wrong elements.
func (a *app) benchCollective(ctx context.Context, c comm.Comm, b *bench.Comm, s bench.CommSpec, operation string) (wrong int64, err error) {
	const head = "# %10s  %12s  %10s  %6s  %6s  %9s  %8s  %8s  %6s\n"
	a.report.Printf("#\n# %s\n#\n", operation)
	a.report.Printf(head, "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong")
	a.report.Printf(head, "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "")
	bus := 0.0
	err = b.Run(ctx, operation, func(r bench.CommRow) {
		wrong += r.Wrong
		bus += r.Bus / float64(len(b.Sizes))
		a.report.Printf("%12d  %12d  %10v  %6s  %6d  %9.2f  %8.3f  %8.3f  %6d\n",
			r.Size, r.Count, s.Type, r.Redop, r.Root, 1e6*r.Seconds, r.Algorithm/1e9, r.Bus/1e9, r.Wrong)
		a.report.Event("collective", "operation", r.Operation, "backend", c.Name(), "ranks", c.Size(),
			"size", r.Size, "count", r.Count, "type", s.Type.String(), "redop", r.Redop, "root", r.Root,
			"time_us", 1e6*r.Seconds, "algbw_gbs", r.Algorithm/1e9, "busbw_gbs", r.Bus/1e9, "wrong", r.Wrong)
	})
	if err != nil {
		return wrong, err
	}
	v := "OK"
	if wrong > 0 {
		v = "FAILED"
	}
	a.report.Printf("# Out of bounds values : %d %s\n# Avg bus bandwidth    : %.6g\n", wrong, v, bus/1e9)
	return wrong, nil
}
