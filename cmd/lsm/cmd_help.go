package main

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

//go:embed formats.txt
var formatsText string

func newHelp(a *app) *cobra.Command {
	var template bool
	cmd := &cobra.Command{
		Use:   "help [TOPIC] [KEY]",
		Short: "Help on a command or a topic",
		Long: `Help on a command, or on a topic:

  config       the configuration file; a section or key may follow
  formats      the files that lsm reads and writes
  status       the exit statuses of all commands`,
		Example: `  lsm help run
  lsm help config solver.damping
  lsm help config --template > config.toml`,
		GroupID:     groupMachine,
		Args:        arguments("[TOPIC]", "[KEY]"),
		Annotations: exits(),
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, key := "", ""
			if len(args) > 0 {
				topic = args[0]
			}
			if len(args) > 1 {
				key = args[1]
			}
			switch {
			case template && topic != "config":
				return status.Hint(status.Usage(errors.New("help: --template belongs to help config")),
					"lsm help config --template > config.toml")
			case key != "" && (topic == "formats" || topic == "status"):
				return status.Usage(fmt.Errorf("help: unexpected argument %q", key))
			case template:
				a.text("template", config.Template())
				return nil
			case topic == "config":
				return a.helpConfig(key)
			case topic == "formats":
				a.text("help", formatsText)
				return nil
			case topic == "status":
				a.text("help", statusText())
				return nil
			}
			return a.helpCommand(cmd.Root(), args)
		},
	}
	cmd.Flags().BoolVar(&template, "template", false, "with config: print a commented configuration file")
	return cmd
}

func (a *app) helpConfig(key string) error {
	if key != "" {
		text, err := config.HelpKey(key)
		if err != nil {
			return status.Usage(fmt.Errorf("help config: %w", err))
		}
		a.text("help", text)
		return nil
	}
	a.report.Printf("%s", config.Help())
	a.report.Event("help", "text", config.Help(), "fields", config.Fields())
	return nil
}

// helpCommand shows the help of the command that the names lead to, of the
// program itself without any.
func (a *app) helpCommand(root *cobra.Command, names []string) error {
	at := root
	for _, name := range names {
		i := slices.IndexFunc(at.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
		if i < 0 {
			return noHelp(at, name)
		}
		at = at.Commands()[i]
	}
	a.text("help", helpOf(at))
	return nil
}

func noHelp(parent *cobra.Command, name string) error {
	names := commandNames(parent)
	if parent.HasParent() {
		if len(names) == 0 {
			return status.Usage(fmt.Errorf("help: unexpected argument %q", name))
		}
	} else {
		names = append(names, "config", "formats", "status")
	}
	err := status.Usage(fmt.Errorf("help: no command or topic %q", name))
	if near := nearest(name, names); near != "" {
		return status.Hint(err, fmt.Sprintf("did you mean %s?", strings.TrimSpace("lsm help "+fullName(parent))+" "+near))
	}
	return status.Hint(err, "lsm help lists the commands and topics")
}

func statusText() string {
	var b strings.Builder
	b.WriteString("Exit statuses of all commands:\n\n")
	for code := range 256 {
		if text := status.Meaning(code); text != "" {
			fmt.Fprintf(&b, "  %3d  %s\n", code, text)
		}
	}
	b.WriteString(`
An iteration limit that was reached is status 0. With --json the last line is
{"event":"done",…} for status 0, and {"event":"error","status":…,"message":…,
"hint":…} for all others.
`)
	return b.String()
}
