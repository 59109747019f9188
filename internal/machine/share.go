package machine

import (
	"os"
	"runtime"
	"slices"
)

// Seat says where a rank runs. Ranks send it to each other.
type Seat struct {
	Host string
	CPUs []int // that it may use
}

// OwnSeat is the seat of this process.
func OwnSeat() Seat {
	host, _ := os.Hostname() // "": all are taken to be on one machine
	return Seat{host, affinity()}
}

// Share finds out how many threads the rank in one seat may start, given the seats of all ranks,
// and how many ranks are on its machine. All ranks together then keep every processor busy once.
// Ranks that a launcher bound to processors of their own take all of those. Ranks that share some
// divide them.
func Share(mine Seat, all []Seat) (threads, ranks int) {
	own := func(c int) bool { return slices.Contains(mine.CPUs, c) }
	rivals := 0
	for _, s := range all {
		if s.Host != mine.Host {
			continue
		}
		ranks++
		if slices.ContainsFunc(s.CPUs, own) {
			rivals++
		}
	}
	return max(1, len(mine.CPUs)/max(1, rivals)), ranks
}

// Nodes finds out how many machines the seats of all ranks are on, and how many processors
// the ranks on the machine of one of them may use together.
func Nodes(mine Seat, all []Seat) (nodes, processors int) {
	hosts, own := map[string]bool{}, map[int]bool{}
	for _, s := range all {
		hosts[s.Host] = true
		for _, c := range s.CPUs {
			if s.Host == mine.Host {
				own[c] = true
			}
		}
	}
	return len(hosts), len(own)
}

// unbound lists as many processors as Go uses, where the system does not tell
// which.
func unbound() []int {
	list := make([]int, runtime.GOMAXPROCS(0))
	for i := range list {
		list[i] = i
	}
	return list
}
