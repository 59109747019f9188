package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/comm/mpi/mpitest"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// launched is a run of lsm as several ranks.
type launched struct {
	*exec.Cmd
	out, errs output
}

// output can be read while a command writes it.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (x *output) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *output) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

// onRanks prepares lsm with the given arguments in a folder.
func onRanks(t *testing.T, folder string, ranks int, args ...string) *launched {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := mpitest.Command(context.Background(), mpi.About(), ranks, program, args...)
	if err != nil {
		t.Skipf("not run: %v", err)
	}
	l := &launched{Cmd: cmd}
	l.Dir, l.Stdout, l.Stderr = folder, &l.out, &l.errs
	l.Env = append(l.Env, asRank+"=1", "UCX_LOG_LEVEL=fatal") // which MPICH may use, and which writes to the output of lsm
	return l
}

// code runs to the end and returns the exit status.
func (l *launched) code(t *testing.T) int {
	t.Helper()
	if err := l.Run(); err != nil && l.ProcessState == nil {
		t.Fatal(err)
	}
	return l.ProcessState.ExitCode()
}

// launchedStatus says whether a launcher's status may stand for that of ranks that end with want.
// Open MPI's launcher ends all ranks with the first and gives its status. MPICH's gives the bits of all
// statuses, or its own (1). Where it kills a rank before the rank has left by itself, it gives the signal (9).
func launchedStatus(code, want int) bool {
	return code == want || code == want|status.PeerLost ||
		os.Getenv("LSM_MPI_LIB") == "mpich" && (code == 1 || code == int(syscall.SIGKILL))
}

// smallCase is a folder with a small survey and its configuration.
func smallCase(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if code := run([]string{"synth", "layers", "-o", folder, "--shots", "8", "--channels", "24", "--quiet"}, &bytes.Buffer{}, os.Stderr); code != status.Done {
		t.Fatalf("synth: status %d", code)
	}
	return folder
}

func imageOf(t *testing.T, path string) *h5.Image {
	t.Helper()
	im, err := h5.ReadImage(path)
	if err != nil {
		t.Fatal(err)
	}
	return im
}

func sameImage(t *testing.T, what string, got, want *h5.Image) {
	t.Helper()
	if !slices.Equal(got.Data, want.Data) || !slices.Equal(got.ResidualNorm, want.ResidualNorm) || !slices.Equal(got.GradientNorm, want.GradientNorm) {
		t.Errorf("%s: image or history has other bits", what)
	}
}

// A run under the launcher has the bits of a process alone, on every grid; rank 0
// alone prints.
func TestRanksOfMPI(t *testing.T) {
	folder := smallCase(t)
	in := func(name string) string { return filepath.Join(folder, name) }
	args := []string{"run", in("config.toml"), "--set", "solver.iterations=4", "--force"}
	if code := run(append(args, "--set", "output.file="+in("one.h5")), &bytes.Buffer{}, os.Stderr); code != status.Done {
		t.Fatalf("one process: status %d", code)
	}
	want := imageOf(t, in("one.h5"))
	for _, grid := range []string{"1,1", "2,1", "3,1", "4,1", "2,2", "1,4", "1,3"} {
		s, b, _ := strings.Cut(grid, ",")
		ranks := atoi(t, s) * atoi(t, b)
		l := onRanks(t, folder, ranks, append(args, "--set", "comm.grid="+grid, "--set", "output.file="+in("many.h5"))...)
		if code := l.code(t); code != status.Done {
			t.Fatalf("grid %s: status %d\n%s%s", grid, code, &l.out, &l.errs)
		}
		if n := strings.Count(l.out.String(), "stopped_iterations after 4 iterations"); n != 1 {
			t.Errorf("grid %s: the result is printed %d times", grid, n)
		}
		im := imageOf(t, in("many.h5"))
		sameImage(t, "grid "+grid, im, want)
		for _, a := range im.Attrs {
			if a.Name == "ranks" && fmt.Sprint(a.Value) != strconv.Itoa(ranks) {
				t.Errorf("grid %s: the image was made by %v ranks", grid, a.Value)
			}
		}
	}
}

