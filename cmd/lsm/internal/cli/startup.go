package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// startup bounds what comes before the watch: loading the library, MPI_Init, which waits for all ranks for
// ever, and connecting the watch. Each step has comm.timeout.
type startup struct {
	a     *App
	limit time.Duration
	step  atomic.Pointer[string]
	timer *time.Timer
}

// bound begins to bound the start of several ranks.
func (a *App) bound(cfg *config.Config) *startup {
	s := &startup{a: a, limit: watch.DefaultTimeout}
	if cfg != nil {
		s.limit = cmp.Or(time.Duration(cfg.Comm.Timeout*float64(time.Second)), s.limit)
	}
	s.timer = time.AfterFunc(s.limit, s.giveUp)
	return s
}

// at begins a step.
func (s *startup) at(step string) {
	s.step.Store(&step)
	s.timer.Reset(s.limit)
}

func (s *startup) done() { s.timer.Stop() }

// giveUp ends this rank, and with it, by the launcher, the run. Rank 0 speaks first. Another rank
// speaks a little later, in case it waits for rank 0.
func (s *startup) giveUp() {
	if s.a.Launcher.Rank > 0 {
		time.Sleep(firstWord)
	}
	step := "starting"
	if at := s.step.Load(); at != nil {
		step = *at
	}
	err := status.Hint(status.Peer(fmt.Errorf("%s has not ended within %v (comm.timeout): %s", step, s.limit, stoppedRanks(s.a.Launcher.Rank))),
		"a rank that was never started, is stopped or waits for its disk keeps all others waiting; comm.timeout allows more")
	s.a.mayEnd(status.PeerLost)
	plainfile.Drop()
	go func() {
		time.Sleep(lastWords)
		os.Exit(status.PeerLost)
	}()
	s.a.fail(s.a.errs, err)
	os.Exit(status.PeerLost)
}

// stoppedRanks names ranks of this launcher on this machine that are stopped, as far as the system tells.
func stoppedRanks(me int) string {
	all, _ := filepath.Glob("/proc/[0-9]*/stat") // empty without such a folder
	var found []string
	for _, path := range all {
		text, err := os.ReadFile(path)
		_, after, ok := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		if err != nil || !ok || len(fields) < 2 || fields[0] != "T" && fields[0] != "t" {
			continue
		}
		parent, err := strconv.Atoi(fields[1])
		if mine := os.Getppid(); err != nil || parent != mine && parentOf(parent) != mine && parent != parentOf(mine) && parentOf(parent) != parentOf(mine) {
			continue // also where one of the two was started by a script
		}
		environ, err := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if l := machine.ReadLauncher(strings.Split(string(environ), "\x00")); err == nil && l.Ranks > 1 && l.Rank != me {
			found = append(found, fmt.Sprintf("rank %d (process %s of this machine) is stopped", l.Rank, filepath.Base(filepath.Dir(path))))
		}
	}
	if found == nil {
		return "another rank has not come to it"
	}
	return strings.Join(found, ", ")
}

// parentOf is the process that started another, 0 where the system does not tell.
func parentOf(process int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	_, after, _ := strings.Cut(string(text), ") ")
	if fields := strings.Fields(after); len(fields) > 1 {
		parent, _ := strconv.Atoi(fields[1])
		return parent
	}
	return 0
}

// A process needs to have a few files open, or Go ends it. A rank needs more: libraries of MPI end the
// process, or hang, where they get fewer, and name no cause.
const leastFiles, leastFilesOfRank = 12, 64

// mostFiles is how many files this process may have open, 0 where that is not known.
func mostFiles() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return uint64(limit.Cur)
}

// enoughFiles refuses to start a process that may have too few files open.
func enoughFiles(ranks int) error {
	who, least := "a process", uint64(leastFiles)
	if ranks > 1 {
		who, least = "a rank", leastFilesOfRank
	}
	most := mostFiles()
	if most == 0 || most >= least {
		return nil
	}
	return status.Hint(status.Resource(fmt.Errorf("too few open files: the limit is %d (ulimit -n), %s needs %d", most, who, least)), "ulimit -n 1024, on all machines of the run")
}

// nameLimit adds the limit to an error of too many open files.
func nameLimit(err error) error {
	if errors.Is(err, syscall.EMFILE) {
		return status.Hint(fmt.Errorf("%w: the limit is %d (ulimit -n)", err, mostFiles()), cmp.Or(status.HintOf(err), "ulimit -n 1024"))
	}
	return err
}
