package watch

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

const ranks = 3

// The test binary runs itself as the ranks of a run: rank, what it does, and
// where the ranks meet are in its environment.
func TestMain(m *testing.M) {
	act := os.Getenv("WATCH_ACT")
	if act == "" {
		flag.Parse()
		flag.Set("test.parallel", "10") // they mostly sleep
		os.Exit(m.Run())
	}
	if act == "crowded" {
		if err := crowded(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	rank, err := strconv.Atoi(os.Getenv("WATCH_RANK"))
	if err == nil {
		err = play(act, rank, os.Getenv("WATCH_PLACE"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rank", rank, err)
	}
	os.Exit(status.Code(err))
}

// play is one rank: collectives over "shots", and then what act says. After the
// first hundred it says so.
func play(act string, rank int, place string) error {
	world, err := newProcess(place, rank, ranks)
	if err != nil {
		return err
	}
	// Patient enough for a machine that does much else, but for what the act is
	// about.
	o := Options{Beat: 50 * time.Millisecond, Settle: 500 * time.Millisecond}
	if strings.HasPrefix(act, "stop") {
		o.Lost = 3 * time.Second
	}
	if act == "hang" {
		o.Timeout = 2 * time.Second
	}
	g, w, err := Guard(world, o)
	if err != nil {
		return err
	}
	shots, err := g.Split(0, rank)
	if err != nil {
		return err
	}
	Name(shots, "shots")
	for k := 0; ; k++ {
		n := 1000
		if k == 100 {
			fmt.Println("going")
			switch {
			case act == "end":
				time.Sleep(time.Duration(rank) * 300 * time.Millisecond)
				w.Close(nil)
				return nil
			case rank != 1:
			case act == "hang":
				var never chan bool
				<-never
			case act == "panic":
				go func() {
					defer w.Recover()
					panic("out of range")
				}()
				var never chan bool
				<-never
			case act == "leave":
				w.Close(errors.New("disk full"))
				return nil
			case act == "size":
				n = 999
			case act == "order":
				_, err := g.Host().Agree(0)
				return err
			}
		}
		if err := shots.AllReduce(floats(n)); err != nil {
			return err
		}
	}
}

// run is a run of several processes.
type run struct {
	t      *testing.T
	cmds   []*exec.Cmd
	mu     sync.Mutex
	stderr bytes.Buffer
	going  []chan bool // by rank
	exits  []chan int
}

func (r *run) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stderr.Write(p)
}

func start(t *testing.T, act string) *run {
	place := filepath.Join(t.TempDir(), "place")
	l, err := net.Listen("unix", place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go meet(l)
	r := &run{t: t}
	for rank := range ranks {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "WATCH_ACT="+act, fmt.Sprint("WATCH_RANK=", rank), "WATCH_PLACE="+place)
		cmd.Stderr = r
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() }) // mostly gone already
		going, exit := make(chan bool), make(chan int, 1)
		go func() {
			bufio.NewReader(out).ReadString('\n')
			close(going)
			io.Copy(io.Discard, out)
			cmd.Wait() // what it says is in ProcessState
			exit <- cmd.ProcessState.ExitCode()
		}()
		r.cmds, r.going, r.exits = append(r.cmds, cmd), append(r.going, going), append(r.exits, exit)
	}
	for _, g := range r.going {
		<-g
	}
	return r
}

func (r *run) signal(rank int, s syscall.Signal) {
	if err := r.cmds[rank].Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// leaves waits until ranks have left, and asserts their status.
func (r *run) leaves(code int, who ...int) {
	r.t.Helper()
	for _, rank := range who {
		select {
		case got := <-r.exits[rank]:
			if got != code {
				r.t.Errorf("rank %d left with status %d, want %d", rank, got, code)
			}
		case <-time.After(60 * time.Second):
			r.t.Fatalf("rank %d is still there after 60 s", rank)
		}
	}
}

// says asserts that one line was printed by all ranks together, but for the
// stack of a panic, and that it has these parts.
func (r *run) says(parts ...string) {
	r.t.Helper()
	r.mu.Lock()
	text := r.stderr.String()
	r.mu.Unlock()
	first, rest, _ := strings.Cut(text, "\n")
	if strings.Count(text, "lsm:") != 1 || rest != "" && !strings.HasPrefix(rest, "\ngoroutine ") {
		r.t.Errorf("printed %q, want one message", text)
	}
	for _, p := range parts {
		if !strings.Contains(first, p) {
			r.t.Errorf("printed %q, want %q in it", first, p)
		}
	}
}

func (r *run) name(rank int) string {
	host, err := os.Hostname()
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("lsm: rank %d (host %s, pid %d) ", rank, host, r.cmds[rank].Process.Pid)
}

func others(but int) []int {
	var out []int
	for r := range ranks {
		if r != but {
			out = append(out, r)
		}
	}
	return out
}

// Every rank in turn is killed, rank 0 included.
func TestProcessIsKilled(t *testing.T) {
	t.Parallel()
	for rank := range ranks {
		t.Run(fmt.Sprint("rank ", rank), func(t *testing.T) {
			t.Parallel()
			r := start(t, "go")
			r.signal(rank, syscall.SIGKILL)
			r.leaves(status.PeerLost, others(rank)...)
			r.says(r.name(rank)+"was lost", "all-reduce ", "of 4.0 kB float32 over shots")
		})
	}
}

// A stopped rank is given up. When it comes back it leaves like the rest, and
// prints nothing.
func TestProcessIsStopped(t *testing.T) {
	t.Parallel()
	for rank := range 2 {
		t.Run(fmt.Sprint("rank ", rank), func(t *testing.T) {
			t.Parallel()
			r := start(t, "stop")
			r.signal(rank, syscall.SIGSTOP)
			r.leaves(status.PeerLost, others(rank)...)
			r.signal(rank, syscall.SIGCONT)
			r.leaves(status.PeerLost, rank)
			r.says(r.name(rank)+"was lost (not heard of for ", "all-reduce ", "over shots")
		})
	}
}

func TestProcessHangs(t *testing.T) {
	t.Parallel()
	r := start(t, "hang")
	r.leaves(status.PeerLost, 0, 1, 2)
	r.says(r.name(1)+"has not moved for ", "after all-reduce 100 of 4.0 kB float32 over shots",
		"2 ranks were waiting for it in all-reduce 101 of 4.0 kB float32 over shots")
}

func TestProcessPanics(t *testing.T) {
	t.Parallel()
	r := start(t, "panic")
	r.leaves(status.PeerLost, 0, 2)
	r.leaves(status.Other, 1)
	r.says("lsm: rank 1 failed after all-reduce 100 of 4.0 kB float32 over shots: panic: out of range")
}

func TestProcessLeavesAlone(t *testing.T) {
	t.Parallel()
	r := start(t, "leave")
	r.leaves(status.PeerLost, 0, 2)
	r.says(r.name(1)+"has left (disk full)", "in all-reduce 101 of 4.0 kB float32 over shots")
}

func TestProcessesDisagree(t *testing.T) {
	t.Parallel()
	for act, want := range map[string]string{
		"size":  "rank 1 called all-reduce 101 (sum of 999 float32) over shots",
		"order": "rank 1 called agreement 2 over all ranks",
	} {
		t.Run(act, func(t *testing.T) {
			t.Parallel()
			r := start(t, act)
			r.leaves(status.PeerLost, 0, 1, 2)
			r.says("lsm: ranks 0 and 1 disagree: rank 0 and 1 more called all-reduce 101 (sum of 1000 float32) over shots", want)
		})
	}
}

func TestProcessesEndAtDifferentTimes(t *testing.T) {
	t.Parallel()
	r := start(t, "end")
	r.leaves(0, 0, 1, 2)
	if r.stderr.Len() > 0 {
		t.Errorf("printed %q", r.stderr.String())
	}
}