// Image gathers and residual traces have the bits of a process alone.
func TestGathersOverMPI(t *testing.T) {
	folder := smallCase(t)
	in := func(name string) string { return filepath.Join(folder, name) }
	args := func(name string) []string {
		return []string{"run", in("config.toml"), "--force", "--set", "solver.iterations=2",
			"--set", "image.gathers=offset", "--set", "image.gather_bins=0,100,10000",
			"--set", "output.file=" + in(name+".h5"), "--set", "output.residual=" + in(name+"-residual.h5")}
	}
	if code := run(args("one"), &bytes.Buffer{}, os.Stderr); code != status.Done {
		t.Fatalf("one process: status %d", code)
	}
	for _, grid := range []string{"2,1", "1,2"} {
		l := onRanks(t, folder, 2, append(args("many"), "--set", "comm.grid="+grid)...)
		if code := l.code(t); code != status.Done {
			t.Fatalf("grid %s: status %d\n%s%s", grid, code, &l.out, &l.errs)
		}
		sameImage(t, "grid "+grid, imageOf(t, in("many.h5")), imageOf(t, in("one.h5")))
		for _, c := range [][2]string{{".h5", "/gathers"}, {"-residual.h5", "/data"}} {
			if got, want := digestOf(t, in("many"+c[0]), c[1]), digestOf(t, in("one"+c[0]), c[1]); got != want {
				t.Errorf("grid %s: %s has other bits", grid, c[1])
			}
		}
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What is wrong is said once, with the documented status.
func TestErrorsOfRanks(t *testing.T) {
	folder := smallCase(t)
	for what, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"configuration": {[]string{"run", "config.toml", "--set", "solver.iterations=none"}, status.BadUsage, "solver.iterations"},
		"grid":          {[]string{"run", "config.toml", "--set", "comm.grid=2,2"}, status.BadUsage, "comm.grid"},
		"input":         {[]string{"migrate", "config.toml", "--set", "survey.file=none.h5"}, status.BadInput, "none.h5"},
		"output":        {[]string{"run", "config.toml", "--set", "output.file=config.toml/x.h5"}, status.NoResource, "config.toml"},
		"memory":        {[]string{"run", "config.toml", "--set", "machine.memory_gib=0.001"}, status.NoResource, "memory"},
		"backend":       {[]string{"run", "config.toml", "--set", "comm.backend=nccl"}, status.NoResource, "nccl"},
	} {
		l := onRanks(t, folder, 3, c.args...)
		code, text := l.code(t), l.errs.String()
		if code != c.code || strings.Count("\n"+text, "\nlsm: ") != 1 || !strings.Contains(text, c.says) {
			t.Errorf("%s: status %d, want %d once naming %s:\n%s", what, code, c.code, c.says, text)
		}
	}
}

// A signal to one rank stops all with a checkpoint; any number of ranks go on from
// it to the same bits.
func TestSignalToOneRank(t *testing.T) {
	folder := smallCase(t)
	args := func(iterations int, more ...string) []string {
		return append([]string{"run", "config.toml", "--force", "--set", fmt.Sprintf("solver.iterations=%d", iterations)}, more...)
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGUSR1} {
		l := onRanks(t, folder, 3, args(100000)...)
		if err := l.Start(); err != nil {
			t.Fatal(err)
		}
		pid := l.rank(t, 1)
		waitForText(t, l, "iter ")
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
		if err := l.Wait(); err == nil || l.ProcessState.ExitCode() != status.Checkpointed {
			t.Fatalf("%v: status %d\n%s", sig, l.ProcessState.ExitCode(), &l.errs)
		}
		var done int
		_, said, _ := strings.Cut(l.errs.String(), "stopped after ")
		if _, err := fmt.Sscanf(said, "%d of", &done); err != nil {
			t.Fatalf("%v: it does not say where it stopped:\n%s", sig, &l.errs)
		}
		resumed := onRanks(t, folder, 2, args(done+3, "--resume", "--set", "comm.grid=1,2")...)
		if code := resumed.code(t); code != status.Done {
			t.Fatalf("%v: resumed: status %d\n%s", sig, code, &resumed.errs)
		}
		if !strings.Contains(resumed.out.String(), "resumed from ") {
			t.Errorf("%v: started afresh:\n%s", sig, &resumed.out)
		}
		whole := onRanks(t, folder, 2, args(done+3, "--set", "output.file=whole.h5")...)
		if code := whole.code(t); code != status.Done {
			t.Fatalf("status %d\n%s", code, &whole.errs)
		}
		sameImage(t, sig.String(), imageOf(t, filepath.Join(folder, "image.h5")), imageOf(t, filepath.Join(folder, "whole.h5")))
	}
}

// TestKilledRanks kills one rank of a run with SIGKILL at a random moment, as often
// as LSM_TEST_KILLS says, and resumes each run on as many ranks as it likes. No
// published file may be unreadable, and all images have the bits of the run that was
// left alone.
func TestKilledRanks(t *testing.T) {
	kills := 4
	if n := os.Getenv("LSM_TEST_KILLS"); n != "" {
		kills = atoi(t, n)
	}
	folder := smallCase(t)
	args := []string{"run", "config.toml", "--force", "--resume", "--set", "solver.iterations=30", "--set", "checkpoint.iterations=1", "--set", "machine.threads=1"}
	began := time.Now()
	whole := onRanks(t, folder, 3, append(args, "--set", "output.file=whole.h5")...)
	if code := whole.code(t); code != status.Done {
		t.Fatalf("status %d\n%s", code, &whole.errs)
	}
	usual := time.Since(began)
	want := imageOf(t, filepath.Join(folder, "whole.h5"))
	image := filepath.Join(folder, "image.h5")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, a run takes %v", seed, usual.Round(time.Millisecond))
	random := rand.New(rand.NewPCG(seed, 1))
	afresh, resumed := 0, 0
	for killed := 0; killed < kills; {
		ranks := 1 + random.IntN(4)
		l := onRanks(t, folder, ranks, args...)
		if err := l.Start(); err != nil {
			t.Fatal(err)
		}
		pid := l.rank(t, random.IntN(ranks))
		time.Sleep(time.Duration(random.Float64() * float64(usual)))
		missed := syscall.Kill(pid, syscall.SIGKILL) != nil
		l.waitOrEnd(t, pid)
		allReadable(t, folder)
		if !missed {
			killed++
			again := onRanks(t, folder, 1+random.IntN(4), args...)
			if code := again.code(t); code != status.Done {
				t.Fatalf("after kill %d: status %d\n%s", killed, code, &again.errs)
			}
			if strings.Contains(again.out.String(), "resumed from ") {
				resumed++
			} else {
				afresh++
			}
			sameImage(t, fmt.Sprintf("kill %d", killed), imageOf(t, image), want)
		}
		os.Remove(image)
	}
	t.Logf("%d kills, all images the same; %d runs went on from a checkpoint, %d had none yet or were done", kills, resumed, afresh)
}

// waitOrEnd waits for a launcher whose rank was killed. Open MPI 4.1's may hang with
// all its ranks gone where one was killed while they started; then it is ended.
func (l *launched) waitOrEnd(t *testing.T, killed int) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		_ = l.Wait() // its status is that of the killed rank, or of one that was done
		close(done)
	}()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for alone := 0; ; {
		select {
		case <-done:
			return
		case <-time.After(time.Second):
		}
		if alone++; len(below(l.Process.Pid, program)) > 0 {
			alone = 0
		}
		if alone > 20 {
			t.Logf("the launcher hangs without ranks after process %d was killed; it is ended", killed)
			_ = l.Process.Kill() // gone meanwhile, perhaps
			<-done
			return
		}
	}
}

