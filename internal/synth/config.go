package synth

import (
	_ "embed" // of the texts
	"slices"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// The texts name the files of a case, SurveyFile and those beside it, as they are called.
var (
	//go:embed config.tmpl
	configText string
	//go:embed readme.tmpl
	readmeText string
)

func (c *Case) describe() {
	facts := struct {
		*Case
		Shots, Traces, Interval string
		Uniform                 float64 // the velocity, where it is the same everywhere
	}{Case: c, Shots: readable.Count(c.Survey.NumSources(), "shot"), Traces: readable.Count(c.Survey.NumTraces(), "trace"),
		Interval: readable.Time(1e3 * c.Survey.DT)}
	if slices.Min(c.Smooth) == slices.Max(c.Smooth) {
		facts.Uniform = c.Smooth[0]
	}
	fill := func(text string) string {
		var b strings.Builder
		if err := template.Must(template.New("").Funcs(template.FuncMap{"toml": value}).Parse(text)).Execute(&b, facts); err != nil {
			panic(err) // the texts are part of the program
		}
		return b.String()
	}
	c.Config, c.Readme = fill(configText), fill(readmeText)
}

// value is v as a configuration has it.
func value(v any) (string, error) {
	text, err := toml.Marshal(map[string]any{"v": v})
	return strings.TrimPrefix(strings.TrimSpace(string(text)), "v = "), err
}
