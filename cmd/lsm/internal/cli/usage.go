package cli

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
			return status.Hint(err, "set configuration keys with --set "+extra)
		}
		return DidYouMean(err, extra, commandNames(cmd), cmd.CommandPath()+" ", "")
	}
}

// Require makes flags of a command obligatory.
func Require(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}

// NotEmpty refuses a flag that is given an empty path.
func NotEmpty(cmd *cobra.Command, flag, want string) {
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if f := cmd.Flags().Lookup(flag); f.Changed && f.Value.String() == "" {
			return fmt.Errorf("--%s is empty, want the path of %s", flag, want)
		}
		if before == nil {
			return nil
		}
		return before(cmd, args)
	}
}

// usageError marks an error of the command line with its status, says which
// command it is about, and adds a hint if it has none.
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
			hint = status.HintOf(DidYouMean(err, name, names, "--", hint))
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
		if !parent.HasParent() {
			list = "lsm help start shows the commands from SEG-Y to an image"
		}
		return status.Hint(errors.New("no command given"), list)
	}
	if strings.HasSuffix(args[0], ".toml") {
		list = "to run a configuration: lsm run " + args[0]
	}
	return DidYouMean(fmt.Errorf("unknown command %q", args[0]), args[0], commandNames(parent), parent.CommandPath()+" ", list)
}

func commandNames(parent *cobra.Command) (names []string) {
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// DidYouMean adds a hint to an error about an unknown name: the nearest of the names, with
// before in front of it. If none is near, the hint is otherwise.
func DidYouMean(err error, typed string, names []string, before, otherwise string) error {
	if near := nearest(typed, names); near != "" {
		otherwise = fmt.Sprintf("did you mean %s%s?", before, near)
	}
	return status.Hint(err, otherwise)
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

// InOrder takes steps one after the other until one fails.
func InOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Wrote tells where a command's output is, with keys and values for the event "done".
func (a *App) Wrote(what, path string, keyValues ...any) {
	a.Report.Printf("%s: %s\n", what, path)
	a.Finish(append([]any{"output", path}, keyValues...)...)
}
