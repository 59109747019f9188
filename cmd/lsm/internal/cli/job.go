package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/lockfile"
	"github.com/kirchhoff-lsm/lsm/internal/machine"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// JobCommand makes a command with a CONFIG argument.
func JobCommand(use, short, long, example string, run func(ctx context.Context, config string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Annotations: Exits("3", "4", "5", "130"),
		RunE:        func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args[0]) },
	}
}

// Traced gives a job command the flag --trace.
func Traced(a *App, cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.trace, "trace", "", "write a timeline of all ranks to `FILE`, for chrome://tracing or Perfetto")
	return cmd
}

// Writes gives a job command the flag -o.
func Writes(a *App, cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVarP(&a.Output, "output", "o", "", "write to `FILE` instead of output.file")
	NotEmpty(cmd, "output", "a file")
	return cmd
}

// Configure is LoadConfig for commands that warn of odd values in a configuration.
func (a *App) Configure(path string) (*config.Config, error) {
	cfg, err := a.LoadConfig(path)
	if err != nil {
		return nil, err
	}
	for _, n := range cfg.Notes() {
		a.Report.Warn(n.String())
	}
	return cfg, nil
}

// LoadConfig loads the configuration of a command and joins the other ranks. From here on
// an error is everyone's, or ends everyone.
func (a *App) LoadConfig(path string) (*config.Config, error) {
	set := a.Set
	if a.Output != "" {
		set = append(slices.Clone(set), "output.file="+config.Quote(a.Output))
	}
	cfg, err := config.Load(path, set, os.Environ())
	if err != nil {
		cfg = nil
		if status.Code(err) == status.Other {
			err = status.Usage(err)
		}
	}
	if joinErr := a.Join(cfg); err == nil && joinErr != nil {
		return nil, joinErr
	}
	if err := comm.Together(a.World, err); err != nil {
		return nil, err
	}
	if err := a.Agree(cfg); err != nil {
		return nil, err
	}
	return cfg, nil
}

// Agree makes sure that all ranks run the same command of the same program with the
// same configuration.
func (a *App) Agree(cfg *config.Config) error {
	v, c := provenance.Build()
	facts := append([]comm.Fact{{Name: "the program", Value: strings.TrimSpace("lsm " + v + " " + c)}, {Name: "the command", Value: a.Command}}, a.flags...)
	for _, f := range config.Fields() {
		facts = append(facts, comm.Fact{Name: f.Name(), Value: cfg.Value(f.Name()), Origin: cfg.Origin(f.Name())})
	}
	return status.Hint(status.Usage(comm.Same(a.World, facts)), "start all ranks with the same program, options, environment and configuration file")
}

// Open makes sure that the outputs can be written before anything is computed,
// then loads and checks the inputs.
func (a *App) Open(cfg *config.Config, need pipeline.Need, outputs ...config.Path) (*pipeline.Job, error) {
	if a.trace != "" {
		a.Report.KeepTrace(a.World.Size())
	}
	if err := a.Once(func() error { return checkJobFiles(a, cfg, outputs) }); err != nil {
		return nil, err
	}
	if err := a.Once(func() error { return lockOutputs(a, cfg, outputs) }); err != nil {
		return nil, err
	}
	if a.Command == "traveltime" && cfg.Kirchhoff.Engine == "auto" {
		onCPU := *cfg // it applies no operator
		onCPU.Kirchhoff.Engine = "cpu"
		cfg = &onCPU
	}
	if a.Command == "run" {
		a.resumable.Store(cfg)
	}
	start := pipeline.Open
	if a.Resume {
		start = pipeline.Resume
	}
	j, err := start(a.World, cfg, need, a.Report)
	if err == nil {
		j.Alone = true
	}
	return j, err
}

// Produce is the work of a job command that writes the one file output.file, of a kind:
// it lets write write it, and says so.
func (a *App) Produce(need pipeline.Need, kind string, write func(ctx context.Context, j *pipeline.Job, out string) error) func(ctx context.Context, config string) error {
	return func(ctx context.Context, path string) error {
		cfg, err := a.Configure(path)
		if err != nil {
			return err
		}
		j, err := a.Open(cfg, need, cfg.Output.File)
		if err != nil {
			return err
		}
		defer j.Close()
		out := cfg.Output.File.File
		if err := write(ctx, j, out); err != nil {
			return err
		}
		a.Wrote(kind, out)
		if j.Built() == nil { // the forecast counts an operator
			return a.Closing(0)
		}
		return a.Closing(j.Memory().Total())
	}
}

