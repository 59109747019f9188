package watch

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

var errLibrary = errors.New("the library's error")

// stalling is a communicator that can be told to hang, as a library does that
// waits for a lost rank, until it is released, with an error.
type stalling struct {
	comm.Comm
	hangs   atomic.Bool
	release chan struct{}
}

func (s *stalling) hang() error {
	<-s.release
	return status.Peer(errLibrary)
}

func (s *stalling) AllReduce(x device.Buf) error {
	if s.hangs.Load() {
		return s.hang()
	}
	return s.Comm.AllReduce(x)
}

func (s *stalling) StartAllReduce(x device.Buf) (comm.Request, error) { return s, nil }
func (s *stalling) Wait() error                                       { return s.hang() }
func (s *stalling) Host() comm.Host                                   { return stallingHost{s.Comm.Host(), s} }

type stallingHost struct {
	comm.Host
	s *stalling
}

func (h stallingHost) Agree(flags uint64) (uint64, error) {
	if h.s.hangs.Load() {
		return 0, h.s.hang()
	}
	return h.Host.Agree(flags)
}

// trial is what became of a run.
type trial struct {
	verdicts []*Verdict // by rank
	said     []int      // how often each rank printed one
	errs     []error    // of the collective
}

// try runs body on ranks that hang in their collectives until all of them have
// the verdict.
func try(t *testing.T, ranks int, body func(c comm.Comm, w *Watch) error) trial {
	t.Helper()
	out := trial{make([]*Verdict, ranks), make([]int, ranks), make([]error, ranks)}
	release := make(chan struct{})
	var failed sync.WaitGroup
	failed.Add(ranks)
	go func() {
		failed.Wait()
		close(release)
	}()
	err := commtest.Ranks(ranks, func(c comm.Comm) error {
		s := &stalling{Comm: c, release: release}
		o := Options{Beat: 40 * time.Millisecond, Settle: 160 * time.Millisecond, Say: func(v *Verdict) { out.said[c.Rank()]++ }}
		o.Fail = func(v *Verdict) {
			if out.verdicts[c.Rank()] != nil {
				t.Errorf("rank %d: a second verdict: %v", c.Rank(), v)
			}
			out.verdicts[c.Rank()] = v
			failed.Done()
		}
		g, w, err := Guard(s, o)
		if err != nil {
			return err
		}
		Name(g, "shots")
		if err := g.AllReduce(floats(100)); err != nil {
			return err
		}
		s.hangs.Store(true)
		out.errs[c.Rank()] = body(g, w)
		<-w.decided
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func floats(n int) device.Buf { return device.Wrap(device.NewHost(1), make([]float32, n)) }

// wants asserts that all ranks got one verdict, that one of them prints it, and
// that it has these parts.
func (r trial) wants(t *testing.T, speaker int, parts ...string) {
	t.Helper()
	for rank, v := range r.verdicts {
		if v == nil {
			t.Fatalf("rank %d: no verdict", rank)
		}
		if v.Speak != (rank == speaker) {
			t.Errorf("rank %d speaks: %v, the speaker is %d", rank, v.Speak, speaker)
		}
		if (r.said[rank] > 0) != (rank == speaker) || r.said[rank] > 1 {
			t.Errorf("rank %d spoke %d times, the speaker is %d", rank, r.said[rank], speaker)
		}
		if v.Text != r.verdicts[0].Text {
			t.Errorf("rank %d: %q, rank 0: %q", rank, v.Text, r.verdicts[0].Text)
		}
		for _, p := range parts {
			if !strings.Contains(v.Text, p) {
				t.Errorf("rank %d: %q, want %q in it", rank, v.Text, p)
			}
		}
	}
}

func TestRanksDisagreeOnTheSize(t *testing.T) {
	r := try(t, 3, func(c comm.Comm, w *Watch) error {
		n := 1000
		if c.Rank() == 1 {
			n = 1001
		}
		return c.AllReduce(floats(n))
	})
	r.wants(t, 0, "ranks 0 and 1 disagree", "all-reduce 2 (sum of 1000 float32) over shots", "all-reduce 2 (sum of 1001 float32) over shots")
	for rank, err := range r.errs {
		if !errors.Is(err, errLibrary) || status.Code(err) != status.PeerLost || !strings.Contains(err.Error(), "disagree") {
			t.Errorf("rank %d: error %v, want the library's with the verdict", rank, err)
		}
	}
}

func TestRanksDisagreeOnTheCollective(t *testing.T) {
	try(t, 3, func(c comm.Comm, w *Watch) error {
		if c.Rank() == 2 {
			_, err := c.Host().Agree(0)
			return err
		}
		return c.AllReduce(floats(10))
	}).wants(t, 0, "ranks 0 and 2 disagree", "rank 2 called agreement 2 over shots")
}

func TestRanksDisagreeWhileOneIsUnderWay(t *testing.T) {
	try(t, 2, func(c comm.Comm, w *Watch) error {
		r, err := c.StartAllReduce(floats(10 + c.Rank()))
		if err != nil {
			return err
		}
		return r.Wait()
	}).wants(t, 0, "ranks 0 and 1 disagree", "started all-reduce 2 (sum of 10 float32)", "started all-reduce 2 (sum of 11 float32)")
}

func TestRankLeaves(t *testing.T) {
	try(t, 3, func(c comm.Comm, w *Watch) error {
		if c.Rank() == 1 {
			w.Close(errors.New("disk full"))
			return nil
		}
		return c.AllReduce(floats(10))
	}).wants(t, 0, "rank 1 (host", "has left (disk full); 2 ranks were waiting for it in all-reduce 2 of 40 B float32 over shots")
}

func TestRankZeroLeaves(t *testing.T) {
	try(t, 3, func(c comm.Comm, w *Watch) error {
		if c.Rank() == 0 {
			w.Close(errors.New("disk full"))
			return nil
		}
		return c.AllReduce(floats(10))
	}).wants(t, 0, "rank 0 (host", "has left (disk full)")
}

func TestRankIsLost(t *testing.T) {
	r := try(t, 3, func(c comm.Comm, w *Watch) error {
		if c.Rank() == 2 {
			w.decide(Verdict{Speaker: 0}) // this process is dead
			return nil
		}
		return c.AllReduce(floats(10))
	})
	r.verdicts = r.verdicts[:2]
	r.wants(t, 0, "rank 2 (host", "was lost at all-reduce 2 of 40 B float32 over shots; 2 ranks were waiting for it")
}

func TestRankPanics(t *testing.T) {
	for _, bad := range []int{0, 2} {
		r := try(t, 3, func(c comm.Comm, w *Watch) error {
			if c.Rank() == bad {
				go func() {
					defer w.Recover()
					panic("index out of range")
				}()
				return nil
			}
			return c.AllReduce(floats(10))
		})
		r.wants(t, bad, fmt.Sprintf("rank %d failed after all-reduce 1 of 400 B float32 over shots: panic: index out of range", bad))
		for rank, v := range r.verdicts {
			want := status.PeerLost
			if rank == bad {
				want = status.Other
			}
			if v.Code != want || strings.Contains(v.Detail, "ranks_test.go") != (rank == bad) {
				t.Errorf("rank %d: status %d, want %d; stack:\n%s", rank, v.Code, want, v.Detail)
			}
		}
	}
}

func TestAbortTellsAll(t *testing.T) {
	r := try(t, 3, func(c comm.Comm, w *Watch) error {
		if c.Rank() == 1 {
			c.Abort(status.NotNumerical, errors.New("not a number"))
			return nil
		}
		return c.AllReduce(floats(10))
	})
	r.wants(t, 1, "rank 1 gave up after all-reduce 1", "not a number")
	for rank, v := range r.verdicts {
		if v.Code != status.NotNumerical {
			t.Errorf("rank %d: status %d, want %d", rank, v.Code, status.NotNumerical)
		}
	}
}

func TestSplitIsGuarded(t *testing.T) {
	err := commtest.Ranks(4, func(c comm.Comm) error {
		g, w, err := Guard(c, Options{Fail: func(v *Verdict) { t.Errorf("alarm: %v", v) }})
		if err != nil {
			return err
		}
		part, err := g.Split(c.Rank()%2, -c.Rank())
		if err != nil {
			return err
		}
		of, ok := part.(interface{ world(int) int })
		if !ok {
			return fmt.Errorf("part is a %T", part)
		}
		if first, second := of.world(0), of.world(1); first != 2+c.Rank()%2 || second != c.Rank()%2 {
			return fmt.Errorf("members are %d and %d", first, second)
		}
		alone, err := part.Split(c.Rank(), 0)
		if err != nil {
			return err
		}
		if _, ok := alone.(*guarded); ok {
			return fmt.Errorf("a group of one rank is guarded")
		}
		w.Close(nil)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Ranks that cannot connect all get the same error, and no alarm.
func TestGuardWithoutAWay(t *testing.T) {
	var texts [3]string
	err := commtest.Ranks(3, func(c comm.Comm) error {
		o := Options{Join: 300 * time.Millisecond, Fail: func(v *Verdict) { t.Errorf("alarm: %v", v) }}
		g, w, err := Guard(deaf{c}, o)
		if err == nil || g != comm.Comm(deaf{c}) {
			return fmt.Errorf("guard gave %v, %v", g, err)
		}
		texts[c.Rank()] = err.Error()
		w.Close(nil)
		_, err = g.Host().Agree(0)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if texts[0] != texts[1] || texts[0] != texts[2] || !strings.Contains(texts[0], "rank") {
		t.Errorf("errors are %q", texts)
	}
}

// deaf spoils what rank 0 says first, its address.
type deaf struct{ comm.Comm }

func (d deaf) Host() comm.Host { return deafHost{d.Comm.Host()} }

type deafHost struct{ comm.Host }

func (h deafHost) AllGather(x []byte) ([][]byte, error) {
	all, err := h.Host.AllGather(x)
	if err == nil {
		all[0] = []byte(strings.Replace(string(all[0]), `"token":"`, `"token":"0`, 1))
	}
	return all, err
}
