package mpitest

import (
	"context"
	"slices"
	"strings"
	"testing"
)

func TestUnknownLibrary(t *testing.T) {
	_, err := Command(context.Background(), "Somebody's MPI 1.0", 2, "true")
	if err == nil || !strings.Contains(err.Error(), "Somebody's MPI 1.0") {
		t.Errorf("got %v, want an error that names the library", err)
	}
}

// A launcher of another library would start ranks that see themselves alone.
func TestLauncherIsOfTheLibrary(t *testing.T) {
	f := family{"Sleepy MPI", []string{"sh", "nowhere"}, "Sleepy", nil, nil}
	if path, err := f.launcher(); err == nil || !strings.Contains(err.Error(), "none of sh, nowhere") {
		t.Errorf("got %q, %v", path, err)
	}
}

func TestCommand(t *testing.T) {
	for _, library := range []string{"Open MPI 4.1.4", "MPICH 4.0.2"} {
		cmd, err := Command(context.Background(), library, 3, "program", "-flag")
		if err != nil {
			t.Logf("%s: not tried: %v", library, err)
			continue
		}
		if i := slices.Index(cmd.Args, "-n"); i < 0 || strings.Join(cmd.Args[i:], " ") != "-n 3 program -flag" {
			t.Errorf("%s: %q", library, cmd.Args)
		}
	}
}
