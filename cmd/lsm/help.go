package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// exits notes in a command's annotations the exit statuses that it can end
// with, for its help. Statuses 1 and 2 are possible everywhere and need not be
// named. A meaning of its own replaces the general one: "1 the files differ".
func exits(list ...string) map[string]string {
	table := map[string]string{}
	for _, code := range []int{status.Done, status.Other, status.BadUsage} {
		table[exitKey(code)] = status.Meaning(code)
	}
	for _, entry := range list {
		number, own, _ := strings.Cut(entry, " ")
		code, err := strconv.Atoi(number)
		if err != nil || status.Meaning(code) == "" {
			panic(fmt.Sprintf("lsm: no exit status %q", entry))
		}
		if own == "" {
			own = status.Meaning(code)
		}
		table[exitKey(code)] = own
	}
	return table
}

// exitKey sorts by the number.
func exitKey(code int) string { return fmt.Sprintf("exit %3d", code) }

const helpText = `{{.Text}}

Usage:
  {{.Cmd.UseLine}}
{{- range .Groups}}

{{.Title}}:
{{- range .Commands}}
  {{printf "%-11s" .Name}} {{.Short}}
{{- end}}
{{- end}}
{{- if .Cmd.HasAvailableLocalFlags}}

Flags:
{{.LocalFlags}}
{{- end}}
{{- if .GlobalFlags}}

Flags of every command:
{{.GlobalFlags}}
{{- end}}
{{- if .Cmd.HasExample}}

Example:
{{.Cmd.Example}}
{{- end}}
{{- if .Exits}}

Exit status:
{{- range .Exits}}
  {{.}}
{{- end}}
{{- end}}
{{- if not .Cmd.HasParent}}

More: lsm COMMAND -h; lsm help config, formats, status
{{- end}}
`

type helpGroup struct {
	Title    string
	Commands []*cobra.Command
}

// helpOf is the help of one command.
func helpOf(cmd *cobra.Command) string {
	data := struct {
		Cmd         *cobra.Command
		Text        string
		LocalFlags  string
		GlobalFlags string
		Groups      []helpGroup
		Exits       []string
	}{Cmd: cmd, Text: cmd.Long}
	if data.Text == "" {
		data.Text = cmd.Short + "."
	}
	cmd.InitDefaultHelpFlag()
	data.LocalFlags = strings.TrimRight(cmd.LocalFlags().FlagUsages(), "\n")
	data.GlobalFlags = strings.TrimRight(cmd.InheritedFlags().FlagUsages(), "\n")
	titles := cmd.Groups()
	if len(titles) == 0 {
		titles = []*cobra.Group{{Title: "Commands"}} // those below, which have no group
	}
	for _, g := range titles {
		group := helpGroup{Title: g.Title}
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && !c.Hidden {
				group.Commands = append(group.Commands, c)
			}
		}
		if len(group.Commands) > 0 {
			data.Groups = append(data.Groups, group)
		}
	}
	for code := range 256 {
		if text, ok := cmd.Annotations[exitKey(code)]; ok {
			data.Exits = append(data.Exits, fmt.Sprintf("%3d  %s", code, text))
		}
	}
	var b bytes.Buffer
	if err := template.Must(template.New("help").Parse(helpText)).Execute(&b, data); err != nil {
		panic(err)
	}
	return b.String()
}

// printHelp is what -h calls.
func (a *app) printHelp(cmd *cobra.Command, _ []string) {
	if names := cmd.Flags().Args(); len(names) > 0 && cmd.HasSubCommands() {
		a.unknown = noCommand(cmd, names) // for it there is no help
		return
	}
	a.started = true
	a.command = fullName(cmd)
	a.text("help", helpOf(cmd))
}

// text prints a longer text, or an event that holds it.
func (a *app) text(event, text string) {
	a.report.Printf("%s", text)
	a.report.Event(event, "text", text)
}
