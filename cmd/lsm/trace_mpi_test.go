package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// lanesOf are the lanes of a trace with the names of their work: "rank: lane: name".
func lanesOf(t *testing.T, path string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		TraceEvents []struct {
			Name, Ph string
			PID, TID int
			Args     map[string]any
		}
	}
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	lanes, found := map[int]any{}, map[string]int{}
	for _, e := range f.TraceEvents {
		switch {
		case e.Ph == "M" && e.Name == "thread_name":
			lanes[e.TID] = e.Args["name"]
		case e.Ph == "X":
			found[fmt.Sprintf("%d: %s: %s", e.PID, lanes[e.TID], e.Name)]++
		}
	}
	return found
}

// A trace shows sums in flight: those by MPI as the host sees them, those by NCCL by the
// card's clock, beside kernels. Without a trace the image has the same bits.
func TestTraceOfSums(t *testing.T) {
	gputest.Cards(t, 2)
	folder := smallCase(t)
	in := func(name string) string { return filepath.Join(folder, name) }
	for engine, c := range map[string]struct{ backend, want string }{
		"cpu": {"mpi",
			"sections: forward, sections: adjoint, sections: dots, sections: all-reduce, sections: wait for sums, sums in flight: all-reduce"},
		"cuda": {"nccl",
			"sections: forward, sections: adjoint, sections: dots, sections: wait for sums, " +
				"GPU: tables, GPU: forward, GPU: adjoint, GPU: dots, GPU: vectors, GPU: copies, GPU: wait for sums, GPU sums: all-reduce"},
	} {
		args := []string{"run", in("config.toml"), "--force", "--set", "solver.iterations=2", "--set", "comm.overlap=on",
			"--set", "solver.reproducible=ranks", "--set", "kirchhoff.engine=" + engine, "--set", "comm.backend=" + c.backend,
			"--set", "image.origin=0,0", "--set", "image.spacing=50,50", "--set", "image.shape=40,20"}
		traced := onRanks(t, folder, 2, append(args, "--set", "output.file="+in("traced.h5"), "--trace", in("trace.json"))...)
		quiet := onRanks(t, folder, 2, append(args, "--set", "output.file="+in("quiet.h5"), "--quiet")...)
		for _, l := range []*launched{traced, quiet} {
			if code := l.code(t); code != status.Done {
				t.Fatalf("%s: status %d\n%s%s", engine, code, &l.out, &l.errs)
			}
		}
		sameImage(t, engine, imageOf(t, in("traced.h5")), imageOf(t, in("quiet.h5")))
		found := lanesOf(t, in("trace.json"))
		for _, work := range strings.Split(c.want, ", ") {
			for rank := range 2 {
				if key := fmt.Sprintf("%d: %s", rank, work); found[key] == 0 {
					t.Errorf("%s: no span %q among %v", engine, key, found)
				}
			}
		}
	}
}
