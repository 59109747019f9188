package provenance

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Epoch is the time of SOURCE_DATE_EPOCH, whole seconds since 1970
// (https://reproducible-builds.org/specs/source-date-epoch): files then hold no other
// time. set reports whether the variable is there.
func Epoch() (t time.Time, set bool, err error) {
	const name = "SOURCE_DATE_EPOCH"
	text, set := os.LookupEnv(name)
	if !set || text == "" {
		return time.Time{}, false, nil
	}
	// The last second of the year 9999, beyond which RFC 3339 has no times.
	const most = 253402300799
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 || seconds > most {
		return time.Time{}, true, fmt.Errorf("%s is %q, want whole seconds since 1970, 0 to %d", name, text, most)
	}
	return time.Unix(seconds, 0).UTC(), true, nil
}

// Timeless makes the record one of what the file's bits depend on, for a run under
// [Epoch]: without the number of threads, and where the bits are the same on any ranks
// without their number and what they talked by. Without an epoch it does nothing.
func (r *Record) Timeless(anyRanks bool) {
	if _, set, _ := Epoch(); !set {
		return
	}
	r.Threads = 0
	if anyRanks {
		r.Ranks, r.Communicator, r.MPI = 0, "", ""
	}
}
