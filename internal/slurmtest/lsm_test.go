package slurmtest

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/internal/program"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

const (
	lesson = "../../tutorials/many-ranks"
	few    = 3
	// many are enough for a run to be still under way when the test has seen it
	// iterate.
	many = 200
)

var (
	thirdIteration = regexp.MustCompile(`(?m)^iter +3/`)
	jobIsOver      = regexp.MustCompile(`JobState=(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)`)
)

// library is an MPI and how lsm is started with it.
type library struct {
	name  string
	named string   // as LSM_MPI_LIB has it; srun's way of starting chooses it, too
	pmi   string   // what srun is told
	grids []string // of four ranks on two nodes
}

var (
	libraries = []library{
		{"Open MPI", "openmpi", "pmix", []string{"4,1", "2,2"}},
		{"MPICH", "mpich", "pmi2", []string{"1,4"}},
	}
	alone = library{name: "no MPI", named: "/none", pmi: "none"} // where neither is to be had
)

// step are srun's arguments for so many ranks, on both nodes if there are more
// than one.
func (b library) step(ranks int, command ...string) []string {
	return append([]string{"-K", "--mpi=" + b.pmi, "--cpus-per-task=1"}, append(layout(ranks), command...)...)
}

func layout(ranks int) []string {
	nodes := min(ranks, 2)
	return []string{fmt.Sprintf("--nodes=%d", nodes), fmt.Sprintf("--ntasks-per-node=%d", ranks/nodes)}
}

// works reports whether the program in a folder can use the library.
func (b library) works(t *testing.T, bin string) bool {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "lsm"), "doctor", "--json")
	cmd.Env = append(os.Environ(), mpi.Variable+"="+b.named)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("lsm doctor: %v\n%s", err, out)
	}
	return strings.Contains(string(out), `"mpi":true`)
}

// site is a folder with the lesson's configuration and survey, and the images
// that one process finds there.
type site struct {
	*cluster
	library
	dir, lsm string
	env      []string
	want     map[int][]float32 // by iterations
}

func newSite(t *testing.T, c *cluster, b library, bin string) *site {
	t.Helper()
	s := &site{cluster: c, library: b, dir: t.TempDir(), lsm: filepath.Join(bin, "lsm"), want: map[int][]float32{}}
	s.env = []string{"LSM_MACHINE_THREADS=1", "SLURM_MPI_TYPE=" + b.pmi,
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}
	config, err := os.ReadFile(filepath.Join(lesson, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "config.toml"), config, 0o644); err != nil {
		t.Fatal(err)
	}
	s.output(t, s.dir, s.env, s.lsm, "synth", "faults", "-o", "survey", "--shots", "12")
	for _, n := range []int{few, many} {
		file := fmt.Sprintf("one%d.h5", n)
		s.output(t, s.dir, s.with(n), s.lsm, "run", "config.toml", "--set", "comm.backend=self", "--set", "output.file="+file)
		s.want[n] = s.image(t, file)
	}
	return s
}

// with is the environment of a run of so many iterations, without damping, with which it would converge before a signal
// comes.
func (s *site) with(iterations int, more ...string) []string {
	return slices.Concat(s.env, []string{fmt.Sprintf("LSM_SOLVER_ITERATIONS=%d", iterations), "LSM_SOLVER_DAMPING=0"}, more)
}

func (s *site) image(t *testing.T, name string) []float32 {
	t.Helper()
	im, err := h5.ReadImage(filepath.Join(s.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return im.Data
}

// sameImage compares with what one process found, bit for bit.
func (s *site) sameImage(t *testing.T, name string, iterations int) {
	t.Helper()
	got, want := s.image(t, name), s.want[iterations]
	if len(got) != len(want) {
		t.Fatalf("%s has %d points, want %d", name, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Errorf("%s differs from the image of one process: point %d is %g, want %g", name, i, got[i], want[i])
			return
		}
	}
}

func TestSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("not run: -short, and Slurm takes its time")
	}
	c := startCluster(t)
	var sites []*site
	bin := program.Folder(t)
	for _, b := range libraries {
		if !b.works(t, bin) {
			t.Logf("%s: not run: lsm cannot use it here", b.name)
			continue
		}
		sites = append(sites, newSite(t, c, b, bin))
	}
	ranks := 2
	if len(sites) == 0 {
		ranks, sites = 1, append(sites, newSite(t, c, alone, bin))
	}
	for i, s := range sites {
		t.Run(s.name, func(t *testing.T) {
			t.Run("grids", s.testGrids)
			if i == 0 {
				t.Run("kill", func(t *testing.T) { s.testKill(t, ranks) })
			}
			if i == len(sites)-1 {
				t.Run("requeue", func(t *testing.T) { s.testRequeue(t, ranks) })
			}
		})
	}
}

