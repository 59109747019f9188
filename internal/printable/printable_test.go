package printable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"iter 1/2\tµs 10 % × 3\n":       "iter 1/2\tµs 10 % × 3\n",
		"\x1b[2J\x1b]0;title\a":         `\u001b[2J\u001b]0;title\u0007`,
		"a\rb\x00\x7f":                  `a\u000db\u0000\u007f`,
		"\u009b31m":                     `\u009b31m`,
		"\x9b31m":                       `\x9b31m`,
		"user\u202egpj.exe\u2066\u200f": `user\u202egpj.exe\u2066\u200f`,
		"line\u2028end":                 `line\u2028end`,
		"\ufffd":                        "\ufffd",
	} {
		got := Text(in)
		if got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
		if Text(got) != got {
			t.Errorf("%q becomes %q", got, Text(got))
		}
	}
}

func TestWriter(t *testing.T) {
	var b bytes.Buffer
	n, err := fmt.Fprintf(Writer(&b), "lsm: %s\n", "\x1b[31m")
	if err != nil || n != len("lsm: \x1b[31m\n") || b.String() != "lsm: \\u001b[31m\n" {
		t.Errorf("%d, %v: %q", n, err, b.String())
	}
}

// JSON that holds such characters means the same afterwards.
func TestJSON(t *testing.T) {
	in := "\u009b\u202e\x7f\x1b"
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out string
	if err := json.Unmarshal([]byte(Text(string(text))), &out); err != nil || out != in {
		t.Errorf("%q comes back as %q, %v", in, out, err)
	}
}
