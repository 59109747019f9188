package mpi

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/mpi/mpitest"
)

// Tests come twice: as started by go test, which starts this very program under
// the launcher, and as one of the ranks there.
const (
	rankVariable   = "LSM_TEST_MPI_RANKS"
	limitVariable  = "LSM_TEST_MPI_LIMIT"      // in place of the variable limit
	placesVariable = "LSM_TEST_MPI_PROCESSORS" // in place of the variable processors
)

// whole is the communicator of this process, where it is one of the ranks.
var whole comm.Comm

func TestMain(m *testing.M) {
	if os.Getenv(rankVariable) == "" {
		os.Exit(m.Run())
	}
	fmt.Sscan(os.Getenv(limitVariable), &limit)
	fmt.Sscan(os.Getenv(placesVariable), &processors)
	c, err := Open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	whole = c
	code := m.Run()
	if code != 0 {
		c.Abort(code, fmt.Errorf("tests failed"))
	}
	Close()
	os.Exit(code)
}

// asRanks reports whether this process is to do the test: it is where it is one
// of the ranks. Elsewhere asRanks starts them and judges what they did.
func asRanks(t *testing.T, ranks int, env ...string) bool {
	t.Helper()
	if whole != nil {
		return true
	}
	out, err := run(t, ranks, env...)
	if err != nil {
		t.Fatalf("%d ranks of %s: %v\n%s", ranks, About(), err, out)
	}
	return false
}

// run runs this test as so many ranks.
func run(t *testing.T, ranks int, env ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd, err := mpitest.Command(ctx, About(), ranks, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=100s")
	if err != nil {
		t.Skipf("not run: %v", err)
	}
	cmd.Env = append(append(cmd.Env, fmt.Sprintf("%s=%d", rankVariable, ranks)), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// processes is the World of the suite over the ranks there are. A rank that
// failed ends all, since the others may be waiting for it.
func processes(_ int, body func(c comm.Comm) error) error {
	err := body(whole)
	if err != nil {
		whole.Abort(1, err)
	}
	return err
}

func TestConformance(t *testing.T) {
	if whole != nil {
		ranks := 0
		fmt.Sscan(os.Getenv(rankVariable), &ranks)
		commtest.Run(t, processes, ranks)
		return
	}
	for ranks := 1; ranks <= 5; ranks++ {
		asRanks(t, ranks)
	}
	// And as buffers too long for one call of MPI go.
	asRanks(t, 3, limitVariable+"=12007")
	// And on a machine with fewer processors than ranks, whatever this one has.
	asRanks(t, 2, placesVariable+"=1")
	// And with Open MPI's windows by messages, as between machines.
	asRanks(t, 3, "OMPI_MCA_osc=pt2pt")
}
