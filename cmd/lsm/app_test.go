package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Every command says what it is, shows its exit statuses and stands in a group.
func TestEveryCommandIsComplete(t *testing.T) {
	root := cli.NewRoot(&cli.App{}, commands(&cli.App{}))
	root.InitDefaultHelpCmd()
	all := slices.Clone(root.Commands())
	for _, c := range root.Commands() {
		if c.GroupID == "" && !c.Hidden {
			t.Errorf("%s: in no group", c.Name())
		}
		all = append(all, c.Commands()...)
	}
	for _, c := range all {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short text %q", c.Name(), c.Short)
		}
		if c.Args == nil {
			t.Errorf("%s: arguments are not checked", c.Name())
		}
		text := cli.HelpOf(c)
		for _, want := range []string{"Exit status:\n    0  ", "\n    2  ", "--json", "--force"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: help lacks %q", c.Name(), want)
			}
		}
		if strings.Contains(text, "[=true|false]") {
			t.Errorf("%s: help says of switches that they take true or false", c.Name())
		}
		for _, line := range strings.Split(text, "\n") {
			if n := len([]rune(line)); n > 110 {
				t.Errorf("%s: help has a line of %d columns: %s", c.Name(), n, line)
			}
		}
	}
}

func TestPanicIsReported(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		args := []string{"version"}
		if asJSON {
			args = append(args, "--json")
		}
		var out, errs bytes.Buffer
		code := cli.Run(args, &out, &errs, commands, func(_ *cli.App, root *cobra.Command) {
			for _, c := range root.Commands() {
				c.RunE = func(*cobra.Command, []string) error { panic("index out of range") }
			}
		})
		if code != status.Other {
			t.Errorf("status %d, want 1", code)
		}
		if !strings.Contains(errs.String(), "TestPanicIsReported") {
			t.Errorf("no stack:\n%s", &errs)
		}
		said := errs.String()
		if asJSON {
			said = out.String()
		}
		if !strings.Contains(said, "internal error: index out of range") || !strings.Contains(said, "please report it") {
			t.Errorf("said %s", said)
		}
	}
}
