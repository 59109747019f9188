package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/device/dynlib"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/probe"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

func newDoctor(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Print what this machine offers and what lsm can use",
		Long: `Doctor prints what this machine offers and which of it lsm can use: processor, memory,
accelerators, libraries on the loader's path, launcher and Slurm. It tries each library that
lsm loads at run time in a process of its own, so that a crash or hang of one ends neither
doctor nor a run. Then it prints the effect of kirchhoff.engine, comm.backend and
comm.fallback.

Run it where the job runs: a batch node may differ from the login node. If a launcher starts
several ranks, doctor prints where each runs and what it may use; rank 0 tries the libraries.`,
		Example: "  lsm doctor\n  srun -N 2 -n 4 --mpi=pmix lsm doctor",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := mpi.Load()
			launched := err == nil && a.Launcher.Ranks > 1
			if err != nil {
				a.Speak(a.Report.JSON()) // each rank for itself
			}
			doctorMachine(a)
			doctorLibraries(a)
			doctorLauncher(a, err)
			if launched {
				if err := doctorRanks(a); err != nil {
					return err
				}
			}
			if err != nil || a.First() {
				doctorVerdict(cmd.Context(), a)
			}
			return nil
		},
	}
}

// row prints one finding.
func row(a *cli.App, name, format string, args ...any) {
	a.Report.Printf("%-14s %s\n", name, fmt.Sprintf(format, args...))
}

func doctorMachine(a *cli.App) {
	host, _ := os.Hostname() // "" where the system does not tell
	name, features := machine.CPU()
	m := machine.ReadMemory("/proc", "/sys/fs/cgroup")
	gpus := machine.Accelerators("/dev")
	memory := "unknown"
	if m.Total > 0 {
		memory = fmt.Sprintf("%s, %s available", humanize.IBytes(uint64(m.Total)), humanize.IBytes(uint64(m.Available)))
	}
	if m.Limit > 0 {
		memory += fmt.Sprintf(", limited to %s by the control group", humanize.IBytes(uint64(m.Limit)))
	}
	row(a, "host", "%s, %s/%s", host, runtime.GOOS, runtime.GOARCH)
	row(a, "processor", "%s; %s for this process, %s by default", name, readable.Count(runtime.NumCPU(), "core"), readable.Count(runtime.GOMAXPROCS(0), "thread"))
	row(a, "instructions", "%s", strings.Join(features, " "))
	row(a, "memory", "%s", memory)
	row(a, "GPU devices", "%s", cmp.Or(strings.Join(gpus, " "), "none"))
	a.Report.Event("machine", "host", host, "platform", runtime.GOOS+"/"+runtime.GOARCH, "cpu", name, "cpu_features", features,
		"cores", runtime.NumCPU(), "threads", runtime.GOMAXPROCS(0), "memory_bytes", m.Total,
		"memory_available_bytes", m.Available, "memory_limit_bytes", m.Limit, "gpu_devices", gpus)
}

func doctorLibraries(a *cli.App) {
	row(a, "HDF5", "%s (linked)", h5.LibraryVersion())
	found := librariesOf(machine.LoaderPath("/", os.Getenv("LD_LIBRARY_PATH")))
	for _, l := range found {
		a.Report.Printf("  %-24s %s\n", l.Name, cmp.Or(l.Path, "not found ("+l.File+")"))
	}
	a.Report.Event("libraries", "hdf5", h5.LibraryVersion(), "found", found)
}

// library is a shared library that a build of lsm might use.
type library struct {
	Name string `json:"name"` // such as "CUDA driver"
	File string `json:"file"` // what was looked for, such as "libcuda.so.1"; a * stands for any version
	Path string `json:"path"` // where it was found, "" for nowhere
}

