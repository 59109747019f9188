package gputest

import (
	"fmt"
	"strings"
	"testing"
)

// Cards gives the emulator's cards to this test and to the programs that it starts. Without an
// emulator the test is skipped.
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
