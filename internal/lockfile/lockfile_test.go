package lockfile

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// holdEnv makes this test's executable a process that takes a lock and waits.
const holdEnv = "LSM_LOCKFILE_TEST_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdEnv); path != "" {
		if _, err := Take(path); err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Stdout.WriteString("held\n")
		bufio.NewReader(os.Stdin).ReadByte() // until it is killed
	}
	os.Exit(m.Run())
}

func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.h5")
	link := filepath.Join(t.TempDir(), "link.h5")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), holdEnv+"="+path)
	in, err := other.StdinPipe() // open as long as this test
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	for _, name := range []string{path, link} {
		_, err = Take(name)
		var held *Held
		if !errors.As(err, &held) || held.By.PID != other.Process.Pid || !strings.HasPrefix(err.Error(), name+": another run is writing it: process ") {
			t.Errorf("%s: error %v, want one that names process %d", name, err, other.Process.Pid)
		}
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // killed
	if _, err := os.Stat(path + ".lock"); err != nil {
		t.Errorf("the killed process left no lock file: %v", err)
	}
	l, err := Take(path)
	if err != nil {
		t.Fatalf("after its holder was killed: %v", err)
	}
	if _, err := Take(path); err == nil {
		t.Error("taken twice")
	}
	l.Release()
	if _, err := os.Stat(path + ".lock"); err == nil {
		t.Error("the lock file stays")
	}
	again, err := Take(path)
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	again.Release()
}