// librariesOf looks for the libraries that lsm loads, in the places it loads them from.
func librariesOf(loader []string) (found []library) {
	var all []dynlib.Library
	for _, e := range gpu.Engines {
		f := e.Facts()
		all = append(all, f.Driver, f.Compiler, f.Collectives, f.Matrices)
	}
	for _, l := range append(all, blas.SoughtOnHost(), mpi.Sought("openmpi"), mpi.Sought("mpich")) {
		found = append(found, library{cmp.Or(l.Label, l.What), l.Candidates()[0], l.Find(loader)})
	}
	return found
}

func doctorLauncher(a *cli.App, noMPI error) {
	l := a.Launcher
	programs := machine.Programs("mpirun", "srun", "nvidia-smi", "rocm-smi")
	launcher := "none: a process of its own"
	if l.Name != "" {
		launcher = fmt.Sprintf("%s: rank %d of %d", l.Name, l.Rank, l.Ranks)
	}
	row(a, "launcher", "%s", launcher)
	for _, v := range l.Variables {
		a.Report.Printf("  %s=%s\n", v.Name, v.Value)
	}
	var names []string
	for _, p := range programs {
		names = append(names, p.Value)
	}
	row(a, "programs", "%s", cmp.Or(strings.Join(names, " "), "none"))
	a.Report.Event("launcher", "name", l.Name, "rank", l.Rank, "ranks", l.Ranks, "variables", l.Variables, "programs", programs)
	if l.Ranks > 1 && noMPI != nil {
		a.Report.Warn(fmt.Sprintf("started as %d ranks, each of which would do the whole run alone: %v; start one process", l.Ranks, noMPI))
	}
}

// seat is where one rank runs and what it may use.
type seat struct {
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Threads int    `json:"threads"`
	Memory  int64  `json:"memory_available_bytes"` // of the machine
	Ranks   int    `json:"ranks_on_host"`
	CUDA    string `json:"cuda_visible_devices"`
	ROCR    string `json:"rocr_visible_devices"`
}

// doctorRanks joins the other ranks and prints where each of them is.
func doctorRanks(a *cli.App) error {
	if err := comm.Together(a.World, a.Join(nil)); err != nil {
		return err
	}
	mine := seat{PID: os.Getpid(), Memory: machine.ReadMemory("/proc", "/sys/fs/cgroup").Available,
		CUDA: os.Getenv("CUDA_VISIBLE_DEVICES"), ROCR: os.Getenv("ROCR_VISIBLE_DEVICES")}
	mine.Host, _ = os.Hostname() // "" where the system does not tell
	seats, err := comm.GatherJSON(a.World.Host().AllGather, machine.OwnSeat())
	if err != nil {
		return err
	}
	mine.Threads, mine.Ranks = machine.Share(seats[a.World.Rank()], seats)
	all, err := comm.GatherJSON(a.World.Host().AllGather, mine)
	if err != nil {
		return err
	}
	for rank, s := range all {
		gpus := ""
		if s.CUDA != "" {
			gpus += ", CUDA devices " + s.CUDA
		}
		if s.ROCR != "" {
			gpus += ", ROCm devices " + s.ROCR
		}
		row(a, fmt.Sprintf("rank %d", rank), "%s, process %d, one of %d there: %d threads, %s of memory%s", s.Host, s.PID, s.Ranks, s.Threads,
			humanize.IBytes(uint64(s.Memory/int64(s.Ranks))), gpus)
		a.Report.Event("rank", "rank", rank, "seat", s)
	}
	return nil
}

// found are the reports on the libraries that were tried, by their names.
type found map[string]*probe.Report

// tryAll tries every library that can be of use here.
func tryAll(ctx context.Context) found {
	f := found{}
	for _, name := range probe.Subjects() {
		if !strings.HasPrefix(name, "mpi-") {
			f[name] = cli.Try(ctx, name, probe.Patience)
		}
	}
	for _, engine := range gpu.Engines {
		if name := engine.String(); f[name].Works() && f["mpi"].Claims[engine.Facts().Space.String()].Takes {
			f["mpi-"+name] = cli.Try(ctx, "mpi-"+name, probe.Patience)
		}
	}
	return f
}

