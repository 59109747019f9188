package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/quality"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Readiness is the table of a survey file.
func Readiness(ctx context.Context, a *cli.App, path string, opt quality.Options) (*quality.Table, error) {
	kind, err := h5.Kind(path)
	if err != nil {
		return nil, withFormatHint(path, err)
	}
	if kind != "survey" {
		return nil, status.Input(fmt.Errorf("%s: is of kind %s, want a survey file", path, kind))
	}
	r, err := h5.OpenSurvey(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := quality.Look(ctx, r, opt, a.Report)
	if err != nil {
		return nil, err
	}
	return t, r.Unchanged()
}

// TellTable prints a table, and gives its rows as events.
func TellTable(a *cli.App, t *quality.Table) {
	a.Report.Printf("%s", TableText(t))
	for _, r := range t.Rows {
		keyValues := []any{"group", r.Group, "name", r.Name, "level", string(r.Level), "text", r.Text}
		if r.Score != nil {
			keyValues = append(keyValues, "score", *r.Score, "limit", *r.Limit)
		}
		if r.Traces != nil {
			keyValues = append(keyValues, "traces", r.Traces)
		}
		a.Report.Event("row", keyValues...)
	}
}

// TableText is a table as text.
func TableText(t *quality.Table) string {
	var b strings.Builder
	line := func(columns ...any) {
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-6s %-13s %-15s %-15s %s", columns...), " ") + "\n")
	}
	line("", "group", "row", "score (least)", "")
	for _, r := range t.Rows {
		line(r.Level, r.Group, r.Name, scoreText(r), RowText(r))
	}
	return b.String()
}

func scoreText(r quality.Row) string {
	if r.Score == nil {
		return ""
	}
	return fmt.Sprintf("%.4g (%.4g)", *r.Score, *r.Limit)
}

// RowText is the text of a row with the first traces at fault.
func RowText(r quality.Row) string {
	if len(r.Traces) == 0 {
		return r.Text
	}
	text := r.Text + ": " + readable.Join("%d", ", ", r.Traces[:min(shownTraces, len(r.Traces))])
	if len(r.Traces) > shownTraces {
		text += ", ..."
	}
	return text
}

// shownTraces is how many traces at fault a line names.
const shownTraces = 5
