package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// afterSignal is how long a command may go on after a signal.
const afterSignal = 2 * time.Second

// signalled are command lines of all commands in the folder that signalCase makes. Each is long enough, or
// is caught at its beginning; OUT is an output of its own.
var signalled = map[string][]string{
	"run":              {"run", "config.toml", "-o", "OUT.h5", "--set", "solver.iterations=100000", "--set", "checkpoint.folder=OUT.folder"},
	"migrate":          {"migrate", "config.toml", "-o", "OUT.h5"},
	"model":            {"model", "config.toml", "--reflectivity", "reflectivity.h5", "-o", "OUT.h5"},
	"target":           {"target", "config.toml", "--window", "0:1500,0:800", "-o", "OUT.h5"},
	"check":            {"check", "config.toml", "--dot-test", "--set", "output.file=checked.h5"},
	"operator":         {"operator", "config.toml", "--exchange", "."},
	"traveltime":       {"traveltime", "config.toml", "-o", "OUT.h5"},
	"loop":             {"loop", "config.toml", "-n", "3", "-o", "OUT.folder", "--set", "image.gathers=offset", "--set", "image.gather_bins=0,200,400,600,10000"},
	"velocity":         {"velocity", "model.h5", "--to", "rms", "--interval", "1e-6", "-o", "OUT.h5"},
	"moveout":          {"moveout", "gathers.h5", "--every", "10", "--around", "3000", "-o", "OUT.h5"},
	"semblance":        {"semblance", "survey.h5", "--every", "5", "--around", "1000", "-o", "OUT.h5"},
	"import":           {"import", "survey.sgy", "--ricker", "20", "-o", "OUT.h5"},
	"process":          {"process", "survey.h5", "decon=spiking,0.1", "agc=0.2", "-o", "OUT.h5"},
	"breaks":           {"breaks", "survey.h5", "-o", "OUT.csv"},
	"statics":          {"statics", "survey.h5", "--velocity", "model.h5", "-o", "OUT.csv"},
	"tomography":       {"tomography", "config.toml", "--picks", "picks.h5", "-o", "OUT.h5"},
	"ready":            {"ready", "survey.h5"},
	"wavelet":          {"wavelet", "survey.h5", "-o", "OUT.h5"},
	"view":             {"view", "model.h5"},
	"report":           {"report", "image.h5", "--compute", "-o", "OUT.html"},
	"plot":             {"plot", "model.h5", "-o", "OUT.png"},
	"compare":          {"compare", "survey.h5", "survey.h5"},
	"synth":            {"synth", "layers", "-o", "OUT.folder", "--shots", "400"},
	"ava":              {"ava", "angles.h5", "--depth", "700"},
	"info":             {"info", "survey.h5"},
	"convert":          {"convert", "image.h5", "--velocity", "model.h5", "--to", "time", "--spacing", "1e-6", "-o", "OUT.h5"},
	"export":           {"export", "survey.h5", "-o", "OUT.sgy"},
	"bench kernel":     {"bench", "kernel"},
	"bench traveltime": {"bench", "traveltime"},
	"bench comm":       {"bench", "comm"},
	"bench matmul":     {"bench", "matmul"},
	"bench solve":      {"bench", "solve", "config.toml"},
	"bench backends":   {"bench", "backends", "config.toml"},
	"doctor":           {"doctor"},
	"manual":           {"manual", "OUT.folder"},
	"version":          {"version"},
	"help":             {"help"},
	"completion":       {"completion", "bash"},
}

// commandsOf are the names of the commands that do something.
func commandsOf() (names []string) {
	var walk func(before string, list []*cobra.Command)
	walk = func(before string, list []*cobra.Command) {
		for _, c := range list {
			name := strings.TrimSpace(before + " " + c.Name())
			if c.HasSubCommands() {
				walk(name, c.Commands())
			} else if !c.Hidden {
				names = append(names, name)
			}
		}
	}
	a := &cli.App{}
	for _, g := range commands(a) {
		walk("", g.Commands)
	}
	return names
}

// signalCase is a folder with the inputs of signalled.
func signalCase(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	for _, args := range [][]string{
		{"synth", "layers", "-o", folder, "--shots", "12", "--channels", "48", "--quiet"},
		{"migrate", in("config.toml"), "-o", in("image.h5"), "--quiet"},
		{"migrate", in("config.toml"), "-o", in("gathers.h5"), "--quiet", "--set", "image.gathers=offset", "--set", "image.gather_bins=0,200,400,600,10000"},
		{"migrate", in("config.toml"), "-o", in("angles.h5"), "--quiet", "--set", "image.gathers=angle", "--set", "image.gather_bins=0,10,20,30,40,50"},
		{"moveout", in("gathers.h5"), "-o", in("picks.h5"), "--quiet"},
		{"export", in("survey.h5"), "-o", in("survey.sgy"), "--quiet"},
	} {
		var errs bytes.Buffer
		if code := run(args, &bytes.Buffer{}, &errs); code != status.Done {
			t.Fatalf("%s: status %d: %s", args[0], code, &errs)
		}
	}
	return folder
}

