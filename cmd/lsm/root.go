package main

import (
	"github.com/spf13/cobra"
)

// Groups of commands in the help.
const (
	groupMigrate = "migrate"
	groupFiles   = "files"
	groupMachine = "machine"
)

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "lsm COMMAND",
		Short: "Seismic least-squares Kirchhoff migration",
		Long: `lsm is seismic least-squares Kirchhoff migration: it turns recorded traces into
a picture of the underground.`,
		Example: `  lsm synth faults -o demo               # a small survey, model and configuration
  lsm check demo/config.toml             # what is wrong, before anything is computed
  lsm run demo/config.toml               # least-squares migration: demo/image.h5
  lsm plot demo/image.h5 -o image.png`,
		Args:              cobra.ArbitraryArgs, // newCommandError says what was perhaps meant
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if version, _ := cmd.Flags().GetBool("version"); version && len(args) == 0 {
				return a.printVersion()
			}
			a.started = false // whatever it was, it was no command
			return noCommand(cmd, args)
		},
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			a.started = true
			if cmd.HasParent() {
				a.command = cmd.Name()
			}
			a.report.SetQuiet(a.quiet)
		},
	}
	root.Flags().Bool("version", false, "print the version and stop")

	flags := root.PersistentFlags()
	flags.Bool("json", false, `one JSON object a line, the last with "event":"done" or "event":"error"`)
	flags.StringArrayVar(&a.set, "set", nil, "give a configuration key a value: `section.key=value`; may be repeated")
	flags.BoolVar(&a.force, "force", false, "overwrite existing outputs")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print results and warnings alone")
	flags.BoolP("help", "h", false, "print this help")

	root.AddGroup(
		&cobra.Group{ID: groupMigrate, Title: "Migrate"},
		&cobra.Group{ID: groupFiles, Title: "Look at files, and make them"},
		&cobra.Group{ID: groupMachine, Title: "This machine, this program"},
	)
	root.AddCommand(
		newRun(a),
		newMigrate(a),
		newModel(a),
		newCheck(a),
		newTraveltime(a),
		newSynth(a),
		newInfo(a),
		newPlot(a),
		newCompare(a),
		newDoctor(a),
		newVersion(a),
		newCompletion(a),
	)
	root.SetHelpCommand(newHelp(a))
	root.SetHelpFunc(a.printHelp)
	return root
}
