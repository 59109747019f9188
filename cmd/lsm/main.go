// Command lsm is least-squares Kirchhoff migration: from a survey file to an
// image file, with everything that is needed on the way.
//
// This package is thin: flags, one file a command (cmd_x.go), what is printed,
// exit statuses. The work is done by internal/job and the packages below it.
//
// Every command is a function of an *app that returns a *cobra.Command; the list
// is in root.go. A command reports through app.report alone and returns an
// error, marked by package status where its kind is known. The frame does the
// rest, once for all commands: it turns the error into text, hint and exit
// status, and with --json closes the output with the event "done" or "error".
package main

import (
	"os"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(runWith(os.Args[1:], os.Stdout, os.Stderr, commands, func(a *app, _ *cobra.Command) {
		if program, err := os.Executable(); err == nil { // else it goes without
			a.program = program
		}
	}))
}
