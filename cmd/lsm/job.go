package main

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// configure loads the configuration of a command, shows its notes and joins the
// other ranks. From here on an error is everyone's, or ends everyone.
func (a *app) configure(path string) (*config.Config, error) {
	cfg, err := config.Load(path, a.set, os.Environ())
	if err != nil {
		cfg = nil
		if status.Code(err) == status.Other {
			err = status.Usage(err)
		}
	}
	if joinErr := a.join(cfg); err == nil && joinErr != nil {
		return nil, joinErr
	}
	if err := comm.Together(a.world, err); err != nil {
		return nil, err
	}
	for _, n := range cfg.Notes() {
		a.report.Warn(n.String())
	}
	return cfg, nil
}

// open makes sure that the outputs can be written before anything is computed,
// then loads and checks the inputs.
func (a *app) open(cfg *config.Config, need job.Need, outputs ...config.Path) (*job.Job, error) {
	if a.trace != "" {
		a.report.KeepTrace(a.world.Size())
	}
	if err := a.once(func() error { return a.tryFiles(cfg, outputs) }); err != nil {
		return nil, err
	}
	j, err := job.Open(a.world, cfg, need, a.report)
	if err == nil {
		j.Alone = true
	}
	return j, err
}

// once lets rank 0 do what one rank does for all.
func (a *app) once(do func() error) error {
	var err error
	if a.first() {
		err = do()
	}
	return comm.Together(a.world, err)
}

// tryFiles looks at outputs and inputs.
func (a *app) tryFiles(cfg *config.Config, outputs []config.Path) error {
	for _, out := range outputs {
		if !out.IsSet() {
			continue
		}
		if err := job.CheckOutput(out.File, a.force); err != nil {
			return err
		}
	}
	if a.trace != "" {
		if err := job.CheckOutput(a.trace, a.force); err != nil {
			return err
		}
	}
	return a.tryInputs(cfg)
}

// tryInputs reads what each input file holds in a child process first: a damaged
// file can crash the HDF5 library, or keep it busy for ever, and that must be an
// error like any other.
func (a *app) tryInputs(cfg *config.Config) error {
	if a.program == "" {
		return nil
	}
	defer a.report.Time("try inputs")()
	inputs := []config.Path{cfg.Survey.File, cfg.Velocity.File, cfg.Solver.Start}
	if cfg.Traveltime.Method == "table" {
		inputs = append(inputs, cfg.Traveltime.File)
	}
	if cfg.Image.Surface == "file" {
		inputs = append(inputs, cfg.Image.SurfaceFile)
	}
	for i, in := range inputs {
		if !in.IsSet() || slices.Contains(inputs[:i], in) {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		err := h5.CheckInChild(ctx, in.File, a.program, infoChild(in.File)...)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// source says which program makes an output, for its provenance.
func (a *app) source(j *job.Job, command string) job.Source {
	v, c := build()
	return job.Source{Command: command, Version: v, Commit: c, Force: a.force}
}

// closing prints where the time and the memory went, the latter beside the
// prediction, in bytes, 0 for none; and writes the trace. It is collective.
func (a *app) closing(predicted int64) error {
	mine := a.report.Account()
	mine.PeakMemory, mine.Predicted = machine.PeakMemory(), predicted
	text, err := mine.Encode()
	if err := comm.Together(a.world, err); err != nil {
		return err
	}
	parts, err := a.world.Host().AllGather(text)
	if err != nil {
		return err
	}
	return a.once(func() error { return a.account(parts) })
}

func (a *app) account(parts [][]byte) error {
	all, err := progress.DecodeAccounts(parts)
	if err != nil {
		return err
	}
	a.report.Closing(all)
	if a.trace == "" {
		return nil
	}
	if err := progress.WriteTrace(a.trace, all, a.force); err != nil {
		return err
	}
	a.report.Printf("trace: %s\n", a.trace)
	a.finish("trace", a.trace)
	return nil
}

// traced gives a job command the flag --trace.
func (a *app) traced(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.trace, "trace", "", "write what every rank did when to `FILE`, for chrome://tracing or Perfetto")
	return cmd
}

// jobCommand are the parts that all commands with a CONFIG argument share.
func jobCommand(use, short, long, example string, run func(cmd *cobra.Command, config string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		GroupID:     groupMigrate,
		Args:        arguments("CONFIG"),
		Annotations: exits("3", "4", "5", "130"),
		RunE:        func(cmd *cobra.Command, args []string) error { return run(cmd, args[0]) },
	}
}
