package gputest

import (
	"fmt"
	"strings"
	"testing"
)

// Cards makes the emulator's cards those of this test and of what it starts. The test is
// skipped where there is no emulator.
func Cards(t *testing.T, cards int) {
	t.Helper()
	environ, why, err := Kept(t.TempDir())
	if why != "" {
		t.Skip(why)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(environ, fmt.Sprintf("GPUEMU_CARDS=%d", cards)) {
		name, value, _ := strings.Cut(s, "=")
		t.Setenv(name, value)
	}
}
