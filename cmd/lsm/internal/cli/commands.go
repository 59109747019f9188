package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Group is a part of the list of commands, as lsm help shows it.
type Group struct {
	Title    string
	Commands []*cobra.Command
}

// NewRoot makes the command lsm with the given commands below it, the help among them.
func NewRoot(a *App, groups []Group) *cobra.Command {
	root := &cobra.Command{
		Use:   "lsm COMMAND",
		Short: "Seismic least-squares Kirchhoff migration",
		Long: `lsm makes images of the subsurface from seismic traces, by Kirchhoff migration and
least-squares migration. lsm help start shows the five commands from SEG-Y to an image.`,
		Example: `  lsm synth faults -o demo               # a small survey, model and configuration
  lsm check demo/config.toml             # find mistakes before anything is computed
  lsm run demo/config.toml               # least-squares migration: demo/image.h5
  lsm plot demo/image.h5 -o image.png`,
		Args:              cobra.ArbitraryArgs, // noCommand says what was perhaps meant
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if version, _ := cmd.Flags().GetBool("version"); version && len(args) == 0 {
				a.started = true
				return a.printVersion()
			}
			if len(args) == 0 && !a.Report.JSON() {
				fmt.Fprintln(a.errs, HelpOf(cmd))
			}
			return noCommand(cmd, args)
		},
	}
	root.Flags().Bool("version", false, "print the version and stop")

	flags := root.PersistentFlags()
	flags.Bool("json", false, `print JSON lines, the last with "event":"done" or "event":"error"`)
	flags.StringArrayVar(&a.Set, "set", nil, "set a configuration key: `section.key=value`; may be repeated")
	flags.BoolVar(&a.Force, "force", false, "overwrite existing outputs")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print only results and warnings")
	flags.BoolP("help", "h", false, "print this help")

	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.Title, Title: g.Title})
		for _, c := range g.Commands {
			c.GroupID = g.Title
			if c.Name() == "help" {
				root.SetHelpCommand(c)
			} else {
				root.AddCommand(c)
			}
			a.mark(root, c)
		}
	}
	root.SetHelpFunc(a.printHelp)
	return root
}

// mark gives a command, and those below it, what all commands share: the check of
// arguments, the exit statuses, and a note when it begins. Errors before that are errors
// of the command line.
func (a *App) mark(root, c *cobra.Command) {
	for _, below := range c.Commands() {
		a.mark(root, below)
	}
	c.Args = arguments(c.Use)
	if c.Annotations == nil {
		c.Annotations = Exits()
	}
	work := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a.started, a.Command = true, fullName(cmd)
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if root.PersistentFlags().Lookup(f.Name) == nil {
				a.flags = append(a.flags, comm.Fact{Name: "--" + f.Name, Value: f.Value.String()})
			}
		})
		if err := finite(cmd); err != nil {
			return status.Usage(fmt.Errorf("%s: %w", a.Command, err))
		}
		a.Report.SetQuiet(a.quiet)
		if !slices.Contains(together, a.Command) && a.LeavesToRoot() {
			return nil
		}
		return work(cmd, args)
	}
}

// farthest is the largest magnitude of a number on the command line: more is a slip, and counts made of it
// are none.
const farthest = 1e15

// finite refuses flags whose value is no number that anything can be measured by.
func finite(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		var values []float64
		switch f.Value.Type() {
		case "float64":
			v, _ := cmd.Flags().GetFloat64(f.Name)
			values = []float64{v}
		case "float64Slice":
			values, _ = cmd.Flags().GetFloat64Slice(f.Name)
		}
		for _, v := range values {
			if !(math.Abs(v) <= farthest) && err == nil {
				err = fmt.Errorf("--%s has %g, must be finite, and at most %g either way", f.Name, v, farthest)
			}
		}
	})
	return err
}

// LeavesToRoot reports whether this rank of a launcher leaves the command to rank 0, and says so.
// Rank 0 goes on as if there was no launcher.
func (a *App) LeavesToRoot() bool {
	if l := a.Launcher; l.Rank > 0 { // without a word it would end as if nothing was wrong
		if !a.quiet {
			fmt.Fprintf(a.errs, "lsm: rank %d of %d of %s leaves %q to rank 0\n", l.Rank, l.Ranks, l.Name, a.Command)
		}
		return true
	}
	a.Launcher = machine.Launcher{Ranks: 1}
	return false
}

// together are the commands that all ranks of a launcher run together. With wavelet this is
// true only by least squares.
var together = []string{"run", "migrate", "model", "target", "check", "loop", "wavelet", "doctor", "bench", "bench comm", "bench solve", "bench backends", "bench matmul"}

// fullName is a command's name as typed after "lsm": "bench kernel".
func fullName(cmd *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()), " ")
}
