package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode"

	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/internal/child"
)

// Patience is how long a library may take. A driver that makes many cards ready, and
// compiles for them, needs some seconds.
const Patience = 30 * time.Second

// leftBehind is how long a child's own children may keep its output open.
const leftBehind = time.Second

// Child tries a library in a process that command starts, with the subject as one more
// argument. It returns the last report of the child. If the child failed, the error of the report
// says how it ended.
func Child(ctx context.Context, command []string, subject string, patience time.Duration) *Report {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := child.Command(ctx, command[0], append(command[1:len(command):len(command)], subject)...)
	if file, err := mpi.Load(); err == nil { // without the launcher it might find another
		cmd.Env = append(cmd.Env, mpi.Variable+"="+file)
	}
	for _, name := range mpi.Switches() {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, leftBehind
	err := cmd.Run()
	r := &Report{Subject: subject}
	for line := range strings.Lines(out.String()) { // the library may print as well
		var said Report
		if json.Unmarshal([]byte(line), &said) == nil && said.Subject == subject {
			r = &said
		}
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		r.Error = fmt.Sprintf("it hangs: a process that tried it did not end within %v", patience)
	case errors.As(err, &exit):
		r.Error = fmt.Sprintf("it ended the process that tried it: %s", cause(exit, errs.String()))
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		r.Error = err.Error()
	}
	return r
}

// cause is how a process ended: the first line of its last words, if it has any.
func cause(exit *exec.ExitError, errs string) string {
	for line := range strings.Lines(errs) {
		if strings.HasPrefix(line, "SIG") || strings.HasPrefix(line, "fatal error: ") { // the Go runtime's
			return strings.TrimSpace(line)
		}
	}
	for line := range strings.Lines(errs) {
		if strings.ContainsFunc(line, unicode.IsLetter) { // Open MPI begins with a rule of dashes
			return fmt.Sprintf("%s (%s)", strings.TrimSpace(line), exit)
		}
	}
	return exit.String()
}
