package pipeline

import "time"

// Speed is the speed of the machine of all ranks, for the operator of a run. Rates are per core
// while all cores work.
type Speed struct {
	Nodes, Cores int     // machines, and cores of each that the ranks may use
	Samples      float64 // of traces a second in an iteration, besides the kernels
	Triples      float64 // combinations of a trace and an image point a second, forward and adjoint together
	Points       float64 // of the model a second, with the traveltimes from one place
}

// cores is the number of cores that work for each rank. With threads = 0 the ranks of a node share its cores
// equally. The number is less than 1 if ranks share a core.
func (s *Speed) cores(ranks, threads int) float64 {
	onNode := (ranks + s.Nodes - 1) / s.Nodes // ranks of the fullest node
	if threads == 0 {
		threads = max(1, s.Cores/onNode)
	}
	return min(float64(threads), float64(s.Cores)/float64(onNode))
}

func durationOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
