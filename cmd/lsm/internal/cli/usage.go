package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
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
		return status.Hint(errors.New("no command given"), list)
	}
	if strings.HasSuffix(args[0], ".toml") {
		list = "a configuration is run by: lsm run " + args[0]
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

// FileUse is a file and what a command takes it for, such as "survey.file" or "--trace".
type FileUse struct{ Role, Path string }

// Use is a file that a command takes for something.
func Use(role, path string) FileUse { return FileUse{role, path} }

// Named are files with their roles, a role before each file.
func Named(rolesAndPaths ...string) (list []FileUse) {
	for p := range slices.Chunk(rolesAndPaths, 2) {
		list = append(list, Use(p[0], p[1]))
	}
	return list
}

// Distinct refuses to write over an input, or to write two outputs to one file, even with
// --force. It follows links. Files without a name are left out.
func Distinct(inputs, outputs []FileUse) error {
	before := inputs
	for _, out := range outputs {
		if out.Path == "" {
			continue
		}
		for _, f := range before {
			if f.Path != "" && SameFile(f.Path, out.Path) {
				return status.Usage(fmt.Errorf("%s: %s is the same file as %s, %s: the output must be another file", out.Role, out.Path, f.Role, f.Path))
			}
		}
		before = append(before[:len(before):len(before)], out)
	}
	return nil
}

// CheckOutput makes sure, before anything large is read, that the output may be written.
func CheckOutput(inputs []FileUse, output string, overwrite bool) error {
	if err := Distinct(inputs, Alike("--output", output)); err != nil {
		return err
	}
	return h5.CheckOutput(output, overwrite)
}

// Wrote tells where a command's output is, with keys and values for the event "done".
func (a *App) Wrote(what, path string, keyValues ...any) {
	a.Report.Printf("%s: %s\n", what, path)
	a.Finish(append([]any{"output", path}, keyValues...)...)
}

// SameFile reports whether two paths lead to one file, which need not be there yet.
func SameFile(a, b string) bool {
	inA, errA := os.Stat(a)
	inB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(inA, inB)
	}
	return errA != nil && errB != nil && destination(a) == destination(b)
}

// destination is the path, without links, of a file that is not there yet.
func destination(path string) string {
	const mostLinks = 40
	for range mostLinks {
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		folder = filepath.Dir(path)
	}
	whole, err := filepath.Abs(filepath.Join(folder, filepath.Base(path)))
	if err != nil {
		return path
	}
	return whole
}

// Uses gives the files of a configuration their roles.
func Uses(files []config.File) []FileUse {
	out := make([]FileUse, len(files))
	for i, f := range files {
		out[i] = Use(f.Key, f.Path.File)
	}
	return out
}

// Alike gives files of one kind their role.
func Alike(role string, paths ...string) []FileUse {
	out := make([]FileUse, len(paths))
	for i, p := range paths {
		out[i] = Use(role, p)
	}
	return out
}
