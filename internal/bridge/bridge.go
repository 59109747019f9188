// Package bridge has files that Python libraries read turned into plain ones, by the module
// kirchhoff_lsm.bridge in a process of its own.
package bridge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/child"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// failure is how the module says why it made nothing.
type failure struct {
	Error   string // what is wrong with the file
	Missing string // package that is not installed
	Memory  string // what the memory does not hold
}

// Read has the module read source, a file of a kind that it knows, and write target. options are
// pairs of name and value. answer receives the module's report on the file. library is the
// package that the kind needs, and instead another way that works.
func Read(ctx context.Context, kind, source, target string, options []string, answer any, library, instead string) error {
	python := cmp.Or(os.Getenv("LSM_PYTHON"), "python3")
	missing := func(format string, args ...any) error {
		hint := fmt.Sprintf("%s -m pip install kirchhoff-lsm %s; LSM_PYTHON names another Python", python, library)
		if instead != "" {
			hint += "; or " + strings.ReplaceAll(instead, "FILE", source)
		}
		return status.Hint(status.Resource(fmt.Errorf("%s: %s", source, fmt.Sprintf(format, args...))), hint)
	}
	said := target + ".json"
	cmd := child.Command(ctx, python, append([]string{"-m", "kirchhoff_lsm.bridge", kind, source, target, said}, options...)...)
	cmd.Env = append(cmd.Env, "PYTHONSAFEPATH=1") // modules of the current folder are none of the user's choice
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", source, ctx.Err())
	case err != nil && !errors.As(err, &exit):
		return missing("Python with the package kirchhoff-lsm reads it, and %s does not start: %v", python, errors.Unwrap(err))
	case strings.Contains(stderr.String(), "No module named") && strings.Contains(stderr.String(), "kirchhoff_lsm"):
		return missing("%s of the Python package kirchhoff-lsm reads it, which %s lacks", "kirchhoff_lsm.bridge", python)
	case err != nil && exit.Exited():
		return status.Resource(fmt.Errorf("%s: %s -m kirchhoff_lsm.bridge ended with %v: %s", source, python, err, lastLine(stderr.String())))
	case err != nil && killed(exit):
		return status.Resource(fmt.Errorf("%s: %s, which read it, was killed, perhaps for want of memory", source, python))
	case err != nil: // a library crashed
		return status.Input(fmt.Errorf("%s: reading it ended %s (%v): it may be damaged", source, python, err))
	}
	text, err := os.ReadFile(said)
	var fault failure
	if err == nil {
		err = json.Unmarshal(text, &fault)
	}
	switch {
	case err != nil:
		return status.Resource(fmt.Errorf("%s: %s -m kirchhoff_lsm.bridge said nothing that can be read: %w", source, python, err))
	case fault.Missing != "":
		return missing("the Python package %s reads it, which %s lacks", fault.Missing, python)
	case fault.Memory != "":
		return status.Resource(fmt.Errorf("%s: %s", source, fault.Memory))
	case fault.Error != "":
		return status.Input(fmt.Errorf("%s: %s", source, fault.Error))
	}
	return json.Unmarshal(text, answer)
}

// killed reports whether the system or somebody ended the process.
func killed(exit *exec.ExitError) bool {
	s, ok := exit.Sys().(syscall.WaitStatus)
	return ok && s.Signaled() && s.Signal() == syscall.SIGKILL
}

// lastLine is the line of an error report that says what happened.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
