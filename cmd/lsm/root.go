package main

import (
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/benchmarks"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/migrate"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/recorded"
)

// commands returns the commands of lsm, in the groups that its help shows.
func commands(a *cli.App) []cli.Group {
	return []cli.Group{
		{Title: "Migrate", Commands: migrate.Commands(a)},
		{Title: "From recorded data to a velocity", Commands: recorded.Commands(a)},
		{Title: "Look at files, make and convert them", Commands: inspect.Commands(a)},
		{Title: "This machine, this program", Commands: append([]*cobra.Command{benchmarks.Command(a), newDoctor(a)}, cli.Commands(a)...)},
	}
}
