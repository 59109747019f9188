package nccl_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/comm/mpi/mpitest"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

const mpiVariable = "LSM_TEST_MPI_RANKS"

// MPI gets the memory of cards on a thread whose context is theirs: the suite over an MPI that
// says it takes such memory, and refuses it on other threads.
func TestMPIWithMemoryOfCards(t *testing.T) {
	gputest.NeedEmulator(t)
	if os.Getenv(mpiVariable) == "" {
		for library, interfaceName := range map[string]string{"Open MPI": "openmpi", "MPICH": "mpich"} {
			t.Run(library, func(t *testing.T) { withMemoryOfCards(t, library, interfaceName) })
		}
		return
	}
	world, err := mpi.Open()
	must(t, err)
	defer mpi.Close()
	d, err := gpu.Open(gpu.Options{Card: world.Rank(), Cache: accel.UserCache()})
	if err != nil {
		world.Abort(1, err)
	}
	commtest.Run(t, func(_ int, body func(c comm.Comm) error) error {
		err := body(onDevice{world, d})
		if err != nil {
			world.Abort(1, err) // the others may be waiting
		}
		return err
	}, 2)
	must(t, d.Close())
}

// withMemoryOfCards starts the ranks of TestMPIWithMemoryOfCards.
func withMemoryOfCards(t *testing.T, library, interfaceName string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd, err := mpitest.Command(ctx, library, 2, os.Args[0], "-test.run=^TestMPIWithMemoryOfCards$", "-test.timeout=100s")
	if err != nil {
		t.Skipf("not run: %v", err)
	}
	log := filepath.Join(t.TempDir(), "log")
	cmd.Env = append(cmd.Env, mpiVariable+"=1", "GPUEMU_CARDS=2", "GPUEMU_MPI_LOG="+log, mpi.Variable+"="+interfaceName,
		"LD_PRELOAD="+filepath.Join(os.Getenv("GPUEMU_FOLDER"), gputest.MPI))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("2 ranks: %v\n%s", err, out)
	}
	said, _ := os.ReadFile(log) // none: no call got memory of a card
	for _, call := range []string{"MPI_Allreduce", "MPI_Bcast", "MPI_Allgatherv", "MPI_Sendrecv"} {
		if !strings.Contains(string(said), call+"\n") {
			t.Errorf("%s got no memory of a card", call)
		}
	}
}

// The suite on ranks that are processes, with MPI as the control.
func TestConformanceOverMPI(t *testing.T) {
	gputest.NeedEmulator(t)
	const n = 3
	if os.Getenv(mpiVariable) == "" {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		cmd, err := mpitest.Command(ctx, mpi.About(), n, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=100s")
		if err != nil {
			t.Skipf("not run: %v", err)
		}
		cmd.Env = append(cmd.Env, mpiVariable+"=1", fmt.Sprintf("GPUEMU_CARDS=%d", n))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%d ranks of %s: %v\n%s", n, mpi.About(), err, out)
		}
		return
	}
	control, err := mpi.Open()
	must(t, err)
	defer mpi.Close()
	d, err := gpu.Open(gpu.Options{Card: control.Rank(), Cache: accel.UserCache()})
	must(t, err)
	g, err := nccl.New(control, d, nccl.Options{})
	if err != nil {
		control.Abort(1, err)
	}
	commtest.Run(t, func(_ int, body func(c comm.Comm) error) error {
		err := body(onDevice{g, d})
		if err != nil {
			g.Abort(1, err) // the others may be waiting
		}
		return err
	}, n)
	must(t, g.Close())
	must(t, d.Close())
}
