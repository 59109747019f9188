package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// arguments checks the number of arguments against their names in a command's use, such
// as "plot FILE [FILE]": "[FILE]" may be left out, "FILE..." are one or more.
func arguments(use string) cobra.PositionalArgs {
	var names []string
	least, most := 0, 0
	for _, name := range strings.Fields(use)[1:] {
		if strings.HasPrefix(name, "-") { // a flag that must be given
			break
		}
		names, most = append(names, strings.TrimSuffix(name, "...")), most+1
		if !strings.HasPrefix(name, "[") {
			least++
		}
		if strings.HasSuffix(name, "...") {
			most = math.MaxInt
		}
	}
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s is missing", names[len(args)])
		case len(args) <= most:
			return nil
		}
		extra := args[most]
		err := fmt.Errorf("unexpected argument %q", extra)
		if strings.Contains(extra, "=") {
			return status.Hint(err, "configuration keys are set by --set "+extra)
		}
		if near := nearest(extra, commandNames(cmd)); near != "" {
			return status.Hint(err, fmt.Sprintf("did you mean %s %s?", cmd.CommandPath(), near))
		}
		return err
	}
}

// require makes flags of a command obligatory.
func require(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}

// usageError marks an error of the command line with its status, says which
// command it is about, and adds a hint where there is none.
func usageError(cmd *cobra.Command, err error) error {
	hint := status.HintOf(err)
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		err = fmt.Errorf("unknown flag --%s", name)
		if unknown.GetSpecifiedShortnames() != "" {
			err = fmt.Errorf("unknown flag -%s", name)
		} else {
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
			if near := nearest(name, names); near != "" {
				hint = fmt.Sprintf("did you mean --%s?", near)
			}
		}
	}
	if cmd.HasParent() {
		err = fmt.Errorf("%s: %w", fullName(cmd), err)
	}
	if hint == "" {
		hint = fmt.Sprintf("usage: %s; more by %s -h", cmd.UseLine(), cmd.CommandPath())
	}
	return status.Hint(status.Usage(err), hint)
}

// noCommand is the error for a command line that names no known command.
// The parent is the program or a command that has others below it.
func noCommand(parent *cobra.Command, args []string) error {
	list := parent.CommandPath() + " -h lists the commands"
	if len(args) == 0 {
		return status.Hint(errors.New("no command given"), list)
	}
	err := fmt.Errorf("unknown command %q", args[0])
	if near := nearest(args[0], commandNames(parent)); near != "" {
		return status.Hint(err, fmt.Sprintf("did you mean %s %s?", parent.CommandPath(), near))
	}
	if strings.HasSuffix(args[0], ".toml") {
		return status.Hint(err, "a configuration is run by: lsm run "+args[0])
	}
	return status.Hint(err, list)
}

func commandNames(parent *cobra.Command) (names []string) {
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// nearest is the name closest to what was typed, "" where none is close.
func nearest(typed string, names []string) string {
	best, least := "", 1+max(1, len(typed)/3)
	for _, name := range names {
		d := levenshtein.ComputeDistance(strings.ToLower(typed), name)
		if len(typed) >= 3 && strings.HasPrefix(name, strings.ToLower(typed)) {
			d = min(d, 1)
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// inOrder takes steps one after the other until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
