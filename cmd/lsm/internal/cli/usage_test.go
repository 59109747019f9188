package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"run", "migrate", "model", "check", "compare", "completion"}
	for typed, want := range map[string]string{"rnu": "", "rum": "run", "mig": "migrate", "Migrte": "migrate",
		"comp": "compare", "chek": "check", "zzz": "", "": ""} {
		if got := nearest(typed, names); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

// lsm help start shows the commands of the README, in its order.
func TestStartIsTheReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(readme), "## From SEG-Y to an image\n")
	block, _, _ := strings.Cut(strings.TrimLeft(after, "\n"), "\n\n")
	commands := strings.Split(block, "\n")
	if len(commands) != 5 {
		t.Fatalf("the README has %d lines, want 5:\n%s", len(commands), block)
	}
	at := 0
	for _, line := range commands {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "  ")
		i := strings.Index(startText[at:], "\n  "+line)
		if i < 0 {
			t.Errorf("lsm help start lacks, or has in another order: %s", line)
			continue
		}
		at += i
	}
}