// Four ranks on two nodes find the bits that one process finds, for every grid.
func (s *site) testGrids(t *testing.T) {
	for i, grid := range s.grids {
		file := fmt.Sprintf("grid%d.h5", i)
		s.output(t, s.dir, s.with(few), "srun",
			s.step(4, s.lsm, "run", "config.toml", "--set", "comm.grid="+grid, "--set", "output.file="+file)...)
		s.sameImage(t, file, few)
	}
}

// One rank is killed while checkpoints are written all the time: the job is over
// within a minute, what it published can be read, and one process goes on from
// there to the bits of a run that was never killed.
func (s *site) testKill(t *testing.T, ranks int) {
	const limit = time.Minute
	env := s.with(many, "LSM_CHECKPOINT_ITERATIONS=1", "LSM_CHECKPOINT_FOLDER=killed", "LSM_OUTPUT_FILE=killed.h5")
	if err := os.Link(filepath.Join(s.dir, fmt.Sprintf("one%d.h5", many)), filepath.Join(s.dir, "killed.h5")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience+limit)
	defer cancel()
	path := filepath.Join(s.dir, "killed.log")
	cmd := s.command(ctx, s.dir, env, "srun", s.step(ranks, "sh", "-c", `echo $$ >pid.$SLURM_PROCID; exec lsm run config.toml --force`)...)
	out := log(t, path)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	await(t, "third iteration", func() bool {
		return thirdIteration.MatchString(contents(path)) || len(ended) > 0
	}, func() string { return contents(path) })
	victim := ranks - 1
	pid, err := strconv.Atoi(strings.TrimSpace(contents(filepath.Join(s.dir, fmt.Sprintf("pid.%d", victim)))))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Errorf("srun reports success although rank %d was killed\n%s", victim, contents(path))
		}
	case <-time.After(limit):
		cancel()
		t.Fatalf("srun is still there %v after rank %d was killed: %v\n%s", limit, victim, <-ended, contents(path))
	}
	s.sameImage(t, "killed.h5", many) // the file of before
	saved, err := filepath.Glob(filepath.Join(s.dir, "killed", "*.h5"))
	if err != nil || len(saved) == 0 {
		t.Fatalf("no checkpoint (%v)", err)
	}
	for _, file := range saved {
		s.output(t, s.dir, s.env, s.lsm, "info", file)
	}
	said := s.output(t, s.dir, env, s.lsm, "run", "config.toml", "--force", "--resume", "--set", "comm.backend=self")
	if !strings.Contains(said, "resumed from") {
		t.Errorf("did not resume:\n%s", said)
	}
	s.sameImage(t, "killed.h5", many)
}

// The lesson's job, told to stop, writes a checkpoint, goes back into the queue,
// resumes and finds the bits of a run that was never stopped.
func (s *site) testRequeue(t *testing.T, ranks int) {
	script, err := filepath.Abs(filepath.Join(lesson, "job.slurm"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.dir, "job.log")
	options := append(layout(ranks), "--parsable", "--cpus-per-task=1", "--output="+path, script)
	id := strings.TrimSpace(s.output(t, s.dir, s.with(many), "sbatch", options...))
	state := func() string { return s.output(t, s.dir, s.env, "scontrol", "show", "job", id) }
	all := func() string { return state() + contents(path) }
	await(t, "third iteration", func() bool { return thirdIteration.MatchString(contents(path)) }, all)
	s.output(t, s.dir, s.env, "scancel", "--signal=USR1", id) // what --signal has Slurm send
	await(t, "end of the job", func() bool { return jobIsOver.MatchString(state()) }, all)
	if said := state(); !strings.Contains(said, "JobState=COMPLETED") || !strings.Contains(said, "Restarts=1") {
		t.Errorf("the job did not complete at its second turn:\n%s", all())
	}
	if said := contents(path); !strings.Contains(said, "resumed from") {
		t.Errorf("did not resume:\n%s", said)
	}
	s.sameImage(t, "image.h5", many)
}
