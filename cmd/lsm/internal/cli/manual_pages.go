package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
)

// pageTemplate is helpTemplate as Markdown, with links to the commands below and above.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"trim": trimFlags, "prose": prose, "page": pageOf, "outdent": outdent}).Parse(
	`# {{.CommandPath}}

{{if .Long}}{{prose .Long}}{{else}}{{prose .Short}}.{{end}}
{{- if .Runnable}}

` + "```text\n{{.UseLine}}\n```" + `
{{- end}}
{{- define "list"}}

| command | does |
|---|---|
{{- end}}
{{- range $g := .Groups}}

## {{$g.Title}}
{{- template "list"}}
{{- range $.Commands}}{{if and (eq .GroupID $g.ID) (not .Hidden)}}
| [{{.CommandPath}}]({{page .}}) | {{prose .Short}} |
{{- end}}{{end}}
{{- else}}{{if .HasAvailableSubCommands}}

## Commands
{{- template "list"}}
{{- range .Commands}}{{if not .Hidden}}
| [{{.CommandPath}}]({{page .}}) | {{prose .Short}} |
{{- end}}{{end}}
{{- end}}{{end}}
{{- if .HasExample}}

## Example

` + "```text\n{{outdent .Example}}\n```" + `
{{- end}}
{{- if .HasAvailableLocalFlags}}

## Flags

` + "```text\n{{trim .LocalFlags.FlagUsages}}\n```" + `
{{- end}}
{{- if .HasAvailableInheritedFlags}}

## Flags of every command

` + "```text\n{{trim .InheritedFlags.FlagUsages}}\n```" + `
{{- end}}
{{- if .Annotations}}

## Exit status

| status | meaning |
|---|---|
{{- range $code, $meaning := .Annotations}}
| {{$code}} | {{prose $meaning}} |
{{- end}}
{{- end}}
`))

// pageOf names the page of a command.
func pageOf(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".md"
}

// outdent takes the two spaces before each line away.
func outdent(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, "  "), "\n  ", "\n")
}

// option is a flag in a description.
var option = regexp.MustCompile(`(^|[ (])(--?[a-z0-9][a-z0-9-]*)`)

// marks are the characters that Markdown would read as its own.
var marks = regexp.MustCompile("[\\\\`*_<>\\[\\]|#]")

// prose makes Markdown of a description. Lines that begin with spaces stay as they are. Flags are
// code, which is not broken at their dashes.
func prose(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			b.WriteString("  " + line)
		} else {
			line = marks.ReplaceAllString(line, `\$0`)
			b.WriteString(option.ReplaceAllString(line, "$1`$2`"))
		}
	}
	return b.String()
}

// writePages writes the Markdown pages of a command and those below it.
func writePages(cmd *cobra.Command, folder string) error {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	if err := pageTemplate.Execute(&b, cmd); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, pageOf(cmd)), []byte(b.String()), 0o644); err != nil {
		return err
	}
	for _, c := range cmd.Commands() {
		if c.Hidden {
			continue
		}
		if err := writePages(c, folder); err != nil {
			return err
		}
	}
	return nil
}
