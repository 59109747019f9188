package machine

import (
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Launcher says how this process was started, as its environment tells.
type Launcher struct {
	Name        string // "Slurm", "Open MPI", "MPICH, Intel MPI or other PMI"; "" for none
	Rank, Ranks int    // of this process, and how many; 0 and 1 where nothing is said
	// LocalRank is the number of this process among those of the job on its machine, and
	// LocalRanks is their count, 0 if it is not known. Without a launcher they are 0 and 1.
	LocalRank, LocalRanks int
	Variables             []Variable
}

// Variable is one environment variable.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// launchers says which variables hold the rank, the number of ranks and the same on this machine,
// "" for none. The innermost launcher is first: mpirun in a batch script starts ranks that inherit
// the script's SLURM_LOCALID.
var launchers = []struct{ name, rank, ranks, localRank, localRanks string }{
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
	{"MPICH, Intel MPI or other PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
	{"PALS", "", "", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"},
	{"Flux", "", "", "FLUX_TASK_LOCAL_ID", ""},
	{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""},
}

// shown are the variables worth seeing: by name, or by prefix with a * behind.
var shown = []string{
	"OMPI_COMM_WORLD_*", "MV2_COMM_WORLD_*", "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "PMIX_NAMESPACE",
	"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS",
	"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE",
	"SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_GPUS*", "SLURM_KILL_BAD_EXIT",
	"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "NCCL_*",
	"OMP_NUM_THREADS", "GOMAXPROCS", "HDF5_USE_FILE_LOCKING", "LSM_*",
}

// ReadLauncher reads the environment, in the form of os.Environ.
func ReadLauncher(environ []string) Launcher {
	l := Launcher{Ranks: 1, LocalRanks: 1}
	values := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
		if slices.ContainsFunc(shown, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }) {
			l.Variables = append(l.Variables, Variable{name, value})
		}
	}
	sort.Slice(l.Variables, func(i, j int) bool { return l.Variables[i].Name < l.Variables[j].Name })
	number := func(name string) (n int, known bool) {
		n, err := strconv.Atoi(values[name])
		if err != nil {
			return 0, false
		}
		return n, true
	}
	for _, k := range slices.Backward(launchers) { // so that the innermost counts
		ranks, _ := number(k.ranks)
		// A number of ranks without a rank is as good as rank 0. A rank beyond it is left
		// over from another launcher.
		if rank, _ := number(k.rank); rank >= 0 && rank < ranks {
			l.Name, l.Rank, l.Ranks = k.name, rank, ranks
		}
		if rank, known := number(k.localRank); known && rank >= 0 {
			l.LocalRank, l.LocalRanks = rank, 0
			if ranks, _ := number(k.localRanks); ranks > rank {
				l.LocalRanks = ranks
			}
		}
	}
	return l
}

// Programs finds those of the named programs that are on the search path.
func Programs(names ...string) []Variable {
	var found []Variable
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, Variable{name, path})
		}
	}
	return found
}

// Accelerators lists the device files of GPUs under the folder dev.
func Accelerators(dev string) []string {
	var found []string
	for _, pattern := range []string{"nvidia[0-9]*", "kfd"} {
		files, _ := filepath.Glob(filepath.Join(dev, pattern)) // the patterns are right
		found = append(found, files...)
	}
	return found
}