// moment is when a signal is sent: once a text is printed, or some time after the start.
type moment struct {
	text  string
	after time.Duration
}

func (m moment) String() string {
	if m.text != "" {
		return fmt.Sprintf("%q", m.text)
	}
	return m.after.String()
}

// signalAt starts a command, sends it the signal, and returns how long it went on and its status.
func signalAt(t *testing.T, folder string, args []string, m moment, sig syscall.Signal) (took time.Duration, code int, said string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	var text output
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &text, &text
	cmd.Env = append(os.Environ(), asRank+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its status is looked at
		close(ended)
	}()
	for begin := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		if m.text != "" && strings.Contains(text.String(), m.text) || m.text == "" && time.Since(begin) >= m.after {
			break
		}
		select {
		case <-ended:
			return 0, cmd.ProcessState.ExitCode(), text.String()
		default:
		}
		if time.Since(begin) > time.Minute {
			cmd.Process.Kill()
			t.Fatalf("%v: %v was not reached in a minute:\n%s", args, m, text.String())
		}
	}
	begin := time.Now()
	_ = cmd.Process.Signal(sig) // it may just have ended
	select {
	case <-ended:
	case <-time.After(10 * afterSignal):
		cmd.Process.Kill()
		<-ended
	}
	took, code = time.Since(begin), cmd.ProcessState.ExitCode()
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() && ws.Signal() == sig {
		code = status.Stopped // before the program took the signals over
	}
	return took, code, text.String()
}

// unfinished lists files that no command may leave.
func unfinished(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if strings.Contains(name, ".tmp-") || strings.HasPrefix(name, ".") && path != folder || strings.HasSuffix(name, ".lock") {
			names = append(names, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}

// Every command ends within two seconds of a signal, with a documented status, and leaves no part of an
// output. With LSM_TEST_LONG set it does so for every signal at many moments, and the table is longer.
func TestSignals(t *testing.T) {
	for _, name := range commandsOf() {
		if signalled[name] == nil {
			t.Errorf("%s: has no row", name)
		}
	}
	signals, moments := []syscall.Signal{syscall.SIGTERM}, []moment{{after: 150 * time.Millisecond}}
	more := map[string][]moment{"run": {{text: "iter "}}}
	if os.Getenv("LSM_TEST_LONG") != "" {
		signals = append(signals, syscall.SIGINT, syscall.SIGHUP)
		for _, ms := range []time.Duration{5, 20, 50, 100, 200, 800, 2000, 5000} {
			moments = append(moments, moment{after: ms * time.Millisecond})
		}
	}
	folder := signalCase(t)
	n := 0
	for _, name := range slices.Sorted(maps.Keys(signalled)) {
		for _, sig := range signals {
			for _, m := range append(slices.Clone(moments), more[name]...) {
				n++
				args := slices.Clone(signalled[name])
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "OUT", fmt.Sprintf("out%d", n))
				}
				took, code, said := signalAt(t, folder, args, m, sig)
				for again := 0; took > afterSignal && again < 2; again++ { // others may use the machine
					took, code, said = signalAt(t, folder, append(slices.Clone(args), "--force"), m, sig)
				}
				t.Logf("%-16s %-10v %-8v %5.2f s  status %d", name, sig, m, took.Seconds(), code)
				if took > afterSignal {
					t.Errorf("%s: %v at %v: it went on for %v:\n%s", name, sig, m, took, said)
				}
				if !slices.Contains([]int{status.Done, status.Stopped, status.Checkpointed}, code) {
					t.Errorf("%s: %v at %v: status %d:\n%s", name, sig, m, code, said)
				}
				if left := unfinished(t, folder); left != nil {
					t.Errorf("%s: %v at %v: left %v", name, sig, m, left)
				}
				out, whole := filepath.Join(folder, fmt.Sprintf("out%d.h5", n)), code == status.Done
				if _, err := os.Stat(out); err == nil && !whole && name != "run" {
					allReadable(t, folder)
				} else if err != nil && whole && slices.Contains(args, filepath.Base(out)) {
					t.Errorf("%s: %v at %v: status 0 without the output", name, sig, m)
				}
			}
		}
	}
}
