package main

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// configure loads the configuration of a command and shows its notes.
func (a *app) configure(path string) (*config.Config, error) {
	cfg, err := config.Load(path, a.set, os.Environ())
	if err != nil {
		return nil, err
	}
	for _, n := range cfg.Notes() {
		a.report.Warn(n.String())
	}
	if err := oneRank(cfg, os.Environ()); err != nil {
		return nil, err
	}
	return cfg, nil
}

// open makes sure that the outputs can be written before anything is computed,
// then loads and checks the inputs.
func (a *app) open(cfg *config.Config, need job.Need, outputs ...config.Path) (*job.Job, error) {
	for _, out := range outputs {
		if !out.IsSet() {
			continue
		}
		if err := job.CheckOutput(out.File, a.force); err != nil {
			return nil, err
		}
	}
	if err := a.tryInputs(cfg); err != nil {
		return nil, err
	}
	return job.Open(cfg, need, a.report)
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

// closing prints where the time went.
func (a *app) closing() {
	sections, total := a.report.Sections()
	a.report.Table(sections, []float64{total})
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
