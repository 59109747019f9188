package fielddata

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// A text of times and amplitudes gives the amplitudes, and time zero where the times say it. What may be
// something else is refused, by its line.
func TestTextWavelet(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.txt")
	samples := []float64{0, 0.25, 1, 0.25, 0}
	text := func(separator string, times ...float64) string {
		lines := ""
		for i, at := range times {
			lines += fmt.Sprint(at, separator, samples[i], "\n")
		}
		return lines
	}
	comma := func(s string) string { return strings.ReplaceAll(s, ".", ",") }
	centred, ms := []float64{-0.008, -0.004, 0, 0.004, 0.008}, []float64{-8, -4, 0, 4, 8}
	for name, c := range map[string]struct {
		text string
		zero int // asked for
		want int
		says string
	}{
		"one column":            {"0\n0.25\n1\n0.25\n0\n", 2, 2, ""},
		"one line":              {"0 0.25 1 0.25 0", 2, 2, ""},
		"seconds":               {text(" ", centred...), -1, 2, ""},
		"that agree":            {text(" ", centred...), 2, 2, ""},
		"milliseconds":          {text("\t", ms...), -1, 2, ""},
		"commas":                {"time,amplitude\n" + text(",", centred...), -1, 2, ""},
		"semicolons":            {"\ufeff" + strings.ReplaceAll(text(";", centred...), "\n", "\r\n"), -1, 2, ""},
		"decimal commas":        {comma(text(";", centred...)), -1, 2, ""},
		"from 0":                {text(" ", 0, 0.004, 0.008, 0.012, 0.016), -1, 0, ""},
		"from 0, zero given":    {text(" ", 0, 0.004, 0.008, 0.012, 0.016), 3, 3, ""},
		"that contradict":       {text(" ", centred...), 1, 0, "time zero is sample 2 by its times, from 0, but 1 is requested"},
		"another interval":      {text(" ", -0.004, -0.002, 0, 0.002, 0.004), -1, 0, "lines 1 to 5: the first numbers are 0.002 apart, but times would be 0.004 (s) or 4 (ms) apart"},
		"of another unit":       {text(" ", -8000, -4000, 0, 4000, 8000), -1, 0, "are 4000 apart"},
		"numbers of samples":    {text(" ", 0, 1, 2, 3, 4), -1, 0, "are 1 apart"},
		"falling":               {text(" ", 0.008, 0.004, 0, -0.004, -0.008), -1, 0, "line 2: has two numbers, and the first, 0.004, is not above that of the line before, 0.008"},
		"amplitudes first":      {"0 -0.008\n0.25 -0.004\n1 0\n0.25 0.004\n0 0.008\n", -1, 0, "line 4: has two numbers, and the first, 0.25, is not above that of the line before, 1"},
		"uneven":                {text(" ", -0.008, -0.004, 0.001, 0.004, 0.008), -1, 0, "line 3: has two numbers, and the first, 0.001, is not evenly spaced: want 0"},
		"zero between":          {text(" ", -0.006, -0.002, 0.002, 0.006, 0.010), -1, 0, "line 2: time 0 lies between"},
		"zero before":           {text(" ", 0.1, 0.104, 0.108, 0.112, 0.116), -1, 0, "its times are 0.1 to 0.116 s, want time 0 among them"},
		"three columns":         {"1 0 0\n2 0.004 1\n3 0.008 0\n", 1, 0, "line 1 has 3 numbers"},
		"a line cut":            {text(" ", centred...) + "0.012\n", -1, 0, "line 6 has 1: want a sample a line, or a time and a sample"},
		"count before":          {"5\n0\n0.25\n1\n0.25\n0\n", 2, 0, "line 1: 5 may be a sample, or the number of samples that follow"},
		"interval in a heading": {"0.004 5\n0\n0.25\n1\n0.25\n0\n", 2, 0, "line 1 has 2 numbers, line 2 has 1"},
	} {
		writeText(t, path, c.text)
		w, err := ReadWavelet(path, c.zero, 0.004)
		switch {
		case c.says == "" && (err != nil || w.Zero != c.want || w.DT != 0.004 || !slices.Equal(w.Samples, samples)):
			t.Errorf("%s: %+v, %v; want time zero at %d", name, w, err, c.want)
		case c.says != "" && (err == nil || status.Code(err) != status.BadInput || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %+v, %v; want %q", name, w, err, c.says)
		}
	}
}
