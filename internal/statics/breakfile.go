package statics

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// BreakTable writes first breaks as CSV, a line each: the number of the trace from 0, its offset in m, the time and its standard
// deviation in s.
func BreakTable(s *survey.Survey, breaks []Break) []byte {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	out.Write([]string{"trace", "offset", "time", "deviation"})
	for _, p := range breaks {
		out.Write([]string{strconv.Itoa(p.Trace), strconv.FormatFloat(s.Offset(p.Trace), 'f', 2, 64),
			strconv.FormatFloat(p.Time, 'f', 6, 64), strconv.FormatFloat(p.Deviation, 'f', 6, 64)})
	}
	out.Flush()
	return b.Bytes()
}

// ReadBreaks reads a table of first breaks, of this program or another one: a trace, its offset, the time and, if it is known, the
// deviation a line. The offset must be that of the survey's trace to a metre.
func ReadBreaks(path string, s *survey.Survey) (breaks []Break, err error) {
	rows, err := plainfile.ReadRows(path)
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, r := range rows {
		fault := func(format string, args ...any) error {
			return fmt.Errorf("%s: line %d: %w", path, r.Line, fmt.Errorf(format, args...))
		}
		if n := len(r.Values); n != 3 && n != 4 {
			return nil, fault("has %s, want trace, offset, time and perhaps deviation", readable.Count(n, "number"))
		}
		n := int(r.Values[0])
		b := Break{Trace: n, Time: r.Values[2], Deviation: s.DT}
		if len(r.Values) == 4 {
			b.Deviation = r.Values[3]
		}
		switch {
		case float64(n) != r.Values[0] || n < 0 || n >= s.NumTraces():
			return nil, fault("trace %g: the survey has traces 0 to %d", r.Values[0], s.NumTraces()-1)
		case seen[n]:
			return nil, fault("trace %d is there twice", n)
		case math.Abs(s.Offset(n)-math.Abs(r.Values[1])) > 1:
			return nil, fault("trace %d has the offset %g m, the survey's has %.2f m: the breaks are of another survey", n, r.Values[1], s.Offset(n))
		case !(b.Deviation >= 0):
			return nil, fault("deviation is %g s, must be at least 0", b.Deviation)
		}
		seen[n] = true
		breaks = append(breaks, b)
	}
	return breaks, nil
}
