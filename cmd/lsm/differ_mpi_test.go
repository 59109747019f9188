package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/comm/mpi/mpitest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// asRankOne is a script for sh that runs its arguments as lsm on every rank. Rank 1 works in
// FOLDER, with the environment VARIABLE and the further arguments OTHER, each where set.
const asRankOne = `
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
if [ "$rank" = 1 ]; then
	[ -z "$FOLDER" ] || cd "$FOLDER"
	[ -z "$VARIABLE" ] || export "$VARIABLE"
	exec "$0" "$@" $OTHER
fi
exec "$0" "$@"
`

// unlike prepares lsm on three ranks, the second of which has other arguments, another
// working folder or one more environment variable.
func unlike(t *testing.T, folder string, variables []string, args ...string) *launched {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skipf("not run: %v", err)
	}
	cmd, err := mpitest.Command(context.Background(), mpi.About(), 3, shell, append([]string{"-c", asRankOne, program}, args...)...)
	if err != nil {
		t.Skipf("not run: %v", err)
	}
	l := &launched{Cmd: cmd}
	l.Dir, l.Stdout, l.Stderr = folder, &l.out, &l.errs
	l.Env = append(append(l.Env, asRank+"=1"), variables...)
	return l
}

// Ranks that differ in one key, one variable, one option, one file or one byte of a
// file end with a message that names it, and write nothing.
func TestRanksThatDiffer(t *testing.T) {
	folder := smallCase(t)
	other := filepath.Join(t.TempDir(), "other")
	for _, c := range []struct {
		what     string
		variable string
		files    func(t *testing.T) // changes the other folder, in which rank 1 then works
		args     []string
		code     int
		says     string
	}{
		{what: "key", variable: "OTHER=--set solver.damping=7", code: status.BadUsage,
			says: `solver\.damping is 0\.2 on ranks 0 and 2 \(default\), 7\.0 on rank 1 \(--set\)`},
		{what: "environment", variable: "VARIABLE=LSM_SOLVER_DAMPING=7", code: status.BadUsage,
			says: `solver\.damping is 0\.2 on ranks 0 and 2 \(default\), 7\.0 on rank 1 \(LSM_SOLVER_DAMPING\)`},
		{what: "instruction set", variable: "VARIABLE=LSM_CPU_ISA=portable", code: status.BadUsage,
			says: `the instruction set of the cpu's kernels is .* portable on rank 1`},
		{what: "option", variable: "OTHER=--resume", code: status.BadUsage,
			says: `--resume is not there on ranks 0 and 2, true on rank 1`},
		{what: "velocity file", variable: "OTHER=--set velocity.file=true-model.h5", code: status.BadUsage,
			says: `velocity\.file is "model\.h5" on ranks 0 and 2 .*, "true-model\.h5" on rank 1`},
		{what: "contents of a file", files: func(t *testing.T) { replace(t, other, "model.h5", "true-model.h5") }, code: status.BadInput,
			says: `model\.h5: the SHA-256 of the velocity file is .*`},
		{what: "one byte of the traces", files: func(t *testing.T) { flipBit(t, filepath.Join(other, "survey.h5")) }, code: status.BadInput,
			says: `survey\.h5: the SHA-256 of the survey file is [0-9a-f]{64} on ranks 0 and 2 \(.*\), [0-9a-f]{64} on rank 1 \(.*other.survey\.h5\)`},
		{what: "one byte of the start model", files: func(t *testing.T) { flipBit(t, filepath.Join(other, "reflectivity.h5")) },
			args: []string{"--set", "solver.start=reflectivity.h5"}, code: status.BadInput,
			says: `reflectivity\.h5: the SHA-256 of the start file is .*`},
	} {
		t.Run(c.what, func(t *testing.T) {
			variables := []string{c.variable}
			if c.files != nil {
				if err := os.CopyFS(other, os.DirFS(folder)); err != nil {
					t.Fatal(err)
				}
				defer os.RemoveAll(other)
				c.files(t)
				variables = []string{"FOLDER=" + other}
			}
			before := names(t, folder)
			l := unlike(t, folder, variables, append([]string{"run", "config.toml"}, c.args...)...)
			if code := l.code(t); code != c.code {
				t.Errorf("status %d, want %d", code, c.code)
			}
			if !regexp.MustCompile(`lsm: the ranks of this run differ: ` + c.says).MatchString(l.errs.String()) {
				t.Errorf("want %q in:\n%s", c.says, &l.errs)
			}
			if after := names(t, folder); after != before {
				t.Errorf("files before: %s\nand after: %s", before, after)
			}
		})
	}
}

// names lists the files of a folder.
func names(t *testing.T, folder string) (list string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list += e.Name() + " "
	}
	return list
}

func replace(t *testing.T, folder, name, by string) {
	t.Helper()
	if err := os.Rename(filepath.Join(folder, by), filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
}

// flipBit changes one bit in the last quarter of a file.
func flipBit(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)*3/4] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// With SOURCE_DATE_EPOCH a run leaves the same files each time and on any ranks.
func TestSameFilesOnAnyRanks(t *testing.T) {
	folder := smallCase(t)
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	outputs := []string{"image.h5", "adjoint.h5", "residual.h5"}
	args := []string{"run", filepath.Join(folder, "config.toml"), "--force", "--set", "solver.iterations=3"}
	for i, key := range []string{"file", "adjoint", "residual"} {
		args = append(args, "--set", "output."+key+"="+filepath.Join(folder, outputs[i]))
	}
	digests := func() (all [][32]byte) {
		for _, name := range outputs {
			b, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, sha256.Sum256(b))
		}
		return all
	}
	if code := run(args, &bytes.Buffer{}, os.Stderr); code != status.Done {
		t.Fatalf("one process: status %d", code)
	}
	want := digests()
	for _, ranks := range []int{1, 3} {
		l := onRanks(t, folder, ranks, args...)
		if code := l.code(t); code != status.Done {
			t.Fatalf("%d ranks: status %d\n%s%s", ranks, code, &l.out, &l.errs)
		}
		for i, got := range digests() {
			if got != want[i] {
				t.Errorf("%d ranks: %s differs from that of one process", ranks, outputs[i])
			}
		}
	}
}
