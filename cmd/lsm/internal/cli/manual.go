package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/kirchhoff-lsm/lsm/internal/provenance"
)

// newManual writes the manual for packages and the documentation: one page for each command.
func newManual(*App) *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:    "manual FOLDER",
		Short:  "Write the manual pages",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			cmd.Root().Annotations = Exits("3", "4", "5", "6", "75", "130") // of all commands
			if markdown {
				return writePages(cmd.Root(), args[0])
			}
			describe(cmd.Root())
			version, _ := provenance.Build()
			return doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Source: "lsm " + version, Manual: "lsm"}, args[0])
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "in Markdown")
	return cmd
}

// describe turns the descriptions of a command and of those below it, with their exit statuses,
// into Markdown for manual pages. Lines that begin with spaces stay unchanged.
func describe(cmd *cobra.Command) {
	var b strings.Builder
	if cmd.Long == "" {
		cmd.Long = cmd.Short + "."
	}
	for line := range strings.Lines(cmd.Long) {
		if strings.HasPrefix(line, "  ") {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	if len(cmd.Annotations) > 0 {
		b.WriteString("\n\nExit status:\n\n")
	}
	for _, code := range slices.Sorted(maps.Keys(cmd.Annotations)) {
		fmt.Fprintf(&b, "    %s  %s\n", code, cmd.Annotations[code])
	}
	cmd.Long = b.String()
	cmd.DisableAutoGenTag = true // it would hold the day
	for _, c := range cmd.Commands() {
		describe(c)
	}
}