func doctorVerdict(ctx context.Context, a *cli.App) {
	v, c := provenance.Build()
	a.Report.Printf("\nThis build, lsm %s %s, can use here:\n", v, c)
	isa, err := kirchhoff.ISA()
	if err != nil {
		isa = err.Error()
	}
	a.Report.Printf("  engine reference, cpu (%s kernels)\n", isa)
	f := tryAll(ctx)
	for _, engine := range gpu.Engines {
		f.tellCards(a, engine)
	}
	a.Report.Printf("  communicator self\n")
	f.tell(a, "mpi", "communicator mpi")
	for _, engine := range gpu.Engines {
		f.tell(a, nccl.Backend(engine), "communicator "+nccl.Backend(engine))
		f.tellMemory(a, engine)
	}
	a.Report.Printf("  matrices by %s\n", blas.Gonum(1).About())
	f.tell(a, "openblas", "matrices by openblas")
	for _, engine := range gpu.Engines {
		name := engine.Facts().Matrices.Name
		f.tell(a, name, "matrices by "+name)
	}
	a.Report.Printf("\nWith %s these keys come to:\n", readable.Count(a.Launcher.Ranks, "rank"))
	keys := f.keys(a.Launcher)
	for _, k := range keys {
		a.Report.Printf("  %-34s %s\n", k.Key, k.Means)
	}
	a.Report.Event("keys", "ranks", a.Launcher.Ranks, "keys", keys)
	works := []any{"mpi", f["mpi"].Works(), "openblas", f["openblas"].Works()}
	for _, engine := range gpu.Engines {
		for _, name := range []string{engine.String(), nccl.Backend(engine), engine.Facts().Matrices.Name} {
			works = append(works, name, f[name].Works())
		}
	}
	a.Report.Event("build", append([]any{"version", v, "commit", c, "engines", append([]string{"reference", "cpu"}, gpu.Names()...), "isa", isa}, works...)...)
}

// tell says what a library is and what it did.
func (f found) tell(a *cli.App, name, as string) {
	r := f[name]
	a.Report.Event("library", "tried", r)
	switch {
	case !r.Loaded():
		a.Report.Printf("  not %s: %s\n", as, r.Error)
	case !r.Works():
		a.Report.Printf("  not %s: %s: %s\n", as, r.About, r.Error)
	default:
		a.Report.Printf("  %s: %s; %s\n", as, r.About, r.Did)
	}
}

// tellCards lists the GPUs of an engine and says where its programs come from.
func (f found) tellCards(a *cli.App, engine accel.Engine) {
	as := "engine " + engine.String()
	f.tell(a, engine.String(), as)
	r := f[engine.String()]
	for _, c := range r.Cards {
		a.Report.Printf("  %s: GPU %d, %s, %s\n", as, c.Index, c.Name, humanize.IBytes(uint64(c.Memory)))
		a.Report.Event("gpu", "engine", engine.String(), "index", c.Index, "name", c.Name, "memory_bytes", c.Memory, "arch", c.Arch)
	}
	if r.Works() {
		a.Report.Printf("  %s: %s\n", as, r.Programs)
	}
}

// tellMemory says whether MPI is given the memory of an engine's GPUs.
func (f found) tellMemory(a *cli.App, engine accel.Engine) {
	if r := f["mpi"]; r == nil || !r.Loaded() || !f[engine.String()].Works() {
		return
	}
	claim := f.takes(engine)
	a.Report.Printf("  %s\n", cli.Handed(engine, claim))
	a.Report.Event("memory", "engine", engine.String(), "given", claim.Takes, "why", claim.Why)
}

// takes reports whether MPI is given the memory of an engine's GPUs, and why.
func (f found) takes(engine accel.Engine) comm.Claim {
	claim := f["mpi"].Claims[engine.Facts().Space.String()]
	if r := f["mpi-"+engine.String()]; r != nil {
		claim = probe.Judge(claim, r)
	}
	return claim
}
