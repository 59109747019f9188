package progress

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// Account is one rank's report about its part of a run at its end.
type Account struct {
	Host     string        `json:"host"`
	Took     time.Duration `json:"took"` // since New
	Sections Node          `json:"sections"`
	Beside   Node          `json:"beside"`          // lanes, and the work on each
	Trace    *Trace        `json:"trace,omitempty"` // nil without KeepTrace

	// For the caller to fill in, in bytes; 0 is not known.
	PeakMemory int64 `json:"peak_memory"`
	Predicted  int64 `json:"predicted"`
}

// Account is the account of this rank so far. It can be kept; it does not
// change any more. Work under way ends here in its trace.
func (r *Reporter) Account() (a Account) {
	host, _ := os.Hostname() // unknown: left out
	r.mu.Lock()
	text, err := json.Marshal(Account{Host: host, Took: r.opt.Now().Sub(r.clock.begin),
		Sections: r.clock.root, Beside: r.clock.beside, Trace: r.clock.trace})
	r.mu.Unlock()
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		panic(fmt.Sprintf("progress: %v", err)) // texts and numbers go through JSON
	}
	if a.Trace == nil {
		return a
	}
	for i := range a.Trace.Spans {
		if s := &a.Trace.Spans[i]; s[3] < 0 {
			s[3] = int64(a.Took) - s[2]
		}
	}
	return a
}

// Closing prints the closing table of a run on len(all) ranks in LAMMPS's shape: for each
// section the least, mean and greatest time over the ranks and its share of the total, so
// that an imbalance shows at a glance. On several ranks it also names the slowest. A
// section inside another stands indented below it and is not counted there, so that the
// shares add up. The row "other" is the time outside all sections. Then it prints how
// much memory the run took, and warns of spans that its trace lacks.
func (r *Reporter) Closing(all []Account) {
	roots, beside := make([]*Node, len(all)), make([]*Node, len(all))
	total := make([]float64, len(all))
	for rank := range all {
		roots[rank], beside[rank], total[rank] = &all[rank].Sections, &all[rank].Beside, all[rank].Took.Seconds()
	}
	r.table("section", "timing", withRest(merge(nil, roots), total), total)
	// Work beside the sections: its times overlap with theirs, and with each other if one
	// lies inside another.
	if work := merge(nil, beside); len(work) > 0 {
		r.table("beside", "beside", work, total)
	}
	r.memory(all)
	r.warnDropped(all)
}

// memory prints the most memory that any rank took, next to the prediction for that rank.
func (r *Reporter) memory(all []Account) {
	var taken, predicted []int64
	for _, a := range all {
		taken = append(taken, a.PeakMemory)
		predicted = append(predicted, a.Predicted)
	}
	most := slices.Max(taken)
	if most == 0 {
		return
	}
	rank := slices.Index(taken, most)
	r.say("memory: "+MemoryText(most, predicted[rank], rank, len(all)),
		"memory", "max", most, "rank", rank, "predicted", predicted[rank], "bytes", taken, "predicted_bytes", predicted)
}

// MemoryText is the most memory, in bytes, that any of the ranks took and the prediction
// for it, 0 for none, in words.
func MemoryText(most, predicted int64, rank, ranks int) string {
	text := readable.Bytes(most) + " at most"
	if ranks > 1 {
		text += fmt.Sprintf(" (rank %d)", rank)
	}
	if predicted > 0 {
		text += fmt.Sprintf(", %s predicted", readable.Bytes(predicted))
	}
	return text
}
