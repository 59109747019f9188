package watch

import (
	"strings"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// court is a judge with a clock of its own, whose ranks tell what is set for them
// every second.
type court struct {
	*judge
	now   time.Time
	beats []beat
}

var everyone = []int{0, 1, 2, 3}

func newCourt() *court {
	c := &court{now: time.Unix(1000, 0), beats: make([]beat, len(everyone))}
	c.judge = newJudge(Options{}.withDefaults(), make([]place, len(everyone)), c.now)
	for r := range everyone {
		c.ranks[r].Host, c.ranks[r].PID = "node", 100+r
		c.beats[r] = beat{Latest: "run", Streams: []glance{
			{ID: "run", Name: "all ranks", Members: everyone},
			{ID: "run host", Name: "all ranks", Members: everyone},
			{ID: "run messages", Name: "all ranks", Members: everyone},
		}}
	}
	return c
}

// does has a rank make calls in a stream; it waits in the last one if inside.
func (c *court) does(rank, stream int, inside bool, calls ...call) {
	g := &c.beats[rank].Streams[stream]
	g.Past = append(g.Past, calls...)
	g.Started, g.Last = uint64(len(g.Past)), calls[len(calls)-1]
	g.Waits = nil
	if inside {
		g.Waits = []stay{{Seq: g.Started, Call: g.Last}}
	}
}

// after lets seconds go by, quiet ranks telling nothing, and returns the verdict.
func (c *court) after(seconds int, quiet ...int) *Verdict {
	for range seconds {
		c.now = c.now.Add(time.Second)
		for r := range c.beats {
			silent := false
			for _, q := range quiet {
				silent = silent || q == r
			}
			if silent {
				continue
			}
			c.beats[r].Still += time.Second
			for s := range c.beats[r].Streams {
				for w := range c.beats[r].Streams[s].Waits {
					c.beats[r].Streams[s].Waits[w].For += time.Second
				}
			}
			c.note(r, c.beats[r], c.now)
		}
		if v := c.look(c.now); v != nil {
			return v
		}
	}
	return nil
}

func (c *court) wants(t *testing.T, v *Verdict, parts ...string) {
	t.Helper()
	if v == nil {
		t.Fatalf("no verdict, want %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(v.Text, p) {
			t.Errorf("verdict %q, want %q in it", v.Text, p)
		}
	}
}

var (
	sum1000 = call{Kind: allReduce, Type: device.F32, Count: 1000}
	sum999  = call{Kind: allReduce, Type: device.F32, Count: 999}
	max1000 = call{Kind: allReduce, Type: device.F32, Count: 1000, Op: comm.Max}
	from1   = call{Kind: broadcast, Type: device.F64, Count: 3, Root: 1}
	from2   = call{Kind: broadcast, Type: device.F64, Count: 3, Root: 2}
	toAgree = call{Kind: agree}
)

const onDevice, onHost, asMessage = 0, 1, 2

func TestJudgeMismatch(t *testing.T) {
	for _, odd := range []call{sum999, max1000, from1, {Kind: startAllReduce, Type: device.F32, Count: 1000}} {
		c := newCourt()
		for r := range everyone {
			mine := sum1000
			if r == 2 {
				mine = odd
			}
			c.does(r, onDevice, true, from1, mine)
		}
		c.wants(t, c.after(6), "ranks 0 and 2 disagree", "rank 0 and 2 more called all-reduce 2 (sum of 1000 float32) over all ranks",
			"rank 2 called "+odd.exact(2, "all ranks"))
	}
}

// A root may leave its broadcast at once and wait in a later call. That is only a
// disagreement if the calls before were.
func TestJudgeSkew(t *testing.T) {
	c := newCourt()
	for _, r := range []int{0, 2} {
		c.does(r, onDevice, true, sum1000, from1)
	}
	c.does(1, onDevice, true, sum1000, from1, from1, sum1000)
	c.does(3, onDevice, false, sum1000)
	if v := c.after(20); v != nil {
		t.Fatalf("alarm while rank 3 computes: %v", v)
	}
	c.does(3, onDevice, true, from2)
	c.wants(t, c.after(6), "ranks 0 and 3 disagree", "rank 0 and 2 more called broadcast 2 (3 float64) from rank 1",
		"rank 3 called broadcast 2 (3 float64) from rank 2")
}

// A rank that went on after a call that the others did not make is judged by that call.
func TestJudgeMismatchPassed(t *testing.T) {
	c := newCourt()
	for _, r := range []int{0, 2, 3} {
		c.does(r, onDevice, true, sum1000, from2)
	}
	c.does(1, onDevice, true, sum1000, from1, sum1000)
	c.wants(t, c.after(6), "ranks 0 and 1 disagree", "rank 0 and 2 more called broadcast 2 (3 float64) from rank 2",
		"rank 1 called broadcast 2 (3 float64) from rank 1")
}

func TestJudgeCircle(t *testing.T) {
	c := newCourt()
	for r := range everyone {
		if r == 1 {
			c.does(r, onHost, true, toAgree)
		} else {
			c.does(r, onDevice, true, sum1000)
		}
	}
	c.wants(t, c.after(12), "ranks 0 and 1 disagree", "rank 0 and 2 more called all-reduce 1", "rank 1 called agreement 1")
}

func TestJudgeMessages(t *testing.T) {
	send := call{Kind: sendRecv, To: 1, From: comm.None, Type: device.F32, Count: 5}
	for _, d := range []struct {
		receive call
		want    string
	}{
		{call{Kind: sendRecv, To: comm.None, From: 0, RecvType: device.F32, RecvN: 4}, "4 float32 from rank 0"},
		{call{Kind: sendRecv, To: comm.None, From: 0, RecvType: device.F64, RecvN: 5}, "5 float64 from rank 0"},
		{call{Kind: sendRecv, To: 0, From: comm.None, Type: device.F32, Count: 5}, "5 float32 to rank 0"},
	} {
		c := newCourt()
		c.does(0, asMessage, true, send)
		c.does(1, asMessage, true, d.receive)
		c.wants(t, c.after(12), "ranks 0 and 1 disagree", "5 float32 to rank 1", d.want)
	}
	// One that fits is not judged, however its number, but for the time it takes.
	c := newCourt()
	c.does(0, asMessage, true, send)
	c.does(1, asMessage, true, send, call{Kind: sendRecv, To: comm.None, From: 0, RecvType: device.F32, RecvN: 5})
	if v := c.after(40); v != nil {
		t.Errorf("alarm over a slow message: %v", v)
	}
}

func TestJudgeLost(t *testing.T) {
	c := newCourt()
	for _, r := range []int{0, 1, 2} {
		c.does(r, onDevice, true, sum1000)
	}
	c.after(2)
	if v := c.after(18, 3); v != nil {
		t.Fatalf("rank 3 is given up too early: %v", v)
	}
	c.wants(t, c.after(5, 3), "rank 3 (host node, pid 103) was lost (not heard of for 2", "at all-reduce 1 of 4.0 kB float32 over all ranks",
		"3 ranks were waiting for it")

	c = newCourt()
	c.does(3, onDevice, false, sum1000)
	c.after(2)
	c.ranks[3].closed = true
	c.wants(t, c.after(3, 3), "rank 3 (host node, pid 103) was lost after all-reduce 1 of 4.0 kB")

	c.ranks[3].gone = true
	if v := c.after(60, 3); v != nil {
		t.Errorf("alarm over a rank that said goodbye: %v", v)
	}
}

func TestJudgeForgivesItsOwnSleep(t *testing.T) {
	c := newCourt()
	c.after(2)
	c.now = c.now.Add(time.Hour)
	c.restartTimeouts(c.now)
	if v := c.look(c.now); v != nil {
		t.Errorf("alarm after a sleep: %v", v)
	}
	if v := c.after(10); v != nil {
		t.Errorf("alarm after a sleep: %v", v)
	}
}

func TestJudgeUnmoved(t *testing.T) {
	c := newCourt()
	for _, r := range []int{0, 1, 3} {
		c.does(r, onDevice, true, from1, sum1000)
	}
	c.does(2, onDevice, false, from1)
	for range 100 {
		c.beats[2].Still = 0
		if v := c.after(1); v != nil {
			t.Fatalf("alarm while rank 2 works: %v", v)
		}
	}
	if v := c.after(44); v != nil {
		t.Fatalf("too early: %v", v)
	}
	c.wants(t, c.after(5), "rank 2 (host node, pid 102) has not moved for 4", "after broadcast 1 of 24 B float64 from rank 1 over all ranks",
		"3 ranks were waiting for it in all-reduce 2 of 4.0 kB float32 over all ranks")
}

func TestJudgeLeft(t *testing.T) {
	c := newCourt()
	c.ranks[1].gone, c.ranks[1].why = true, "disk full"
	if v := c.after(60, 1); v != nil {
		t.Fatalf("alarm though nobody waits: %v", v)
	}
	c.does(3, onHost, true, toAgree)
	c.wants(t, c.after(5, 1), "rank 1 (host node, pid 101) has left (disk full); 1 rank was waiting for it in agreement 1 over all ranks")
}

// A collective that all ranks are in gets the time that its size takes.
func TestJudgeEndless(t *testing.T) {
	c := newCourt()
	for r := range everyone {
		c.does(r, onDevice, true, call{Kind: allReduce, Type: device.F32, Count: 50e6})
	}
	if v := c.after(45 + 20); v != nil {
		t.Fatalf("too early: %v", v)
	}
	c.wants(t, c.after(10), "ranks 0, 1, 2 and 3 are all in all-reduce 1 of 200 MB float32 over all ranks, which did not end")
}

func TestJudgeHearsOfLaterNames(t *testing.T) {
	c := newCourt()
	c.after(1)
	for r := range everyone {
		c.beats[r].Streams[onDevice].Name = "shots"
	}
	c.does(0, onDevice, true, sum1000)
	c.does(1, onDevice, true, sum999)
	c.wants(t, c.after(6), "over shots")
}

// Ranks that all stand still will never move again, whether they wait for each other or for
// their cards. One that works may still move the others.
func TestAllIdle(t *testing.T) {
	c := newCourt()
	for r := range everyone {
		c.does(r, 0, false, call{Kind: allReduce, Count: 10, Type: device.F32})
	}
	c.wants(t, c.after(60), "no rank has moved for 47 s", "rank 0 (host node, pid 100) is after")
	c = newCourt()
	for range 120 {
		c.beats[2].Still = 0
		if v := c.after(1); v != nil {
			t.Fatalf("verdict %q", v.Text)
		}
	}
}
