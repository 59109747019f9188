package comm_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
)

// Whatever differs between ranks is named on all of them, with values, ranks and
// origins; where nothing differs but the origin there is no error.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		name  string
		ranks int
		facts func(rank int) []comm.Fact
		want  string // in the error; "": none
	}{
		{"alike", 3, func(rank int) []comm.Fact {
			return []comm.Fact{{"damping", "0.0", fmt.Sprintf("file %d", rank)}}
		}, ""},
		{"alike in another order", 3, func(rank int) []comm.Fact {
			facts := []comm.Fact{{"damping", "0.0", ""}, {"--resume", "true", ""}}
			if rank == 1 {
				slices.Reverse(facts)
			}
			return facts
		}, ""},
		{"one rank", 1, func(int) []comm.Fact { return []comm.Fact{{"damping", "0.0", ""}} }, ""},
		{"one value", 3, func(rank int) []comm.Fact {
			if rank == 1 {
				return []comm.Fact{{"method", "cgls", "default"}, {"damping", "7.0", "--set"}}
			}
			return []comm.Fact{{"method", "cgls", "default"}, {"damping", "0.0", "default"}}
		}, "the ranks of this run differ: damping is 0.0 on ranks 0 and 2 (default), 7.0 on rank 1 (--set)"},
		{"a fact of one rank alone", 2, func(rank int) []comm.Fact {
			return []comm.Fact{{"--resume", "true", ""}, {"--gradient", "true", ""}}[:2-rank]
		}, "--gradient is true on rank 0, not there on rank 1"},
		{"many ranks", 7, func(rank int) []comm.Fact {
			return []comm.Fact{{"blocks", fmt.Sprint(rank / 6), ""}}
		}, "blocks is 0 on ranks 0, 1, 2, 3 and 2 more, 1 on rank 6"},
		{"many facts", 2, func(rank int) (facts []comm.Fact) {
			for i := range 8 {
				facts = append(facts, comm.Fact{Name: fmt.Sprint("fact ", i), Value: fmt.Sprint(rank)})
			}
			return facts
		}, "fact 4 is 0 on rank 0, 1 on rank 1; and 3 more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := commtest.Ranks(c.ranks, func(world comm.Comm) error {
				err := comm.Same(world, c.facts(world.Rank()))
				var agreed *comm.Agreed
				switch {
				case c.want == "" || err == nil:
					return errors.Join(err, wantError(c.want, err))
				case !strings.Contains(err.Error(), c.want):
					return fmt.Errorf("got %q, want %q in it", err, c.want)
				case !errors.As(err, &agreed):
					return fmt.Errorf("%q is not agreed", err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func wantError(want string, got error) error {
	if want != "" && got == nil {
		return fmt.Errorf("no error, want %q", want)
	}
	return nil
}
