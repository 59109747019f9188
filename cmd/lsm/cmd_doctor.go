package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// What this build of lsm can use of all that doctor looks for.
var (
	builtEngines = []string{"reference", "cpu"}
	builtComms   = []string{"self"}
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "What this machine and launcher offer, and what lsm can use",
		Long: `Doctor looks at processor, memory, accelerators, libraries on the loader's path,
launcher and Slurm, and says which of them this build of lsm can use. It starts
nothing and loads no library. Run it where the job runs: a batch node may differ
from the login node.`,
		Example:     "  lsm doctor\n  srun -n 1 lsm doctor",
		GroupID:     groupMachine,
		Args:        arguments(),
		Annotations: exits(),
		RunE: func(*cobra.Command, []string) error {
			a.doctorMachine()
			a.doctorLibraries()
			a.doctorLauncher()
			a.doctorVerdict()
			return nil
		},
	}
}

// row prints one finding.
func (a *app) row(name, format string, args ...any) {
	a.report.Printf("%-14s %s\n", name, fmt.Sprintf(format, args...))
}

func (a *app) doctorMachine() {
	host, _ := os.Hostname() // "" where the system does not tell
	name, features := machine.CPU()
	m := machine.ReadMemory("/proc", "/sys/fs/cgroup")
	gpus := machine.Accelerators("/dev")
	a.row("host", "%s, %s/%s", host, runtime.GOOS, runtime.GOARCH)
	a.row("processor", "%s; %d cores for this process, %d threads by default", name, runtime.NumCPU(), runtime.GOMAXPROCS(0))
	a.row("instructions", "%s", strings.Join(features, " "))
	memory := "unknown"
	if m.Total > 0 {
		memory = fmt.Sprintf("%s, %s available", humanize.IBytes(uint64(m.Total)), humanize.IBytes(uint64(m.Available)))
	}
	if m.Limit > 0 {
		memory += fmt.Sprintf(", limited to %s by the control group", humanize.IBytes(uint64(m.Limit)))
	}
	a.row("memory", "%s", memory)
	a.row("GPU devices", "%s", orNone(gpus))
	a.report.Event("machine", "host", host, "platform", runtime.GOOS+"/"+runtime.GOARCH, "cpu", name, "cpu_features", features,
		"cores", runtime.NumCPU(), "threads", runtime.GOMAXPROCS(0), "memory_bytes", m.Total,
		"memory_available_bytes", m.Available, "memory_limit_bytes", m.Limit, "gpu_devices", gpus)
}

func (a *app) doctorLibraries() {
	a.row("HDF5", "%s (linked)", h5.LibraryVersion())
	found := machine.Libraries(machine.LoaderPath("/", os.Getenv("LD_LIBRARY_PATH")))
	for _, l := range found {
		path := l.Path
		if path == "" {
			path = "not found (" + l.File + ")"
		}
		a.report.Printf("  %-24s %s\n", l.Name, path)
	}
	a.report.Event("libraries", "hdf5", h5.LibraryVersion(), "found", found)
}

func (a *app) doctorLauncher() {
	l := machine.ReadLauncher(os.Environ())
	programs := machine.Programs(os.Getenv("PATH"), "mpirun", "srun", "nvidia-smi", "rocm-smi")
	launcher := "none: a process of its own"
	if l.Name != "" {
		launcher = fmt.Sprintf("%s: rank %d of %d", l.Name, l.Rank, l.Ranks)
	}
	a.row("launcher", "%s", launcher)
	for _, v := range l.Variables {
		a.report.Printf("  %s=%s\n", v.Name, v.Value)
	}
	var names []string
	for _, p := range programs {
		names = append(names, p.Value)
	}
	a.row("programs", "%s", orNone(names))
	a.report.Event("launcher", "name", l.Name, "rank", l.Rank, "ranks", l.Ranks, "variables", l.Variables, "programs", programs)
	if l.Ranks > 1 {
		a.report.Warn(fmt.Sprintf("started as %d ranks, but this build has no MPI: each would do the whole run alone; start one process", l.Ranks))
	}
}

func (a *app) doctorVerdict() {
	v, c := build()
	a.report.Printf("\nThis build, lsm %s %s, computes on the cores of one machine in one process:\n", v, c)
	a.report.Printf("  kirchhoff.engine  %s (cpu with %s kernels)\n  comm.backend      %s\n", strings.Join(builtEngines, ", "), kirchhoff.BestISA(), strings.Join(builtComms, ", "))
	a.report.Printf("It does not use MPI, CUDA, NCCL, HIP or RCCL yet, whether found above or not.\n")
	a.report.Event("build", "version", v, "commit", c, "engines", builtEngines, "communicators", builtComms, "isa", kirchhoff.BestISA(),
		"mpi", false, "cuda", false, "nccl", false, "hip", false, "rccl", false)
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}
