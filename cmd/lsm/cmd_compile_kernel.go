package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
)

// newCompileKernel is what this program calls itself with: HIP's compiler ends the
// process that hands it a card it does not know.
func newCompileKernel(*app) *cobra.Command {
	return &cobra.Command{
		Use:    operator.CompileCommand,
		Short:  "Compile a GPU kernel from the standard input",
		Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			return driver.ServeCompile(os.Stdin, os.Stdout)
		},
	}
}
