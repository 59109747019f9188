package machine

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
)

// seat is what a rank tells the others about where it runs.
type seat struct {
	Host string
	CPUs []int
}

// Share finds out what this rank may take of its machine: how many threads, so
// that all ranks together keep every processor busy once, and how many ranks are
// on the machine. Ranks that a launcher bound to processors of their own take
// all of those; ranks that share some divide them. gather returns what every rank
// brought (comm.Host.AllGather).
func Share(gather func([]byte) ([][]byte, error)) (threads, ranks int, err error) {
	mine := seat{CPUs: affinity()}
	mine.Host, _ = os.Hostname() // "": all are taken to be on one machine
	text, err := json.Marshal(mine)
	if err != nil {
		return 0, 0, err
	}
	all, err := gather(text)
	if err != nil {
		return 0, 0, err
	}
	seats := make([]seat, len(all))
	for i, text := range all {
		if err := json.Unmarshal(text, &seats[i]); err != nil {
			return 0, 0, fmt.Errorf("machine: rank %d: %w", i, err)
		}
	}
	threads, ranks = share(mine, seats)
	return threads, ranks, nil
}

// share divides the processors of mine by the ranks that may use any of them.
func share(mine seat, all []seat) (threads, ranks int) {
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

// unbound lists as many processors as Go uses, where the system does not tell
// which.
func unbound() []int {
	list := make([]int, runtime.GOMAXPROCS(0))
	for i := range list {
		list[i] = i
	}
	return list
}
