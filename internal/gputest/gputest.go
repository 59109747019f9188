// Package gputest emulates a GPU on the processor, for tests on machines without
// one: a small implementation of the CUDA driver, of HIP and of both run-time
// compilers, as far as this project calls them. The C++ sources are
// built by g++ into a folder of libraries that stand in for the real ones, so
// the whole path from Go to the kernel is the one that a real card sees.
//
// There are two executors. The first is a compiler, which runs g++ over a kernel's source:
// what it shows is an error of the source. Each block runs on one thread,
// its threads as fibres that change places at barriers, and blocks of one launch run
// side by side, every second launch backwards. Streams
// are asynchronous. New memory and shared memory hold NaN, memory is counted,
// and words around every allocation show kernels that wrote beyond it. A barrier
// that not all threads reach is an error.
//
// It cannot show races within a block, the memory model's surprises, or speed. It has
// no warp functions, which no kernel here calls.
//
// The second is the driver, which runs the PTX of a real compiler, statement by
// statement, see ptxtest and ptx.h. It is for races, for accesses beyond any allocation
// and copies without a wait, and for errors of the compiler. It knows the
// statements that NVRTC makes of programs like those here, and refuses all others by name.
//
// It refuses what real cards refuse: a launch of more threads than a kernel's bounds leave registers
// for, or than 256 without bounds (status 701), and more than 4 KiB of parameters. It also refuses a
// compiler whose builtins cannot be found by name, and a card that failed while any is in use. Streams
// beyond the first eight of a thread share queues.
//
// The environment sets the emulator:
//
//	GPUEMU_CARDS     cards (1); CUDA_VISIBLE_DEVICES is honoured
//	GPUEMU_MEMORY    bytes of a card (1 GiB)
//	GPUEMU_WORKERS   threads that run blocks (all processors)
//	GPUEMU_CAPABILITY  what a card claims to be for CUDA: 120 for sm_120 (90)
//	GPUEMU_QUEUES    queues for the streams that a thread creates (8)
//	GPUEMU_STATIC_SHARED  bytes of shared memory that a kernel claims to have of its own (0)
//	GPUEMU_SANITIZE  "address": kernels under AddressSanitizer, see [Sanitized]
//	GPUEMU_FAULT     "cuMemAlloc:3:2": the third such call returns status 2; "cuInit:1:-11":
//	                 the first one is ended by signal 11
//	GPUEMU_NVRTC     the real NVRTC's name for the loader: the emulated one makes PTX by it
//	GPUEMU_PTX       folder of programs that a driver takes instead of others, see [Replace]
//	GPUEMU_STEPS     statements that a warp may run in a block given as PTX (no limit)
//	GPUEMU_REPORT    a file to which a line is added for every failure of a kernel, and when
//	                 the last user leaves a card, for the accesses that were watched
//
// The driver's library also emulates cuBLAS and hipBLAS. It is stricter than the real ones: sums
// depend on the shape of a call and on where its matrices begin, and single precision is
// rounded to fewer digits unless that is forbidden.
//
// A library of its own emulates NCCL and RCCL: its ranks may be threads of one
// process or processes of one machine, and meet in shared memory. It is stricter
// than the real ones where these hang: ranks that make different calls are an
// error. It adds in the order of ranks. A communicator that was made without blocking has every
// call in progress when it returns, and refuses a call while
// one is. A split returns success all the same, as in NCCL 2.28. Destroying
// a communicator waits for its pending work.
//
//	GPUEMU_NCCL_VERSION  the version it claims, such as 23003 (that of the library)
//	GPUEMU_NCCL_SILENT   set: a rank whose communicator was aborted is no error of others
//	GPUEMU_NCCL_LOG      a file to which each call adds a line, "rank 1 all-reduce"
//	GPUEMU_NCCL_FAULT    "kill:1:3": rank 1's process is killed in its third
//	                     collective, or group of messages, of a communicator, -1
//	                     stands for all ranks, and the start is number 0 (hang,
//	                     error); "die:1:3": that rank stays
//	                     in it, and is lost to the others; "error:1:3:6": it stays
//	                     in it and has the asynchronous error 6; "hang:1:3": it
//	                     stays in it, and the others wait and never learn of it
package gputest

