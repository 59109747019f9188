package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
)

// Log holds the events that a run has printed with --json.
type Log struct {
	Iterations []Iteration
	Times      *Times
	Memory     *Memory
	Warnings   []string
	Residual   *float64 // norm at the end; nil: the run did not end well, or the log is cut short
}

// Iteration is one iteration as it was reported; numbers that the method does
// not have are nil.
type Iteration struct {
	N       int      `json:"iteration"`
	Adjoint *float64 `json:"adjoint"`
	Seconds float64  `json:"seconds"`
}

// Memory is the most that a rank took, in bytes, and what was predicted.
type Memory struct {
	Max       int64
	Rank      int   // that took the most
	Predicted int64 // for that rank; 0: not known
}

// Times are where the time of a run went.
type Times struct {
	Ranks int
	Total float64 // s, of the mean rank
	Rows  []progress.Row
}

// event is a line of the log, of one of the kinds that count here.
type event struct {
	Event string `json:"event"`
	Iteration
	progress.Row
	Message   string   `json:"message"`
	Rank      int      `json:"rank"`
	Predicted int64    `json:"predicted"`
	Command   string   `json:"command"`
	Residual  *float64 `json:"residual"`
}

// logLine is the longest line that is read, in bytes.
const logLine = 16 << 20

// ReadLog reads what lsm run --json has printed. It skips lines that do not begin with a
// brace, such as a launcher's, and a last line that was cut. Any other line must be an event; a log
// without events is an error too.
func ReadLog(r io.Reader) (*Log, error) {
	l := &Log{}
	seen := 0
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, logLine)
	var broken error // of the line before: an error unless it is the last
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if !bytes.HasPrefix(line, []byte("{")) {
			continue
		}
		if broken != nil {
			return nil, broken
		}
		known, err := l.take(line)
		if err != nil {
			broken = fmt.Errorf("line %d is no event of lsm --json: %w", n, err)
		} else if known {
			seen++
		}
	}
	switch err := lines.Err(); {
	case err != nil:
		return nil, err
	case seen > 0:
		return l, nil
	case broken != nil:
		return nil, broken
	}
	return nil, errors.New("has no events: want what lsm run --json has printed")
}

// take adds a line and reports whether it was an event.
func (l *Log) take(line []byte) (bool, error) {
	var e event
	err := json.Unmarshal(line, &e)
	var other *json.UnmarshalTypeError
	if known := slices.Contains([]string{"iteration", "timing", "memory", "warning", "done"}, e.Event); err != nil && (known || !errors.As(err, &other)) {
		return false, err
	}
	switch e.Event {
	case "":
		return false, err
	case "iteration":
		l.Iterations = append(l.Iterations, e.Iteration)
	case "memory":
		l.Memory = &Memory{int64(e.Max), e.Rank, e.Predicted}
	case "warning":
		if !slices.Contains(l.Warnings, e.Message) {
			l.Warnings = append(l.Warnings, e.Message)
		}
	case "timing":
		if len(e.Path) == 0 {
			break
		}
		if l.Times == nil {
			l.Times = &Times{}
		}
		l.Times.Ranks = max(l.Times.Ranks, e.Ranks)
		if e.IsTotal() {
			l.Times.Total = e.Avg
		}
		l.Times.Rows = append(l.Times.Rows, e.Row)
	case "done":
		if e.Command == "run" {
			l.Residual = e.Residual
		}
	}
	return true, nil
}

// Belongs reports whether the log can be that of a run with this history of
// residual norms.
func (l *Log) Belongs(residual []float64) bool {
	if l.Residual == nil || len(residual) == 0 {
		return true
	}
	last := residual[len(residual)-1]
	return math.Abs(*l.Residual-last) <= 1e-9*math.Abs(last)
}
