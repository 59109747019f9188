package comm_test

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
)

func TestSelf(t *testing.T) {
	commtest.Run(t, func(_ int, body func(c comm.Comm) error) error { return body(comm.Self()) }, 1)
}

func TestOpNames(t *testing.T) {
	for op, want := range map[comm.Op]string{comm.Sum: "sum", comm.Max: "max"} {
		if op.String() != want {
			t.Errorf("operation %d is called %q, want %q", op, op, want)
		}
	}
}
