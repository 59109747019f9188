package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Names of files and texts inside them never command the terminal, whatever the command
// says of them.
func TestTerminalIsSafe(t *testing.T) {
	const evil = "a\x1b[31m\u009b2J\rb\u202e"
	dir := t.TempDir()
	path := filepath.Join(dir, evil)
	w, err := h5.Create(path+".h5", "", h5.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		h5.Write(w, "/image", []int{2, 2}, []float32{1, 2, 3, 4}, h5.Attr{Name: "origin", Value: []float64{0, 0}},
			h5.Attr{Name: "spacing", Value: []float64{1, 1}}, h5.Attr{Name: "note", Value: evil}),
		h5.Write(w, "/x"+evil, []int{1}, []float32{1}),
		w.SetAttrs("/", h5.Attr{Name: "reason", Value: evil}, h5.Attr{Name: "n" + evil, Value: evil}),
		w.Commit(),
		os.WriteFile(path+".toml", []byte("[survey]\nfile = \"s.h5\"\n\"k\\u001b[31m\" = 1\n[velocity]\nfile = \"m.h5\"\n"), 0o666),
		os.WriteFile(path+".sgy", []byte("no SEG-Y"), 0o666),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"info", path + ".h5"}, {"info", path}, {"info", path + ".toml"}, {"info", path + ".h5", "--json"},
		{"plot", path + ".h5", "-o", path + ".png"}, {"plot", path},
		{"import", path + ".sgy"}, {"import", path, "-o", path + ".out"}, {"export", path + ".h5", "-o", path + ".segy"}, {"export", path, "-o", path},
		{"check", path + ".toml"}, {"run", path}, {"run", path, "--json"}, {"report", path + ".h5", "-o", path + ".html"},
		{"compare", path + ".h5", path + ".h5"}, {"synth", evil}, {"synth", "points", "-o", path + ".h5"},
		{evil}, {"run", "--" + evil}, {"help", evil}, {"check", "x.toml", "--set", evil}, {"velocity", path, "-o", path, "--at", evil, "--spacing", "1", "--depth", "1"},
	} {
		var out, errs bytes.Buffer
		code := run(args, &out, &errs)
		text := out.String() + errs.String()
		if text == "" {
			t.Errorf("%q: status %d, no word", args, code)
		}
		if strings.Contains(text, "internal error") {
			t.Errorf("%q: %s", args, text)
		}
		if i := strings.IndexFunc(text, func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
		}); i >= 0 {
			t.Errorf("%q prints %q", args, text[max(0, i-40):min(len(text), i+20)])
		}
	}
}