// allReadable makes sure that every file with a published name can be read.
func allReadable(t *testing.T, folder string) {
	t.Helper()
	for _, pattern := range []string{"*.h5", "checkpoints/*.h5"} {
		files, _ := filepath.Glob(filepath.Join(folder, pattern)) // the patterns are right
		for _, file := range files {
			f, err := h5.Open(file)
			if err == nil {
				err = f.Verify()
				f.Close()
			}
			if err != nil {
				t.Errorf("after a kill: %v", err)
			}
		}
	}
}

// rank waits for the n-th rank's process and returns its id.
func (l *launched) rank(t *testing.T, n int) int {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if found := below(l.Process.Pid, program); len(found) > n {
			return found[n]
		}
	}
	t.Fatalf("rank %d does not start\n%s", n, &l.errs)
	return 0
}

// below lists the processes below one that run a program.
func below(pid int, program string) (found []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	children := map[int][]int{}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile
		}
		_, rest, ok := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if !ok || len(fields) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		children[parent] = append(children[parent], child)
	}
	todo := []int{pid}
	for len(todo) > 0 {
		next := children[todo[0]]
		slices.Sort(next)
		for _, p := range next {
			if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p)); err == nil && exe == program {
				found = append(found, p)
			}
		}
		todo = append(todo[1:], next...)
	}
	return found
}

