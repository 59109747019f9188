package commtest_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
)

func TestRanks(t *testing.T) { commtest.Run(t, commtest.Ranks, 1, 2, 3, 4, 5) }

func TestRanksReturnsTheFirstError(t *testing.T) {
	fault := errors.New("fault")
	err := commtest.Ranks(3, func(c comm.Comm) error {
		if c.Rank() > 0 {
			return fault
		}
		return nil
	})
	if !errors.Is(err, fault) || !strings.Contains(err.Error(), "rank 1 of 3") {
		t.Errorf("got %v, want rank 1's fault", err)
	}
}

func TestRanksAgreementWaitsForAll(t *testing.T) {
	var arrived atomic.Int64
	err := commtest.Ranks(5, func(c comm.Comm) error {
		for round := int64(1); round <= 20; round++ {
			arrived.Add(1)
			if _, err := c.Host().Agree(0); err != nil {
				return err
			}
			if n := arrived.Load(); n < 5*round {
				return fmt.Errorf("round %d: past the agreement with %d arrivals", round, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
