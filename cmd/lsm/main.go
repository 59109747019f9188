// Command lsm is least-squares Kirchhoff migration: from a survey file to an
// image file, with everything that is needed on the way.
//
// This package is the list of commands and the tests of the whole program. The commands lie in
// folders by what they are for, one file each: internal/migrate, internal/recorded,
// internal/inspect and internal/benchmarks. internal/cli is the frame around them. The work is
// done by internal/pipeline and the packages beside and below it.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr, commands, func(a *cli.App, _ *cobra.Command) {
		if program, err := os.Executable(); err == nil { // otherwise it is empty
			a.Program = program
		}
	}))
}
