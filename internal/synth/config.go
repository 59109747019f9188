package synth

import (
	_ "embed" // of the texts
	"fmt"
	"slices"
	"strings"
	"text/template"

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
		Uniform                 []string // the velocity, where it is the same everywhere
	}{Case: c, Shots: readable.Count(c.Survey.NumSources(), "shot"), Traces: readable.Count(c.Survey.NumTraces(), "trace"),
		Interval: readable.Time(1e3 * c.Survey.DT)}
	if slices.Min(c.Smooth) == slices.Max(c.Smooth) {
		facts.Uniform = decimals(c.Smooth[:1])
	}
	fill := func(text string) string {
		var b strings.Builder
		if err := template.Must(template.New("").Funcs(template.FuncMap{"toml": numbers}).Parse(text)).Execute(&b, facts); err != nil {
			panic(err) // the texts are part of the program
		}
		return b.String()
	}
	c.Config, c.Readme = fill(configText), fill(readmeText)
}

func numbers(list any) string {
	if v, ok := list.([]float64); ok {
		return "[" + strings.Join(decimals(v), ", ") + "]"
	}
	return strings.ReplaceAll(fmt.Sprint(list), " ", ", ")
}

// decimals are TOML floats, which need their point.
func decimals(v []float64) []string {
	out := make([]string, len(v))
	for i, x := range v {
		if out[i] = fmt.Sprint(x); !strings.ContainsAny(out[i], ".e") {
			out[i] += ".0"
		}
	}
	return out
}
