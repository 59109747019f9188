package butterfly

import (
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// typicalRank stands for that of a skeleton whose times are not known.
const typicalRank = 64

// waysBytes are those of the ways of a place in the boxes of a window.
const waysBytes = 8 * 72

// Needs bounds the memory, in bytes, of the parts of p that New may take over, by where
// clusters and windows lie alone: their times are not solved. p and clusters are as for NewPart.
func Needs(p *kirchhoff.Problem, clusters *Clusters, tolerance float64) int64 {
	if clusters == nil || clusters.None() {
		return 0
	}
	o, t := outline(p, kirchhoff.Outline(p), clusters, tolerance)
	b := &band{dt: p.DT, nt: p.NT}
	if !b.cut(t, int((stepSeconds+mostSeconds)/p.DT)+4, tolerance) {
		return 0
	}
	nf := int64(b.nf)
	points, nodes := int64(side*side*side), int64(mostNodes*mostNodes*mostNodes)
	var skeletons, room, solving, gathering, turns int64 // turns: rays
	across, ways := int64(0), int64(0)                   // nodes of rays; bytes of the ways of a place in a window
	if solving = int64(o.threads) * kirchhoff.RaysBytes(p); solving > 0 {
		ways = waysBytes
	}
	if p.Dynamic {
		across = mostRays * mostRays * mostRays
	}
	windows := make([]int64, len(o.blocks)) // of each block
	of := make([]int64, len(o.groups))      // windows of each cluster
	var own, held int64                     // skeletons of parts with weights; what is held for one at a time
	var beams, turn int64                   // of a part; of a block's traces
	for _, list := range o.pairs {
		seen := map[[2]int]bool{} // sides of clusters
		blocks := int64(0)
		for _, pair := range list {
			at := pair.block
			blocks++
			windows[pair.number]++
			beams = max(beams, 8*nf*int64(o.rows(at))*typicalRank)
			turn = max(turn, 4*int64((p.NT+b.n)*at.width+(lanes+1)*p.NT))
			if !pair.full {
				fine := int64(pair.nodes[0] * pair.nodes[1] * pair.nodes[2])
				own += 4 * typicalRank * (fine + across + int64(at.width))
				held = max(held, 4*typicalRank*max(int64(at.width), patchLen)+8*wavesFloats)
			}
			if o.weighs(&pair) {
				held = max(held, 4*typicalRank*int64(weighing(o.rows(at), at.width)))
			}
			for s, c := range at.of {
				if key := [2]int{s, c}; !seen[key] {
					seen[key] = true
					of[c]++
				}
			}
		}
		clusters, waves := int64(len(seen)), int64(0)
		for key := range seen {
			waves += int64(padded(len(o.groups[key[1]].places)))
		}
		skeletons += clusters * (4*points + nodes*(4*typicalRank+24) + 4*across*typicalRank)
		room = max(room, 4*(2*nf+1)*waves*typicalRank+clusters*4*patchLen*typicalRank+blocks*8*nf*typicalRank*typicalRank)
	}
	for c, n := range of {
		places := n * int64(len(o.groups[c].places))
		gathering = max(gathering, places*(8*(nodes+checks)+80+ways))
		turns += 4*known*across*places + n*ways
	}
	segments := int64(float64(p.NT)*p.DT/stepSeconds) + 1
	spectra := int64(0)
	for n, at := range o.blocks {
		spectra += 8 * nf * int64(o.rows(at)*at.width) * min(windows[n], segments)
	}
	return 4*int64(len(o.groups)*len(o.groups)) + skeletons + own + turns + max(solving+gathering, spectra+int64(o.threads)*max(turn, room+beams+held+4*batchFloats+4*patchLen))
}