// Source says which command makes an output, for its provenance.
func (a *App) Source(command string) pipeline.Source {
	return pipeline.Source{Command: command, Force: a.Force}
}

// Once lets rank 0 do something for all ranks.
func (a *App) Once(do func() error) error {
	var err error
	if a.First() {
		err = pipeline.FileError(do())
	}
	return comm.Together(a.World, err)
}

// checkJobFiles refuses outputs that cannot be written, and then inputs that cannot be read.
func checkJobFiles(a *App, cfg *config.Config, outputs []config.Path) error {
	read := append(Named("the configuration file", cfg.Path(), "--reflectivity", a.Reflectivity), Uses(cfg.Reads())...)
	if err := Distinct(read, append(Uses(cfg.Writes()), Use("--trace", a.trace))); err != nil {
		return err
	}
	for _, out := range append(slices.Clone(outputs), config.Path{Text: a.trace, File: a.trace}) {
		if !out.IsSet() {
			continue
		}
		if err := pipeline.CheckOutput(out.File, a.Force); err != nil {
			return err
		}
	}
	return TryInputs(a, cfg)
}

// TryInputs tries each input file in a child process, before all ranks read it.
func TryInputs(a *App, cfg *config.Config) error {
	defer a.Report.Time("try inputs")()
	for _, in := range cfg.Reads() {
		if err := h5.Guarded(in.Path.File); err != nil {
			return err
		}
	}
	return nil
}

// lockOutputs keeps other runs from the outputs of this one, and from its checkpoints,
// until the program ends.
func lockOutputs(a *App, cfg *config.Config, outputs []config.Path) error {
	if a.Command == "run" {
		outputs = append(slices.Clone(outputs), cfg.Output.Adjoint, cfg.Output.PSF)
	}
	for _, out := range outputs {
		if !out.IsSet() {
			continue
		}
		err := a.Lock(out.File)
		if errors.Is(err, lockfile.ErrNoLocks) {
			a.Report.Warn(fmt.Sprintf("%v: another run that writes the same outputs would not be noticed", err))
		} else if err != nil {
			return err
		}
	}
	if a.Command == "run" {
		return lockCheckpoints(a, cfg)
	}
	return nil
}

// lockCheckpoints keeps other runs from checkpoints of the same names. The lock lies in
// the checkpoints' folder. At the end of the run the folder is removed if it is empty,
// unless it was there, and empty, before. A folder that cannot be made, or not be written
// to, gets no lock: saving a checkpoint will say why.
func lockCheckpoints(a *App, cfg *config.Config) error {
	folder := cfg.Checkpoint.Folder.File
	inside, err := os.ReadDir(folder)
	empty := err == nil && len(inside) == 0
	if os.MkdirAll(folder, 0o755) != nil {
		return nil
	}
	if !empty {
		a.atEnd(func() { os.Remove(folder) })
	}
	var held *lockfile.Held
	if err := a.Lock(pipeline.CheckpointLock(cfg)); errors.As(err, &held) {
		return fmt.Errorf("checkpoint.folder: %w", err)
	}
	return nil
}

// Lock takes one lock and releases it when the program ends.
func (a *App) Lock(path string) error {
	l, err := lockfile.Take(path)
	var held *lockfile.Held
	if errors.As(err, &held) {
		return status.Hint(status.Usage(err), "wait for that run to end, or give this one outputs and a checkpoint folder of its own")
	}
	if err != nil {
		return status.Resource(err)
	}
	a.atEnd(l.Release)
	return nil
}

// atEnd does something when the program ends, the last addition first.
func (a *App) atEnd(do func()) {
	a.lasting.Lock()
	defer a.lasting.Unlock()
	a.last = append(a.last, do)
}

// Closing prints where the time and the memory went, and writes the trace. predicted is
// the memory in bytes that was planned for, 0 for none. It is collective.
func (a *App) Closing(predicted int64) error {
	mine := a.Report.Account()
	mine.PeakMemory, mine.Predicted = machine.PeakMemory(), predicted
	all, err := comm.GatherJSON(a.World.Host().AllGather, mine)
	if err != nil {
		return err
	}
	return a.Once(func() error {
		a.Report.Closing(all)
		if a.trace == "" {
			return nil
		}
		if err := progress.WriteTrace(a.trace, all, a.Force); err != nil {
			return err
		}
		a.Report.Printf("trace: %s\n", a.trace)
		a.Finish("trace", a.trace)
		return nil
	})
}
