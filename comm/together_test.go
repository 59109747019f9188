package comm_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// All ranks get the error of the lowest rank that has one, with its status and
// its hint.
func TestTogether(t *testing.T) {
	for n := 1; n <= 4; n++ {
		for failing := range 1 << n {
			err := commtest.Ranks(n, func(c comm.Comm) error {
				var mine error
				if failing>>c.Rank()&1 != 0 {
					mine = status.Hint(status.Input(fmt.Errorf("file of rank %d", c.Rank())), "look")
				}
				got := comm.Together(c, mine)
				if failing == 0 {
					return got
				}
				lowest := 0
				for failing>>lowest&1 == 0 {
					lowest++
				}
				if got == nil || got.Error() != fmt.Sprintf("file of rank %d", lowest) || status.Code(got) != status.BadInput || status.HintOf(got) != "look" {
					return fmt.Errorf("got %v, status %d, hint %q", got, status.Code(got), status.HintOf(got))
				}
				var agreed *comm.Agreed
				if n > 1 && (!errors.As(got, &agreed) || agreed.Rank != lowest) {
					return fmt.Errorf("%v is not the agreed error of rank %d", got, lowest)
				}
				if again := comm.Together(c, got); again.Error() != got.Error() || status.Code(again) != status.BadInput {
					return fmt.Errorf("shared again, it became %v", again)
				}
				return nil
			})
			if err != nil {
				t.Errorf("failing ranks %b: %v", failing, err)
			}
		}
	}
}

func TestGatherJSON(t *testing.T) {
	bring := func(texts ...string) func([]byte) ([][]byte, error) {
		return func([]byte) (all [][]byte, err error) {
			for _, text := range texts {
				all = append(all, []byte(text))
			}
			return all, nil
		}
	}
	if all, err := comm.GatherJSON(bring("3", "5"), 3); err != nil || !slices.Equal(all, []int{3, 5}) {
		t.Errorf("got %v, error %v", all, err)
	}
	if _, err := comm.GatherJSON(bring("3", "x"), 3); err == nil || !strings.Contains(err.Error(), "rank 1") {
		t.Errorf("damaged: error %v", err)
	}
}
