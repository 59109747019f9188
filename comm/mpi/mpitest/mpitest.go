// Package mpitest starts programs as several ranks of MPI on this machine. Tests
// use it, so that they find the launcher of the library that is loaded: ranks started by
// another one see themselves alone.
package mpitest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// family describes the launchers of one MPI library: their names and how to recognise them.
type family struct {
	library  string   // in the library's description of itself
	programs []string // most specific name first
	version  string   // in the output of --version
	flags    []string
	env      []string
}

var families = []family{
	{"Open MPI", []string{"mpirun.openmpi", "mpirun", "mpiexec"}, "open-mpi.org",
		[]string{"--allow-run-as-root", "--oversubscribe"},
		// In many containers a process may not read another's memory: then single
		// copies fail.
		[]string{"OMPI_MCA_btl_vader_single_copy_mechanism=none"}},
	{"MPICH", []string{"mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpirun"}, "HYDRA", nil, nil},
}

// Command returns the command that runs a program on the given number of ranks. library
// names the MPI library as mpi.About does. The error says what is missing.
func Command(ctx context.Context, library string, ranks int, program string, args ...string) (*exec.Cmd, error) {
	if library == "" {
		return nil, errors.New("mpitest: no MPI library can be loaded")
	}
	for _, f := range families {
		if !strings.HasPrefix(library, f.library) {
			continue
		}
		launcher, err := f.launcher()
		if err != nil {
			return nil, err
		}
		all := append(append([]string{}, f.flags...), "-n", fmt.Sprint(ranks), program)
		cmd := exec.CommandContext(ctx, launcher, append(all, args...)...)
		cmd.Env = append(os.Environ(), f.env...)
		// A launcher that is interrupted ends its ranks too; one that is killed does not.
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = 10 * time.Second
		return cmd, nil
	}
	return nil, fmt.Errorf("mpitest: no launcher is known for %s", library)
}

func (f family) launcher() (string, error) {
	for _, name := range f.programs {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		said, err := exec.Command(path, "--version").CombinedOutput()
		if err == nil && strings.Contains(string(said), f.version) {
			return path, nil
		}
	}
	return "", fmt.Errorf("mpitest: none of %s on the PATH belongs to %s", strings.Join(f.programs, ", "), f.library)
}
