package operator

import (
	"strings"
	"testing"
)

// Beside a GPU engine = "auto" says what it does and why.
func TestAutoNote(t *testing.T) {
	if note := autoNote(nil); note != "" {
		t.Errorf("without a GPU: %q", note)
	}
	note := autoNote([]string{"nvidia0", "nvidia1"})
	for _, want := range []string{"auto uses the cpu", "nvidia0, nvidia1", "not been measured", `"cuda"`} {
		if !strings.Contains(note, want) {
			t.Errorf("%q does not say %q", note, want)
		}
	}
}