// waitForText waits until a running command has printed something.
func waitForText(t *testing.T, l *launched, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if strings.Contains(l.out.String(), text) {
			return
		}
	}
	t.Fatalf("%q is not printed:\n%s%s", text, &l.out, &l.errs)
}

// The backends of GPUs side by side, on ranks that are processes.
func TestBenchCommBackends(t *testing.T) {
	gputest.Cards(t, 2)
	l := onRanks(t, t.TempDir(), 2, "bench", "comm", "--backend", "nccl,mpi,mpi-staged", "--first", "1KiB", "--last", "64KiB",
		"--factor", "8", "--iterations", "2", "--operations", "all-reduce,accumulate,send-recv")
	if code := l.code(t); code != status.Done {
		t.Fatalf("status %d:\n%s%s", code, l.out.String(), l.errs.String())
	}
	rows := map[string]int{}
	for line := range strings.Lines(l.out.String()) {
		if f := strings.Fields(line); (len(f) == 10 || len(f) == 12) && f[0] != "#" && f[8] == "0" {
			rows[strings.Join(f[9:], " ")]++
		}
	}
	for _, way := range []string{"nccl one-way", "nccl both-ways", "mpi-staged one-way", "mpi-staged both-ways", "mpi-staged-put one-way",
		"mpi-staged-put both-ways", "mpi-staged-get one-way", "mpi-staged-get both-ways", "copy local", "copy-to-host local", "copy-to-gpu local"} {
		if rows["mpi one-way alone"] > 0 { // the first that has one-sided access
			way = strings.ReplaceAll(way, "mpi-staged-", "mpi-")
		}
		if rows[way+" alone"] != 3 || rows[way+" kernel"] != 3 {
			t.Errorf("%s: %d rows alone, %d beside a kernel, want 3 each", way, rows[way+" alone"], rows[way+" kernel"])
		}
	}
	// NCCL has no one-sided sums; MPI is measured where it is CUDA-aware.
	if rows["nccl"] != 3 || rows["mpi-staged"] != 6 || rows["mpi"] != 0 && rows["mpi"] != 6 {
		t.Errorf("rows %v in\n%s", rows, l.out.String())
	}
}

// claiming makes a library that, loaded before MPI, claims in its place to take memory of
// cards, with more functions.
func claiming(t *testing.T, more string) (library string) {
	t.Helper()
	library = filepath.Join(t.TempDir(), "claims.so")
	text := "int MPIX_GPU_query_support(int kind, int *yes) { *yes = kind == 0; return 0; }\n" + more
	if err := os.WriteFile(library+".c", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-O0", "-o", library, library+".c").CombinedOutput(); err != nil {
		t.Skipf("no library can be made that answers in place of MPI: %v\n%s", err, out)
	}
	return library
}

