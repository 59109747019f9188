package butterfly

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// typicalRank stands for that of a skeleton whose times are not known.
const typicalRank = 48

// Needs bounds the memory, in bytes on Go's heap, of the parts of p that New may take over, by where
// clusters and windows lie alone: their times are not solved. p and clusters are as for NewPart.
func Needs(p *kirchhoff.Problem, clusters *Clusters, tolerance float64) int64 {
	if clusters == nil {
		return 0
	}
	o, t := outline(p, kirchhoff.Outline(p), clusters, tolerance)
	b := &band{n: even(int((stepSeconds + 2*riseSeconds + mostSeconds) / p.DT))}
	nf := int64(math.Ceil((t.top() + 2/riseSeconds) * float64(b.n) * p.DT))
	points, nodes := int64(side*side*side), int64(mostNodes*mostNodes*mostNodes)
	var skeletons, room, solving int64
	windows := make([]int64, len(o.blocks)) // of each block
	var of [2][]int64                       // windows of each cluster
	for r, list := range o.groups {
		of[r] = make([]int64, len(list))
	}
	for _, w := range o.windows {
		var seen [2]map[int]bool
		for r := range seen {
			seen[r] = map[int]bool{}
		}
		blocks := int64(0)
		for n, at := range o.blocks {
			if len(at.traces) < leastTraces || !at.covers(p, w) {
				continue
			}
			blocks++
			windows[n]++
			for r, c := range at.of {
				if !seen[r][c] {
					seen[r][c] = true
					of[r][c]++
				}
			}
		}
		clusters := int64(len(seen[0]) + len(seen[1]))
		skeletons += clusters * (4*points + nodes*(4*typicalRank+24))
		room = max(room, clusters*(8*nf*mostPlaces*typicalRank+4*patch*patch*patch*typicalRank)+blocks*8*nf*typicalRank*typicalRank)
	}
	for _, list := range of {
		for _, n := range list {
			solving = max(solving, n*mostPlaces*8*(nodes+checks))
		}
	}
	segments := int64(float64(p.NT)*p.DT/stepSeconds) + 1
	spectra := int64(0)
	for n, at := range o.blocks {
		spectra += 8 * nf * int64(o.sources(at)*at.width) * min(windows[n], segments)
	}
	return skeletons + max(solving, spectra+int64(o.threads)*(room+4*batchFloats))
}
