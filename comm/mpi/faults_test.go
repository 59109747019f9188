package mpi

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func floats(x ...float32) device.Buf { return device.Wrap(device.NewHost(1), x) }

// Libraries come with handlers for faults; a fault of Go must stay a panic that
// can be recovered from.
func TestFaultsStayPanics(t *testing.T) {
	if !asRanks(t, 1) {
		return
	}
	defer func() {
		err, _ := recover().(error)
		if err == nil || !strings.Contains(err.Error(), "nil pointer") {
			t.Errorf("recovered %v, want a nil pointer dereference", err)
		}
	}()
	var nobody *group
	t.Log(nobody.size)
}

// A rank that gives up takes along those that wait for it.
func TestAbort(t *testing.T) {
	const code, why = 6, "the disk is full"
	if whole != nil {
		if whole.Rank() == 1 {
			go whole.Abort(code, errors.New(why))
			whole.Abort(code, errors.New(why))
		}
		_, err := whole.Host().Agree(0)
		t.Errorf("past the barrier: %v", err)
		return
	}
	out, err := run(t, 3)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code {
		t.Errorf("the launcher ended with %v, want exit status %d", err, code)
	}
	if n := strings.Count(out, "lsm: rank 1: "+why+"\n"); n != 1 || strings.Contains(out, "past the barrier") {
		t.Errorf("the reason is given %d times:\n%s", n, out)
	}
}

// What MPI finds wrong is an error that says where, and not the end of the run.
func TestErrorsOfMPI(t *testing.T) {
	if !asRanks(t, 2) {
		return
	}
	other := 1 - whole.Rank()
	recv := floats(0)
	err := whole.SendRecv(floats(1, 2, 3), other, recv, other)
	want := fmt.Sprintf("mpi: send and receive failed on rank %d of 2: ", whole.Rank())
	if err == nil || !strings.HasPrefix(err.Error(), want) || status.Code(err) != status.PeerLost {
		t.Errorf("a message too long: %v (status %d), want %s…", err, status.Code(err), want)
	}
	if len(err.Error()) < len(want)+10 {
		t.Errorf("%v: MPI's reason is missing", err)
	}
	if got, err := whole.Host().Agree(1 << whole.Rank()); got != 3 || err != nil {
		t.Errorf("afterwards the ranks agree on %d, %v", got, err)
	}
}

// A library without windows says so on all ranks, and the run goes on.
func TestNoWindows(t *testing.T) {
	if whole == nil && !strings.HasPrefix(About(), "Open MPI 4.") {
		t.Skipf("not run: no way is known to take windows from %s", About())
	}
	if !asRanks(t, 2, "OMPI_MCA_osc=rdma") {
		return
	}
	err := whole.(comm.OneSided).Accumulate(floats(1, 2, 3))
	if status.Code(err) != status.NoResource || !strings.Contains(err.Error(), "refuses a window") || status.HintOf(err) == "" {
		t.Errorf("got %v (status %d, hint %q)", err, status.Code(err), status.HintOf(err))
	}
	x := floats(1)
	if err := whole.AllReduce(x); err != nil || device.Slice[float32](x)[0] != 2 {
		t.Errorf("all-reduce afterwards: %v, %v", device.Slice[float32](x), err)
	}
}

func TestOpenedTwice(t *testing.T) {
	if !asRanks(t, 1) {
		return
	}
	if _, err := Open(); err == nil {
		t.Error("no error")
	}
}

func TestLibraryName(t *testing.T) {
	for text, want := range map[string]string{
		"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4": "Open MPI 4.1.4",
		"MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr 7":                    "MPICH 4.0.2",
		"Intel(R) MPI Library 2021.9 for Linux* OS\n":                              "Intel(R) MPI Library 2021.9 for Linux* OS",
	} {
		if got := libraryName(text); got != want {
			t.Errorf("%q is called %q, want %q", text, got, want)
		}
	}
}
