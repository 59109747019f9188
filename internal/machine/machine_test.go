package machine

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// tree writes files below a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestMemory(t *testing.T) {
	const meminfo = "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    600 kB\nHugePages_Total: x\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  Memory
	}{
		{"nothing known", nil, Memory{}},
		{"no group", map[string]string{"proc/meminfo": meminfo}, Memory{1024000, 614400, 0, 0}},
		{"version 2, nested", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"cgroup/a/b/memory.max": "max\n", "cgroup/a/memory.max": "512000\n"}, Memory{1024000, 614400, 512000, 0}},
		{"version 2, the least counts", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"cgroup/a/b/memory.max": "300000\n", "cgroup/a/memory.max": "512000\n"}, Memory{1024000, 614400, 300000, 0}},
		{"version 1", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "3:cpu:/x\n2:memory:/j\n",
			"cgroup/memory/j/memory.limit_in_bytes": "400000\n"}, Memory{1024000, 614400, 400000, 0}},
		{"a limit above the machine is none", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "2:memory:/\n",
			"cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, Memory{1024000, 614400, 0, 0}},
	} {
		root := tree(t, c.files)
		if got := ReadMemory(filepath.Join(root, "proc"), filepath.Join(root, "cgroup")); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestPeakMemory(t *testing.T) {
	root := tree(t, map[string]string{"self/status": "Name:\tlsm\nVmPeak:\t 9000 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 1000 kB\n"})
	if got := bytesOf(filepath.Join(root, "self/status"), "VmHWM"); got != 1234<<10 {
		t.Errorf("%d bytes, want %d", got, 1234<<10)
	}
	if got := bytesOf(filepath.Join(t.TempDir(), "none"), "VmHWM"); got != 0 {
		t.Errorf("%d bytes where nothing is known, want 0", got)
	}
	if runtime.GOOS != "linux" {
		return
	}
	block := make([]byte, 16<<20)
	for i := range block {
		block[i] = 1
	}
	if got := PeakMemory(); got < int64(len(block)) {
		t.Errorf("%d bytes with a block of %d in use", got, len(block))
	}
	runtime.KeepAlive(block)
}

func TestLoaderPath(t *testing.T) {
	root := tree(t, map[string]string{
		"etc/ld.so.conf":             "include /etc/ld.so.conf.d/*.conf # all\n/opt/direct\n",
		"etc/ld.so.conf.d/cuda.conf": "# a comment\n/usr/local/cuda/lib64\n",
		"etc/ld.so.conf.d/loop.conf": "include loop.conf\n",
	})
	own := filepath.Join(root, "own")
	folders := LoaderPath(root, own+string(os.PathListSeparator))
	want := []string{own, filepath.Join(root, "usr/local/cuda/lib64"), filepath.Join(root, "opt/direct")}
	if !slices.Equal(folders[:3], want) {
		t.Errorf("loader path %v, want it to begin with %v", folders, want)
	}
}

func TestLauncher(t *testing.T) {
	for _, c := range []struct {
		name        string
		env         []string
		launcher    string
		rank, ranks int
		variables   int
	}{
		{"none", []string{"HOME=/root", "PATH=/bin"}, "", 0, 1, 0},
		{"srun", []string{"SLURM_JOB_ID=7", "SLURM_PROCID=3", "SLURM_STEP_NUM_TASKS=4"}, "Slurm", 3, 4, 3},
		{"batch script: no step of its own", []string{"SLURM_JOB_ID=7", "SLURM_NTASKS=4", "SLURM_PROCID=0"}, "", 0, 1, 3},
		{"mpirun inside Slurm", []string{"SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=1",
			"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2"}, "Open MPI", 1, 2, 4},
		{"mpich", []string{"PMI_RANK=1", "PMI_SIZE=2", "NCCL_DEBUG=INFO"}, "MPICH, Intel MPI or other PMI", 1, 2, 3},
		{"a rank that its size does not allow", []string{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=1"}, "", 0, 1, 2},
		{"the next launcher fits", []string{"PMI_RANK=2", "PMI_SIZE=2", "SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2"}, "Slurm", 1, 2, 4},
		{"nonsense", []string{"PMI_RANK=x", "PMI_SIZE=-1"}, "", 0, 1, 2},
	} {
		l := ReadLauncher(c.env)
		if l.Name != c.launcher || l.Rank != c.rank || l.Ranks != c.ranks || len(l.Variables) != c.variables {
			t.Errorf("%s: %+v", c.name, l)
		}
	}
}

func TestProgramsAndAccelerators(t *testing.T) {
	root := tree(t, map[string]string{"a/srun": "", "b/srun": "", "b/mpirun": "", "dev/nvidia0": "", "dev/nvidiactl": "", "dev/kfd": ""})
	if err := os.Chmod(filepath.Join(root, "a/srun"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(root, "a")+string(os.PathListSeparator)+filepath.Join(root, "b"))
	found := Programs("srun", "mpirun", "nvidia-smi")
	if len(found) != 2 || found[0].Value != filepath.Join(root, "b/srun") {
		t.Errorf("programs %v", found)
	}
	if got := Accelerators(filepath.Join(root, "dev")); len(got) != 2 {
		t.Errorf("accelerators %v", got)
	}
}

func TestCPU(t *testing.T) {
	root := tree(t, map[string]string{"cpuinfo": "processor\t: 0\nmodel name\t: Fast One\nmodel name\t: other\n"})
	if got := cpuName(filepath.Join(root, "cpuinfo")); got != "Fast One" {
		t.Errorf("name %q", got)
	}
	if name, _ := CPU(); name == "" {
		t.Error("no name")
	}
}

func TestAddressLeft(t *testing.T) {
	root := tree(t, map[string]string{"self/statm": "3 2 1 1 0 1 0\n"})
	taken := 3 * int64(os.Getpagesize())
	for limit, want := range map[uint64]int64{
		1<<64 - 1: 0, 1 << 30: 1<<30 - taken, 1: 1,
	} {
		if got := addressLeft(root, limit); got != want {
			t.Errorf("limit %d leaves %d, want %d", limit, got, want)
		}
	}
	if runtime.GOOS == "linux" && Room() <= 0 {
		t.Error("no room is known")
	}
}

func TestLocalRank(t *testing.T) {
	for _, c := range []struct {
		environ    string
		rank, size int
	}{
		{"", 0, 1},
		{"HOME=/root", 0, 1},
		{"SLURM_LOCALID=3", 3, 0},
		// mpirun inside a batch script
		{"SLURM_LOCALID=0 OMPI_COMM_WORLD_LOCAL_RANK=2 OMPI_COMM_WORLD_LOCAL_SIZE=4", 2, 4},
		{"MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2", 1, 2},
		{"PALS_LOCAL_RANKID=5", 5, 0},
		{"OMPI_COMM_WORLD_LOCAL_RANK=x SLURM_LOCALID=1", 1, 0},
		{"MV2_COMM_WORLD_LOCAL_RANK=-1", 0, 1},
		{"OMPI_COMM_WORLD_LOCAL_RANK=3 OMPI_COMM_WORLD_LOCAL_SIZE=3", 3, 0},
	} {
		if l := ReadLauncher(strings.Fields(c.environ)); l.LocalRank != c.rank || l.LocalRanks != c.size {
			t.Errorf("%q: rank %d of %d, want %d of %d", c.environ, l.LocalRank, l.LocalRanks, c.rank, c.size)
		}
	}
}
