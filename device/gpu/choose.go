package gpu

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/device/driver"
)

// localRanks are the variables by which launchers tell a process its number
// among those on its machine, and their number; the innermost launcher first.
// sbatch gives its script a SLURM_LOCALID that mpirun's ranks inherit.
var localRanks = []struct{ rank, size string }{
	{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
	{"MPI_LOCALRANKID", "MPI_LOCALNRANKS"}, // Intel MPI, MPICH
	{"PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"},
	{"FLUX_TASK_LOCAL_ID", ""},
	{"SLURM_LOCALID", ""},
}

// LocalRank is this process's number among those of the job on this machine, as
// the launcher's environment (in the form of os.Environ) tells, and how many
// there are; size 0 means that is not told. Without a launcher it is 0 of 1.
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

// Choose picks the card for a process by its local rank, out of those that it
// sees. Launchers hand out cards in two ways: all of a machine's cards to each
// rank (Slurm's --gres=gpu:4), and then the ranks take them in turn; or one card
// to each (--gpus-per-task=1), visible as the first and only one, and then that
// is it. CUDA_VISIBLE_DEVICES is the driver's business and has been heeded in
// what it lists. The warning, "" for none, says that ranks must share a card.
func Choose(localRank, localSize, visible int) (card int, warning string) {
	if visible < 1 {
		return 0, ""
	}
	if visible > 1 && localSize > visible {
		warning = fmt.Sprintf("%d ranks on this machine share %d GPUs: each gets a part of one", localSize, visible)
	}
	return localRank % visible, warning
}

// Place says where a card is, the same in every process that uses it: for
// [SharedCards].
func Place(c driver.Card) string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return host + " " + c.Bus + " " + c.ID
}

// SharedCards names the ranks that use one card, given the Place of every rank's
// card in their order; "" if all have their own. What each rank sees alone does
// not tell: where every rank sees one card it may be the same one.
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
