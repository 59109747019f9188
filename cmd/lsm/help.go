package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/synth"
)

// exits notes in a command's annotations the exit statuses that it can end
// with, for its help. Statuses 1 and 2 are possible everywhere and need not be
// named. A meaning of its own replaces the general one: "1 the files differ".
func exits(list ...string) map[string]string {
	table := map[string]string{}
	for _, entry := range append([]string{"0", "1", "2"}, list...) {
		number, own, _ := strings.Cut(entry, " ")
		code, err := strconv.Atoi(number)
		if err != nil || status.Meaning(code) == "" {
			panic(fmt.Sprintf("lsm: no exit status %q", entry))
		}
		if own == "" {
			own = status.Meaning(code)
		}
		table[fmt.Sprintf("%3d", code)] = own // templates show keys in order
	}
	return table
}

//go:embed help.tmpl
var helpText string

// helpTexts are the frame of all help and the texts of each command by its full name.
var helpTexts = template.Must(template.New("help").Funcs(template.FuncMap{
	"cases": synth.Names, "title": synth.Title, "meaning": status.Meaning,
	"operations": func() string { return strings.Join(bench.CommOperations(), ", ") },
	"flags": func(f *pflag.FlagSet) string {
		return strings.ReplaceAll(strings.TrimRight(f.FlagUsages(), "\n"), " (default [])", "")
	},
}).Parse(helpText))

// said is one of helpTexts, "" where there is none of that name.
func said(name string, data any) string {
	text := helpTexts.Lookup(name)
	if text == nil {
		return ""
	}
	var b strings.Builder
	if err := text.Execute(&b, data); err != nil {
		panic(err)
	}
	return strings.Trim(b.String(), "\n")
}

// helpOf is the help of one command.
func helpOf(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	return said("frame", struct {
		*cobra.Command
		About, Examples string
	}{cmd, said(cmd.CommandPath(), nil), said(cmd.CommandPath()+" example", nil)}) + "\n"
}

// printHelp is what -h calls.
func (a *app) printHelp(cmd *cobra.Command, _ []string) {
	if names := cmd.Flags().Args(); len(names) > 0 && cmd.HasSubCommands() {
		a.unknown = noCommand(cmd, names) // for it there is no help
		return
	}
	a.started, a.command = true, fullName(cmd)
	a.text("help", helpOf(cmd))
}

// text prints a longer text, or an event that holds it.
func (a *app) text(event, text string) {
	a.report.Printf("%s", text)
	a.report.Event(event, "text", text)
}

//go:embed formats.txt
var formatsText string

func newHelp(a *app) *cobra.Command {
	var template bool
	cmd := &cobra.Command{
		Use:   "help [TOPIC] [KEY]",
		Short: "Help on a command or a topic",
		RunE: func(cmd *cobra.Command, args []string) error {
			words := append(slices.Clone(args), "", "")
			topic, key := words[0], words[1]
			switch {
			case template && topic != "config":
				return status.Hint(status.Usage(errors.New("help: --template belongs to help config")),
					"lsm help config --template > config.toml")
			case key != "" && (topic == "formats" || topic == "status"):
				return status.Usage(fmt.Errorf("help: unexpected argument %q", key))
			case template:
				a.text("template", config.Template())
			case topic == "config" && key != "":
				text, err := config.HelpKey(key)
				if err != nil {
					return status.Usage(fmt.Errorf("help config: %w", err))
				}
				a.text("help", text)
			case topic == "config":
				a.report.Printf("%s", config.Help())
				a.report.Event("help", "text", config.Help(), "fields", config.Fields())
			case topic == "formats":
				a.text("help", formatsText)
			case topic == "status":
				a.text("help", said("status", nil)+"\n")
			default:
				at, left, _ := cmd.Root().Find(args) // the error says that some are left
				if len(left) > 0 {
					return noHelp(at, left[0])
				}
				a.text("help", helpOf(at))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&template, "template", false, "with config: print a configuration file with comments")
	return cmd
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
	return didYouMean(status.Usage(fmt.Errorf("help: no command or topic %q", name)), name, names,
		strings.TrimSpace("lsm help "+fullName(parent))+" ", "lsm help lists the commands and topics")
}

func newCompletion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Completion script for bash, zsh or fish",
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			var b bytes.Buffer
			var err error
			switch root := cmd.Root(); args[0] {
			case "bash":
				err = root.GenBashCompletionV2(&b, true)
			case "zsh":
				err = root.GenZshCompletion(&b)
			case "fish":
				err = root.GenFishCompletion(&b, true)
			default:
				err = status.Usage(fmt.Errorf("completion: shell %q is not one of bash, zsh, fish", args[0]))
			}
			if err == nil {
				a.text("completion", b.String())
			}
			return err
		},
	}
}
