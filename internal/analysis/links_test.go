package analysis

import (
	"os"
	"path/filepath"
	"testing"
)

// A link into the folder of a loop leads to a file that the loop overwrites, and so does a link to the folder.
func TestLoopFollowsLinks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	in := func(names ...string) string { return filepath.Join(append([]string{root}, names...)...) }
	if err := os.MkdirAll(in("out", "loop-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{in("out", "loop-1", "model.h5"), in("model.h5")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"before.h5": "out/loop-1/model.h5", "same": "out", "apart.h5": "model.h5"} {
		if err := os.Symlink(to, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]bool{
		in("out", "loop-1", "model.h5"): true, in("before.h5"): true, in("same", "loop-1", "model.h5"): true,
		in("model.h5"): false, in("apart.h5"): false, in("out", "model.h5"): false,
	} {
		for _, folder := range []string{in("out"), in("same")} {
			l := Loop{Folder: folder}
			if got := l.writes(file); got != want {
				t.Errorf("%s in a loop of %s: %v, want %v", file, folder, got, want)
			}
		}
	}
}
