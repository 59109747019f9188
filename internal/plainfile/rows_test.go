package plainfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "numbers")
	const plain = "1 [0.5 1] 2 [1.5 -2] "
	for name, c := range map[string]struct{ text, want string }{
		"blanks":             {"0.5 1\n 1.5   -2", plain},
		"tabs":               {"0.5\t1\n1.5\t-2\n", plain},
		"commas":             {"0.5,1\n1.5, -2\n", plain},
		"semicolons":         {"0.5;1\n1.5; -2;\n", plain},
		"decimal commas":     {"0,5;1\n1,5;-2\n", plain},
		"with tabs":          {"0,5\t1\n1,5\t-2\n", plain},
		"with blanks":        {"0,5 1\n1,5 -2,0\n", plain},
		"below 1":            {"0,004 0,125\n", "1 [0.004 0.125] "},
		"Windows":            {"\ufeff0.5 1\r\n1.5 -2\r\n", plain},
		"old Macintosh":      {"0.5 1\r1.5 -2\r", plain},
		"comments":           {"# of\n\n0.5 1 # here\n% there\n1.5 -2", "3 [0.5 1] 5 [1.5 -2] "},
		"headings":           {"time (s), amplitude\n-----\n0.5,1\n", "3 [0.5 1] "},
		"integers":           {"1000,1\n2000,2", "1 [1000 1] 2 [2000 2] "},
		"other length":       {"1\n2 3\n", "1 [1] 2 [2 3] "},
		"thousands or not":   {"1,500 2\n2,250 3\n", "error: line 2: \"2,250 3\" has commas that may be decimal or between thousands"},
		"heading at the end": {"1\nend\n", `error: line 2: "end" is no number`},
		"unit":               {"1\n2ms\n", `error: line 2: "2ms" is no number`},
		"first with unit":    {"1ms\n2\n", `error: line 1: "1ms" is no number`},
		"not finite":         {"1\nNaN\n", `error: line 2: "NaN" is not finite`},
		"too large":          {"1e400\n", `error: line 1: "1e400" is not finite`},
		"words":              {"no number\n", "error: holds no number"},
		"binary":             {"1\n\x002", "error: holds a zero byte"},
		"empty":              {"", "error: holds no number"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		rows, err := ReadRows(path)
		got := ""
		for _, row := range rows {
			got += fmt.Sprint(row.Line, " ", row.Values, " ")
		}
		if err != nil {
			got = "error: " + strings.TrimPrefix(err.Error(), path+": ")
		}
		if got != c.want && (err == nil || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
