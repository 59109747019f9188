package gpu

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/device/accel"
)

// Choose picks the card for a process by its local rank, out of the visible cards.
// Launchers hand out cards in two ways. Some show all cards of a machine to each rank
// (Slurm's --gres=gpu:4); the ranks then take them in turn. Others show one card to each
// rank (--gpus-per-task=1), and the rank takes that one. The driver's list already
// respects CUDA_VISIBLE_DEVICES. The warning, "" for none, says that ranks must share a
// card.
func Choose(localRank, localSize, visible int) (card int, warning string) {
	if visible < 1 {
		return 0, ""
	}
	if visible > 1 && localSize > visible {
		warning = fmt.Sprintf("%d ranks on this machine share %d GPUs: each gets a part of one", localSize, visible)
	}
	return localRank % visible, warning
}

// Place identifies a card by its location, which is the same in every process that uses
// it. SharedCards compares places.
func Place(c accel.Card) string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return host + " " + c.Bus + " " + c.ID
}

// SharedCards names the ranks that share a card, given the Place of every rank's card in
// rank order. It returns "" if every rank has its own. A single rank cannot tell, since
// ranks that see one card each may all see the same one.
func SharedCards(places []string) (warning string) {
	ranks := map[string][]string{}
	for r, p := range places {
		ranks[p] = append(ranks[p], strconv.Itoa(r))
	}
	var shared []string
	for p, r := range ranks {
		if len(r) > 1 {
			host, rest, _ := strings.Cut(p, " ")
			bus, _, _ := strings.Cut(rest, " ")
			shared = append(shared, fmt.Sprintf("ranks %s share the GPU at %s of %s", strings.Join(r, ", "), bus, host))
		}
	}
	sort.Strings(shared)
	return strings.Join(shared, "; ")
}
