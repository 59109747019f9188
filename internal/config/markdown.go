package config

import (
	"fmt"
	"strings"
)

// Markdown is the page docs/configuration.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("<!-- Made from internal/config/sections.go by `go generate ./internal/config`; edit that. -->\n")
	b.WriteString("# Configuration\n\n")
	for _, p := range rules() {
		b.WriteString(escape(p) + "\n\n")
	}
	b.WriteString("`lsm help config` prints this page's tables, `lsm check CONFIG` tries a file without computing.\n")
	for _, s := range newTable().sections {
		fmt.Fprintf(&b, "\n## `[%s]`\n\n%s\n\n", s.name, escape(s.help))
		b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
		for _, f := range s.fields {
			deflt := "required"
			if !f.Required {
				deflt = "`" + f.Default + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Key, escape(f.want()), deflt, escape(f.Help))
		}
	}
	b.WriteString("\n## Problems\n\nThis file, `run.toml`,\n\n```toml\n" + badExample + "```\n\nis answered by\n\n```\n")
	_, err := Parse("run.toml", []byte(badExample), []string{"solver.damping=-1"}, nil)
	fmt.Fprintf(&b, "%v\n```\n\nwhere the last line is the answer to `--set solver.damping=-1`.\n", err)
	b.WriteString("\n## Template\n\n```toml\n" + Template() + "```\n")
	return b.String()
}

// badExample shows what problems look like.
const badExample = `[survey]
fil = "survey.h5"

[velocity]
constant = "fast"

[solver]
method = "cgsl"
iteratons = 40

[output]
minutes = 5
`

// escape keeps Markdown from reading plain text as markup, also in a table.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "<", "&lt;").Replace(s)
}
