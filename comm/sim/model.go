// Package sim plays the ranks of a run in virtual time. Each rank is a goroutine with a clock
// of its own, and a communicator whose collectives take as long as a model of the machine
// says. A program that talks through package comm is thus played on thousands of ranks within
// one process: what it sends and waits for is its own, only the seconds are the model's.
//
// Times follow from what each rank does, never from the scheduler, so they are the same in
// every run. Values are real: sums, messages and host values arrive as over any communicator.
// On a device.Counter there are none, and only lengths and times are left.
package sim

import "math/bits"

// Model is a machine as its messages see it.
type Model struct {
	OnNode          int  // ranks of each node, which are neighbours; 0: all
	Within, Between Link // of ranks on one node, of ranks on several
	// SwitchNodes is how many nodes a switch joins, and likewise how many switches a switch of
	// the next level; 0: one switch joins all. A message takes Switch seconds, each way, for
	// every level above the first.
	SwitchNodes int
	Switch      float64
	// Cores is how many cores a rank computes with, 0 for one.
	Cores float64
	// AtOnce is how many ranks of a node can compute at once each as fast as one alone; 0: all.
	// When more compute, they share the node's cores equally. Ranks that wait leave theirs.
	AtOnce float64
}

// Link is what carries messages between ranks.
type Link struct {
	Bytes   float64 `toml:"bytes_per_second"` // that each rank sends, and receives, while all do
	Latency float64 `toml:"latency"`          // s, of a message
	// Started is Bytes in sums that are begun without waiting; 0: the same.
	Started float64 `toml:"started_bytes_per_second"`
	// Core is the share of the time of such a sum in which it takes one core from what the
	// rank computes meanwhile.
	Core float64 `toml:"core_share"`
}

// AllReduce is the time, in s, of a sum of so many bytes over p ranks by Rabenseifner's
// algorithm, a reduce-scatter followed by an all-gather: see Rounds and Sent. The time of the
// additions counts as part of the bandwidth. See Thakur, Rabenseifner and Gropp (2005),
// Optimization of collective communication operations in MPICH, Int. J. High Perform. Comput.
// Appl. 19, 49–66.
func (l Link) AllReduce(bytes, p int) float64 {
	return float64(Rounds(p))*l.Latency + Sent(bytes, p)/l.Bytes
}

// Rounds is how many messages a rank sends in a sum over p ranks, one after the other.
func Rounds(p int) int { return 2 * bits.Len(uint(p-1)) }

// Sent is how many bytes a rank sends in a sum of so many bytes over p ranks.
func Sent(bytes, p int) float64 { return 2 * float64(p-1) / float64(p) * float64(bytes) }

// node is the node of a rank.
func (m *Model) node(rank int) int {
	return rank / m.OnNode
}

// link is what carries messages between two ranks, and what the switches add to its latency,
// in s.
func (m *Model) link(a, b int) (l Link, switches float64) {
	x, y := m.node(a), m.node(b)
	if x == y {
		return m.Within, 0
	}
	if m.SwitchNodes > 1 {
		for x, y = x/m.SwitchNodes, y/m.SwitchNodes; x != y; x, y = x/m.SwitchNodes, y/m.SwitchNodes {
			switches += 2 * m.Switch
		}
	}
	return m.Between, switches
}

// message is the time, in s, of one message of so many bytes between two ranks.
func (m *Model) message(a, b, bytes int) float64 {
	l, switches := m.link(a, b)
	return switches + l.Latency + cost(float64(bytes), l)
}

// cost is the time of bytes that a rank sends over a link, in s.
func cost(bytes float64, l Link) float64 {
	if bytes == 0 {
		return 0
	}
	return bytes / l.Bytes
}

// among is what carries the collectives of some ranks: one link for all of them, that between
// nodes unless one node has all, and what the switches add to a message of each rank to ranks
// 1, 2, 4, … places on.
func (m *Model) among(ranks []int) (l Link, switches float64) {
	l = m.Within
	for _, r := range ranks {
		if m.node(r) != m.node(ranks[0]) {
			l = m.Between
		}
	}
	for d := 1; d < len(ranks); d *= 2 {
		_, far := m.link(ranks[0], ranks[d])
		switches += far
	}
	return l, switches
}

// started is the link of sums that are begun without waiting.
func (l Link) started() Link {
	if l.Started > 0 {
		l.Bytes = l.Started
	}
	return l
}

// held is the share of the time of a sum over a link that a rank cannot compute in.
func (m *Model) held(l Link) float64 { return min(1, l.Core/max(1, m.Cores)) }

// part is the part of its cores that each of so many ranks of a node has while all compute.
func (m *Model) part(ranks int) float64 {
	if m.AtOnce == 0 {
		return 1
	}
	return min(1, m.AtOnce/float64(ranks))
}
