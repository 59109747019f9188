package cli

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/probe"
)

// newCompileKernel is a command that this program runs as its own child, because HIP's compiler
// ends the process that hands it a card it does not know.
func newCompileKernel(*App) *cobra.Command {
	return &cobra.Command{
		Use:    pipeline.CompileCommand,
		Short:  "Compile a GPU kernel from the standard input",
		Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			return driver.ServeCompile(os.Stdin, os.Stdout)
		},
	}
}

const tryCommand = "try-library"

// newTryLibrary is a command that this program runs as its own child, because a library may crash
// or hang.
func newTryLibrary(*App) *cobra.Command {
	return &cobra.Command{
		Use:    tryCommand + " NAME",
		Short:  "Load a library and have it do something, in this process",
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			program, err := os.Executable()
			if err != nil {
				return err
			}
			return probe.Serve(args[0], []string{program, pipeline.CompileCommand}, os.Stdout)
		},
	}
}

// Try has a child of this program try a library, which may take some time.
func Try(ctx context.Context, library string, patience time.Duration) *probe.Report {
	program, err := os.Executable()
	if err != nil {
		return &probe.Report{Subject: library, Error: err.Error()}
	}
	return probe.Child(ctx, []string{program, tryCommand}, library, patience)
}