// MPI that claims to take a card's memory is given it only if a child lives through sending
// some.
func TestMemoryGivenToMPI(t *testing.T) {
	gputest.Cards(t, 2)
	for crash, want := range map[string]string{
		"":               "memory of cuda's GPUs is given to MPI: MPIX_GPU_query_support says yes, and in a trial it sent and summed numbers in the memory of GPU 0\n",
		"*(int *)0 = 0;": "memory of cuda's GPUs is copied to the host for MPI: MPIX_GPU_query_support says yes, but in a trial: it ended the process that tried it: ",
	} {
		more := ""
		if crash != "" {
			more = "int MPI_Sendrecv(void) { " + crash + " return 1; }\n"
		}
		library := claiming(t, more)
		l := onRanks(t, t.TempDir(), 2, "bench", "comm", "--engine", "cuda", "--backend", "mpi,mpi-staged", "--last", "1KiB",
			"--iterations", "2", "--operations", "all-reduce")
		l.Env = append(l.Env, "LD_PRELOAD="+library)
		if code := l.code(t); code != status.Done {
			t.Fatalf("status %d:\n%s%s", code, l.out.String(), l.errs.String())
		}
		direct := regexp.MustCompile(`(?m) 0  mpi$`).MatchString(l.out.String())
		if said := l.errs.String() + l.out.String(); !strings.Contains(said, want) || direct != (crash == "") {
			t.Errorf("measured mpi %v, want %q in\n%s%s", direct, want, l.out.String(), l.errs.String())
		}
	}
}

// Every way is compared on ranks that are processes: MPI is given memory of GPUs where it
// claims to take it, and has a line that says why not where it does not.
func TestBenchBackendsOverMPI(t *testing.T) {
	gputest.Cards(t, 2)
	folder := smallCase(t)
	library := claiming(t, "")
	for preload, want := range map[string][]string{
		"":      {"cpu mpi", "cuda mpi-staged", "not cuda mpi", "cuda nccl"},
		library: {"cpu mpi", "cuda mpi-staged", "cuda mpi", "cuda nccl"},
	} {
		l := onRanks(t, folder, 2, "bench", "backends", "config.toml", "--iterations", "2", "--last", "64KiB", "--plot", "plot.png", "--force", "--json")
		if l.Env = append(l.Env, "LD_PRELOAD="+preload); preload == "" {
			l.Env = append(l.Env, "MPIR_CVAR_ENABLE_GPU=0", "OMPI_MCA_opal_cuda_support=false")
		}
		if code := l.code(t); code != status.Done {
			t.Fatalf("status %d:\n%s%s", code, l.out.String(), l.errs.String())
		}
		got := backendRows(t, l.out.String())
		if !slices.Equal(got.ways, want) {
			t.Errorf("ways %q, want %q:\n%s", got.ways, want, l.out.String())
		}
		if why := got.why["cuda mpi"]; preload == "" && !strings.Contains(why, "MPI does not take memory of cuda's GPUs: ") {
			t.Errorf("not said why: %q", why)
		}
		if _, err := os.Stat(filepath.Join(folder, "plot.png")); err != nil {
			t.Error(err)
		}
	}
}

// Ranks with AMD's cards compile their kernels, each in a child that is no rank.
func TestRanksCompileInChildren(t *testing.T) {
	gputest.Cards(t, 2)
	folder := smallCase(t)
	l := onRanks(t, folder, 2, "migrate", filepath.Join(folder, "config.toml"), "--set", "kirchhoff.engine=hip",
		"--set", "image.origin=0,0", "--set", "image.spacing=50,50", "--set", "image.shape=40,20", "--set", "output.file="+filepath.Join(folder, "image.h5"))
	l.Env = append(l.Env, "XDG_CACHE_HOME="+t.TempDir()) // no kernel is compiled yet
	if code := l.code(t); code != status.Done {
		t.Errorf("status %d\n%s%s", code, &l.out, &l.errs)
	}
}
