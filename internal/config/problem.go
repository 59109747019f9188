package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// Problem is one thing that is wrong with a configuration, or one remark on it.
type Problem struct {
	Source  string `json:"source"`           // the file, "--set section.key=value" or the environment variable
	Line    int    `json:"line,omitempty"`   // from 1; 0 for none
	Column  int    `json:"column,omitempty"` // from 1; 0 for none
	Key     string `json:"key,omitempty"`    // such as "solver.iterations"
	Message string `json:"message"`          // what is wrong: wanted and found
	Hint    string `json:"hint,omitempty"`   // what was perhaps meant
	Default string `json:"default,omitempty"`
}

// String is one line in the manner of a compiler, such as
//
//	config.toml:12: solver.iteratons: unknown key; did you mean "iterations"?
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Source)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
		if p.Column > 0 {
			fmt.Fprintf(&b, ":%d", p.Column)
		}
	}
	b.WriteString(": ")
	// The text of a --set option names its key already.
	if p.Key != "" && !strings.HasPrefix(p.Source, "--set "+p.Key+"=") {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	switch {
	case p.Default == "":
	case strings.HasSuffix(p.Hint, "?"):
		b.WriteString(" (default " + p.Default + ")")
	default:
		b.WriteString("; default " + p.Default)
	}
	return oneLine(b.String())
}

// Problems is the error of Load and Parse: everything that is wrong, those of
// the file first, by line.
type Problems struct {
	List []Problem `json:"problems"`

	err error // the fault of the file system behind them, if any
}

// Error is one line for each problem.
func (p *Problems) Error() string { return readable.Join("%v", "\n", p.List) }

// Unwrap gives the fault of the file system, for errors.Is.
func (p *Problems) Unwrap() error { return p.err }

// mostProblems is how many are worth printing: a file with more is hardly a configuration.
const mostProblems = 200

// first keeps the first mostProblems of a list and says how many more there were.
func first(list []Problem, file string) []Problem {
	if more := len(list) - mostProblems; more > 0 {
		return append(list[:mostProblems], Problem{Source: file, Message: fmt.Sprintf("and %s more", readable.Count(more, "problem"))})
	}
	return list
}

// sortByLine puts problems of the named file first, by line, those without a
// line after them, and leaves all others in their order.
func sortByLine(list []Problem, file string) {
	rank := func(p Problem) int {
		switch {
		case p.Source != file:
			return math.MaxInt
		case p.Line == 0:
			return math.MaxInt - 1
		}
		return p.Line
	}
	slices.SortStableFunc(list, func(a, b Problem) int { return cmp.Compare(rank(a), rank(b)) })
}
