// Package child starts other programs beside a rank, such as this very program on a
// file that may crash it. Every child process of lsm is started here.
package child

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// launchers begin the names of the variables by which launchers and schedulers tell a
// process which of their ranks it is, and how to reach the others.
var launchers = []string{
	"OMPI_", "PMIX_", "PRTE_", "ORTE_", // Open MPI
	"PMI_", "HYDRA_", "HYDI_", "MPI_LOCAL", "MPIEXEC_", "I_MPI_", "MPIR_CVAR_", // MPICH, Intel MPI
	"MV2_", "PALS_", "FLUX_", "SLURM_", "SLURMD_",
}

// Command is a command whose process is ended with ctx. It inherits the environment of this process
// without the variables of a launcher: the child is not one of the launcher's ranks, and must
// neither take itself for one nor join them.
func Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = Environment(os.Environ())
	return cmd
}

// Environment is environ, in the form of os.Environ, without the launchers' variables.
func Environment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		return slices.ContainsFunc(launchers, func(prefix string) bool { return strings.HasPrefix(entry, prefix) })
	})
}
