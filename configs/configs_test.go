// Package configs holds ready configurations; its test runs each of them.
package configs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/program"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

func TestEveryConfigurationRuns(t *testing.T) {
	files, err := filepath.Glob("*.toml")
	if err != nil || len(files) < 4 {
		t.Fatalf("found %d configurations (%v), want at least 4", len(files), err)
	}
	lsm := filepath.Join(program.Folder(t), "lsm")
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			onCard := strings.Contains(file, "gpu")
			var environ []string
			if onCard {
				environ = emulated(t)
			}
			dir := filepath.Join(t.TempDir(), "run")
			run := func(args ...string) {
				t.Helper()
				cmd := exec.Command(lsm, args...)
				cmd.Env = append(os.Environ(), environ...)
				out, err := cmd.CombinedOutput()
				if err != nil || onCard && args[0] == "run" && !strings.Contains(string(out), "communicator of the GPUs: NCCL") {
					t.Fatalf("lsm %s: %v\n%s", strings.Join(args, " "), err, out)
				}
			}
			synth := []string{"synth", "layers", "-o", dir, "--shots", "3", "--channels", "8"}
			if onCard || strings.Contains(file, "3d") {
				synth = []string{"synth", "cube", "-o", dir, "--channels", "4"}
			}
			run(synth...)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			config := filepath.Join(dir, file)
			if err := os.WriteFile(config, text, 0o644); err != nil {
				t.Fatal(err)
			}
			run("check", config)
			run("run", config, "--set", "solver.iterations=2", "--set", "output.file="+filepath.Join(dir, "image.h5"))
			im, err := h5.ReadImage(filepath.Join(dir, "image.h5"))
			if err != nil {
				t.Fatal(err)
			}
			if h := im.ResidualNorm; len(h) != 3 || !(h[2] < h[0]) {
				t.Errorf("residuals %v do not fall over 2 iterations", h)
			}
		})
	}
}

// emulated returns the environment variables of a program that shall find an emulated GPU.
func emulated(t *testing.T) []string {
	t.Helper()
	environ, why, err := gputest.Kept(t.TempDir())
	if why != "" {
		t.Skip(why)
	}
	if err != nil {
		t.Fatal(err)
	}
	return environ
}
