package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No output is a file that the command reads or another output, whatever their names, and whichever of them is
// known first.
func TestFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	if err := os.WriteFile(in("there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.Link(in("there"), in("hard")), os.Symlink("there", in("soft")), os.Symlink("later", in("dangling")), os.Symlink(".", in("here"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	same := [][2]string{{"there", "there"}, {"there", "hard"}, {"soft", "there"}, {"soft", "hard"}, {"there", "here/there"}, {"later", "dangling"}, {"here/later", "later"}}
	for _, pair := range same {
		for name, try := range map[string]func(f *Files) error{
			"read, then written": func(f *Files) error {
				_ = f.Reads(Use("an input", in(pair[0])))
				return f.Writes(Use("--output", in(pair[1])))
			},
			"written, then read": func(f *Files) error {
				_ = f.Writes(Use("--output", in(pair[1])))
				return f.Reads(Use("an input", in(pair[0])))
			},
			"two outputs": func(f *Files) error { return f.Writes(Use("--output", in(pair[0])), Use("--plot", in(pair[1]))) },
			"one after another": func(f *Files) error {
				_ = f.Writes(Use("--output", in(pair[0])))
				return f.Writes(Use("--plot", in(pair[1])))
			},
			"of one role": func(f *Files) error { return f.Writes(Alike("moveout", in(pair[0]), in(pair[1]))...) },
		} {
			if err := try(&Files{}); err == nil || !strings.Contains(err.Error(), "the output must be another file") {
				t.Errorf("%v, %s: error %v", pair, name, err)
			}
		}
	}
	var f Files
	out := Use("--output", in("later"))
	for _, err := range []error{f.Reads(Named("an input", in("there"), "the same again", in("hard"), "none", "")...), f.Writes(out, Use("--plot", in("other")), Use("none", "")), f.Writes(out)} {
		if err != nil {
			t.Error(err)
		}
	}
}
