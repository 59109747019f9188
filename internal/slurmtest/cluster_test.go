// Package slurmtest runs lsm under a real Slurm of two nodes, which
// scripts/slurm.sh starts on this machine: as many ranks, stopped and put back
// into the queue, and with a rank killed. It has tests alone, and they are
// skipped where Slurm is not installed.
package slurmtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take before the test gives up on it.
const patience = time.Minute

// cluster is a running Slurm.
type cluster struct {
	conf string // its configuration file
}

// startCluster brings Slurm up for the length of the test. The script ends it
// when its input ends, whatever becomes of the test.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	for _, program := range []string{"munged", "slurmctld", "slurmd", "srun"} {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if _, err := os.Stat(filepath.Join("/usr/sbin", program)); err != nil {
			t.Skipf("not run: %s is not installed (Debian: slurm-wlm munge libpmix2)", program)
		}
	}
	cmd := exec.Command("../../scripts/slurm.sh", "run", "sh", "-c", `echo "$SLURM_CONF"; cat`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conf, err := bufio.NewReader(out).ReadString('\n')
	c := &cluster{strings.TrimSpace(conf)}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("slurm.sh: %v\n%s", err, errs.String())
		}
		if _, err := os.Stat(filepath.Dir(c.conf)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there (%v)", filepath.Dir(c.conf), err)
		}
	})
	if err != nil {
		t.Fatalf("slurm.sh: %v", err)
	}
	return c
}

// command is a program of Slurm, or one that talks to it, in the folder dir.
func (c *cluster) command(ctx context.Context, dir string, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "SLURM_CONF="+c.conf), env...)
	// srun told to end takes its ranks along; one that is killed does not.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

// output runs a command that must succeed and returns what it prints.
func (c *cluster) output(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := c.command(ctx, dir, env, name, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// await polls until done, or fails the test with what last says.
func await(t *testing.T, what string, done func() bool, last func() string) {
	t.Helper()
	for limit := time.Now().Add(patience); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s: not within %v\n%s", what, patience, last())
		}
	}
}

// contents is the text of a file, "" where it is not there yet.
func contents(path string) string {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err.Error()
	}
	return string(text)
}

// log is a file that a command writes to and the test reads meanwhile.
func log(t *testing.T, path string) io.Writer {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
