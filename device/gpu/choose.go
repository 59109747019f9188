package gpu

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/device/driver"
)

// localRanks lists the variables in which launchers give a process its number among those
// on its machine, and their count, the innermost launcher first. sbatch gives its script
// a SLURM_LOCALID that mpirun's ranks inherit.
var localRanks = []struct{ rank, size string }{
	{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
	{"MPI_LOCALRANKID", "MPI_LOCALNRANKS"}, // Intel MPI, MPICH
	{"PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"},
	{"FLUX_TASK_LOCAL_ID", ""},
	{"SLURM_LOCALID", ""},
}

// LocalRank returns this process's number among those of the job on this machine,
// according to the launcher's environment (in the form of os.Environ), and their count.
// size 0 means that the count is unknown. Without a launcher it returns 0 of 1.
func LocalRank(environ []string) (rank, size int) {
	values := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	for _, v := range localRanks {
		r, err := strconv.Atoi(values[v.rank])
		if err != nil || r < 0 {
			continue
		}
		size, _ := strconv.Atoi(values[v.size]) // 0 where it is not told
		if size <= r {
			size = 0
		}
		return r, size
	}
	return 0, 1
}

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
func Place(c driver.Card) string {
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
