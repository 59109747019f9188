package pipeline

import "time"

// Speed is that of the machine of all ranks, for the operator of a run. Rates are those of one core
// while all cores work.
type Speed struct {
	Nodes, Cores int     // machines, and cores of each that the ranks may use
	Samples      float64 // of traces a second in an iteration, besides the kernels
	Triples      float64 // combinations of a trace and an image point a second, forward and adjoint together
	Points       float64 // of the model a second, with the traveltimes from one place
}

// cores is how many cores work for each of so many ranks that have so many threads, 0 for as many as
// there are cores for. It is less than 1 where ranks share cores.
func (s *Speed) cores(ranks, threads int) float64 {
	onNode := (ranks + s.Nodes - 1) / s.Nodes // ranks of the fullest node
	if threads == 0 {
		threads = max(1, s.Cores/onNode)
	}
	return min(float64(threads), float64(s.Cores)/float64(onNode))
}

func durationOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