import (
	"embed"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

//go:embed *.cpp *.h
var sources embed.FS

// Names under which the emulator's library is found.
var names = []string{"libcuda.so.1", "libnvrtc.so.12", "libamdhip64.so.5", "libhiprtc.so.5", "libcublas.so.12", "libhipblas.so.2"}

// builtins are the libraries that the compilers load by name from their own folder when they compile.
// The name of NVRTC's ends in its version: 0.1 without the sanitizer, 0.2 with it.
var builtins = []string{"libnvrtc-builtins.so.0.1", "libnvrtc-builtins.so.0.2", "libhiprtc-builtins.so.5"}

// MPI is a library in the emulator's folder that a program may have preloaded before a host's
// MPI. It makes MPI one that takes the memory of cards, and refuses that memory on a thread
// without a current context. GPUEMU_MPI_LOG is a file to which it adds a line for each call
// that gets some, such as "MPI_Allreduce".
const MPI = "libgpuemu-mpi.so"

// Missing says why the emulator cannot be built here, "" if it can.
func Missing() string {
	if runtime.GOOS != "linux" {
		return "the emulated GPU is for Linux"
	}
	if out, err := exec.Command("g++", "--version").CombinedOutput(); err != nil {
		return fmt.Sprintf("no g++ for the emulated GPU: %v %s", err, out)
	}
	return ""
}

// Build makes the libraries in a folder.
func Build(folder string) error {
	files, err := sources.ReadDir(".")
	if err != nil {
		return err
	}
	link := []string{"-shared", "-o", filepath.Join(folder, "libgpuemu.so")}
	var nccl, mpi []string // objects
	for _, f := range files {
		text, err := sources.ReadFile(f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, f.Name()), text, 0o644); err != nil {
			return err
		}
	}
	var group errgroup.Group
	for _, f := range files {
		if source, ok := strings.CutSuffix(f.Name(), ".cpp"); ok {
			object := filepath.Join(folder, source+".o")
			switch {
			case strings.HasPrefix(source, "nccl"):
				nccl = append(nccl, object)
			case source == "mpi":
				mpi = append(mpi, object)
			default:
				link = append(link, object)
			}
			group.Go(func() error {
				return gpp("-std=c++20", "-O2", "-march=native", "-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv",
					"-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-c", "-o", object, filepath.Join(folder, f.Name()))
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := gpp(append(link, "-ldl", "-pthread")...); err != nil {
		return err
	}
	for _, n := range names {
		link := filepath.Join(folder, n)
		os.Remove(link) // of a build that was cut short
		if err := os.Symlink("libgpuemu.so", link); err != nil {
			return err
		}
	}
	for _, b := range builtins {
		if err := gpp("-shared", "-o", filepath.Join(folder, b), "-Wl,-soname,"+b, "-x", "c++", "/dev/null"); err != nil {
			return err
		}
	}
	if err := gpp(append(mpi, "-shared", "-o", filepath.Join(folder, MPI), "-ldl")...); err != nil {
		return err
	}
	return buildNCCL(folder, nccl)
}

func gpp(args ...string) error {
	if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("building the emulated GPU: %w\n%s", err, out)
	}
	return nil
}

// Environment lists the variables that make this program, and those it starts, load the
// emulator in a folder instead of real libraries.
func Environment(folder string) []string {
	return []string{
		"LSM_CUDA_LIB=" + filepath.Join(folder, names[0]), "LSM_NVRTC_LIB=" + filepath.Join(folder, names[1]),
		"LSM_HIP_LIB=" + filepath.Join(folder, names[2]), "LSM_HIPRTC_LIB=" + filepath.Join(folder, names[3]),
		"LSM_CUBLAS_LIB=" + filepath.Join(folder, names[4]), "LSM_HIPBLAS_LIB=" + filepath.Join(folder, names[5]),
		"LSM_NCCL_LIB=" + filepath.Join(folder, NCCL), "LSM_RCCL_LIB=" + filepath.Join(folder, RCCL),
		"XDG_CACHE_HOME=" + filepath.Join(folder, "cache"), // compiled kernels
		"GPUEMU_FOLDER=" + folder,
	}
}

// Replace has the emulated driver take one program, as PTX or as a binary of the emulated
// compiler, wherever it is given another as PTX.
func Replace(t testing.TB, ptx, by []byte) {
	t.Helper()
	folder := os.Getenv("GPUEMU_PTX")
	if folder == "" {
		folder = t.TempDir()
		t.Setenv("GPUEMU_PTX", folder)
	}
	h := fnv.New64a()
	h.Write(ptx)
	if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%016x", h.Sum64())), by, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Run runs tests of this test program in a child with more in its environment.
func Run(t testing.TB, pattern string, environ ...string) (output string, err error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run="+pattern, "-test.v")
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// RunSanitized runs tests of this test program in a child whose kernels are under
// the sanitizer, with more in its environment. Without a sanitizer it skips the
// test.
func RunSanitized(t testing.TB, pattern string, environ ...string) (output string, err error) {
	t.Helper()
	NeedEmulator(t)
	if raceDetector {
		t.Skip("Go's race detector and AddressSanitizer do not go together")
	}
	sanitizer, err := Sanitized()
	if err != nil {
		t.Skip(err)
	}
	return Run(t, pattern, append(sanitizer, environ...)...)
}

// Sanitized lists the variables that a program needs in its environment, besides [Environment],
// so that an access beyond memory inside a kernel ends it with file and line.
func Sanitized() ([]string, error) {
	out, err := exec.Command("g++", "-print-file-name=libasan.so").Output()
	library := strings.TrimSpace(string(out))
	if err != nil || !filepath.IsAbs(library) {
		return nil, fmt.Errorf("g++ has no AddressSanitizer here: %q (%v)", library, err)
	}
	if library, err = filepath.EvalSymlinks(library); err != nil {
		return nil, err
	}
	return []string{
		"GPUEMU_SANITIZE=address", "LD_PRELOAD=" + library,
		// Go handles its own signals and never gives memory back at the end.
		"ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:allow_user_segv_handler=1:abort_on_error=0:exitcode=99",
	}, nil
}
