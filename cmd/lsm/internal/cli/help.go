package cli

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

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Exits notes in a command's annotations the exit statuses that it can end
// with, for its help. Statuses 1, 2 and 130 are possible everywhere and need not be
// named. A meaning of its own replaces the general one: "1 the files differ".
func Exits(list ...string) map[string]string {
	table := map[string]string{}
	for _, entry := range append([]string{"0", "1", "2", "130"}, list...) {
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

var helpTemplate = template.Must(template.New("help").Funcs(template.FuncMap{"trim": trimFlags, "flagGroups": flagGroups}).Parse(
	`{{if .Long}}{{.Long}}{{else}}{{.Short}}.{{end}}

Usage:
  {{.UseLine}}
{{- range $g := .Groups}}

{{$g.Title}}:
{{- range $.Commands}}{{if and (eq .GroupID $g.ID) (not .Hidden)}}
  {{printf "%-11s" .Name}} {{.Short}}
{{- end}}{{end}}
{{- else}}{{if .HasAvailableSubCommands}}

Commands:
{{- range .Commands}}
  {{printf "%-11s" .Name}} {{.Short}}
{{- end}}{{end}}
{{- end}}
{{- if .HasExample}}

Example:
{{.Example}}
{{- end}}
{{- range $f := flagGroups .}}

{{$f.Title}}:
{{trim $f.Flags.FlagUsages}}
{{- end}}
{{- if .HasAvailableInheritedFlags}}

Flags of every command:
{{trim .InheritedFlags.FlagUsages}}
{{- end}}
{{- if .Annotations}}

Exit status:
{{- range $code, $meaning := .Annotations}}
  {{$code}}  {{$meaning}}
{{- end}}
{{- end}}
{{- if not .HasParent}}

More: lsm COMMAND -h; lsm help start, config, formats, status
{{- end}}
`))

// first is the annotation of flags that stand first in the help.
const first = "first"

// First makes flags of a command stand first in its help, in this order, before all others.
func First(cmd *cobra.Command, names ...string) {
	for i, name := range names {
		if err := cmd.Flags().SetAnnotation(name, first, []string{strconv.Itoa(i)}); err != nil {
			panic(err)
		}
	}
}

// flagGroup is flags under one title.
type flagGroup struct {
	Title string
	Flags *pflag.FlagSet
}

// flagGroups are a command's own flags, those of First before the others.
func flagGroups(cmd *cobra.Command) (groups []flagGroup) {
	chosen, others := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	chosen.SortFlags = false
	var ordered []*pflag.Flag
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[first] == nil {
			others.AddFlag(f)
		} else {
			ordered = append(ordered, f)
		}
	})
	slices.SortFunc(ordered, func(a, b *pflag.Flag) int {
		return strings.Compare(a.Annotations[first][0], b.Annotations[first][0])
	})
	for _, f := range ordered {
		chosen.AddFlag(f)
	}
	title := "Flags"
	if chosen.HasAvailableFlags() {
		groups, title = append(groups, flagGroup{"Flags that matter first", chosen}), "Other flags"
	}
	if others.HasAvailableFlags() {
		groups = append(groups, flagGroup{title, others})
	}
	return groups
}

// trimFlags leaves out defaults that are empty lists, because they tell the reader nothing.
func trimFlags(usages string) string {
	return strings.ReplaceAll(strings.TrimRight(usages, "\n"), " (default [])", "")
}

// HelpOf is the help of one command.
func HelpOf(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var b bytes.Buffer
	if err := helpTemplate.Execute(&b, cmd); err != nil {
		panic(err)
	}
	return b.String()
}

// printHelp prints the help for -h.
func (a *App) printHelp(cmd *cobra.Command, _ []string) {
	if names := cmd.Flags().Args(); len(names) > 0 && cmd.HasSubCommands() {
		a.unknown = noCommand(cmd, names) // for it there is no help
		return
	}
	a.started, a.Command = true, fullName(cmd)
	a.text("help", HelpOf(cmd))
}

// text prints a longer text, or an event that holds it.
func (a *App) text(event, text string) {
	a.Report.Printf("%s", text)
	a.Report.Event(event, "text", text)
}

//go:embed formats.txt
var formatsText string

//go:embed start.txt
var startText string

func newHelp(a *App) *cobra.Command {
	var template bool
	cmd := &cobra.Command{
		Use:   "help [TOPIC] [KEY]",
		Short: "Help on a command or a topic",
		Long: `Help on a command, or on a topic:

  start        from SEG-Y to an image
  config       the configuration file; a section, a key or "all" may follow
  formats      the files that lsm reads and writes
  status       the exit statuses of all commands`,
		Example: `  lsm help run
  lsm help start
  lsm help config solver.damping
  lsm help config --template > config.toml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			words := append(slices.Clone(args), "", "")
			topic, key := words[0], words[1]
			switch {
			case template && topic != "config":
				return status.Hint(status.Usage(errors.New("help: --template works only with help config")),
					"lsm help config --template > config.toml")
			case key != "" && (topic == "start" || topic == "formats" || topic == "status"):
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
				text := config.Help()
				a.Report.Printf("%s", text)
				a.Report.Event("help", "text", text, "fields", config.Fields())
			case topic == "start":
				a.text("help", startText)
			case topic == "formats":
				a.text("help", formatsText)
			case topic == "status":
				a.text("help", statusText())
			default:
				at, left, _ := cmd.Root().Find(args) // the error says that some are left
				if len(left) > 0 {
					return noHelp(at, left[0])
				}
				a.text("help", HelpOf(at))
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
		names = append(names, "start", "config", "formats", "status")
	}
	return DidYouMean(status.Usage(fmt.Errorf("help: no command or topic %q", name)), name, names,
		strings.TrimSpace("lsm help "+fullName(parent))+" ", "lsm help lists the commands and topics")
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
A run that reached its iteration limit ends with status 0. With --json the last line
is {"event":"done",…} for status 0, and {"event":"error","status":…,"message":…,
"hint":…} for all others.
`)
	return b.String()
}

func newCompletion(a *App) *cobra.Command {
	return &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print a completion script for bash, zsh or fish",
		Example:   "  lsm completion bash > /etc/bash_completion.d/lsm",
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
