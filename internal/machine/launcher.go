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

// Launcher is what the environment tells about how this process was started.
type Launcher struct {
	Name        string // "Slurm", "Open MPI", "MPICH, Intel MPI or other PMI"; "" for none
	Rank, Ranks int    // of this process, and how many; 0 and 1 where nothing is said
	Variables   []Variable
}

// Variable is one environment variable.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// launchers says which variables hold rank and size, the innermost first: srun
// may start what mpirun's ranks then inherit.
var launchers = []struct{ name, rank, size string }{
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
	{"MPICH, Intel MPI or other PMI", "PMI_RANK", "PMI_SIZE"},
	{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
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
	l := Launcher{Ranks: 1}
	values := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
		if slices.ContainsFunc(shown, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }) {
			l.Variables = append(l.Variables, Variable{name, value})
		}
	}
	sort.Slice(l.Variables, func(i, j int) bool { return l.Variables[i].Name < l.Variables[j].Name })
	for _, k := range launchers {
		size, err := strconv.Atoi(values[k.size])
		if err != nil || size < 1 {
			continue
		}
		// A size without a rank is as good as rank 0.
		rank, _ := strconv.Atoi(values[k.rank])
		if rank < 0 || rank >= size {
			continue // left over from another launcher
		}
		l.Name, l.Rank, l.Ranks = k.name, rank, size
		break
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
