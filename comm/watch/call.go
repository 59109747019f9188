package watch

import (
	"fmt"
	"hash/fnv"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

type kind uint8

const (
	split kind = iota + 1
	allReduce
	startAllReduce
	accumulate
	broadcast
	allGather
	sendRecv
	agree
)

func (k kind) String() string {
	return [...]string{"no collective", "split", "all-reduce", "started all-reduce", "one-sided sum",
		"broadcast", "all-gather", "send-receive", "agreement"}[k]
}

// call is a collective as one rank called it. Calls with the same number must be equal on
// all ranks, so fields that may differ are left at zero. Only send-receives differ
// between ranks.
type call struct {
	Kind   kind        `json:"k"`
	Type   device.Type `json:"t,omitempty"` // 0: bytes of a length that each rank chooses
	Count  int         `json:"n,omitempty"` // elements
	Op     comm.Op     `json:"o,omitempty"`
	Root   int         `json:"r,omitempty"` // of the whole run's ranks
	Counts uint32      `json:"c,omitempty"` // a hash of the ranks' counts

	// For a send-receive: what goes to rank To, and what comes from rank From.
	To       int         `json:"st,omitempty"`
	From     int         `json:"sf,omitempty"`
	RecvType device.Type `json:"rt,omitempty"`
	RecvN    int         `json:"rn,omitempty"`
}

// meets reports whether the send-receive a of rank me and the call b of its peer are the
// two ends of one message.
func (a call) meets(me int, b call, peer int) bool {
	return b.Kind == sendRecv && (a.reaches(me, b, peer) || b.reaches(peer, a, me))
}

// reaches reports whether rank me sends what its peer waits for.
func (a call) reaches(me int, b call, peer int) bool {
	return a.To == peer && b.From == me && a.Type == b.RecvType && a.Count == b.RecvN
}

func (a call) bytes() int {
	if a.Type == 0 {
		return 0
	}
	return a.Count * a.Type.Size()
}

// named formats the call with its number within the group's calls and what it moves.
func (a call) named(seq uint64, what, group string) string {
	s := fmt.Sprintf("%v %d%s", a.Kind, seq, what)
	if a.Kind == broadcast {
		s += fmt.Sprintf(" from rank %d", a.Root)
	}
	return s + " over " + group
}

// brief is the call for a message.
func (a call) brief(seq uint64, group string) string {
	what := ""
	if a.Type != 0 {
		what = fmt.Sprintf(" of %s %v", humanize.Bytes(uint64(a.bytes())), a.Type)
	}
	return a.named(seq, what, group)
}

// exact formats the call with everything that ranks can disagree about.
func (a call) exact(seq uint64, group string) string {
	what := ""
	switch {
	case a.Kind == allReduce || a.Kind == startAllReduce:
		what = fmt.Sprintf(" (%v of %d %v)", a.Op, a.Count, a.Type)
	case a.Kind == sendRecv:
		what = " (" + a.parcel("to", a.To, a.Type, a.Count) + ", " + a.parcel("from", a.From, a.RecvType, a.RecvN) + ")"
	case a.Type != 0:
		what = fmt.Sprintf(" (%d %v)", a.Count, a.Type)
	}
	return a.named(seq, what, group)
}

func (call) parcel(way string, rank int, t device.Type, n int) string {
	if rank == comm.None {
		return "nothing " + way + " any"
	}
	return fmt.Sprintf("%d %v %s rank %d", n, t, way, rank)
}

func hashOf(counts []int) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, counts)
	return h.Sum32()
}
