package dist

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
)

// Ranks hold consecutive rows, with the units that begin in them.
func TestSplit(t *testing.T) {
	must(t, commtest.Ranks(4, func(c comm.Comm) error {
		all := Split(device.F32, []int{7, 3}, []int{0, 2, 2, 5, 7}, c, comm.Self())
		l := all.WithUnits([]int{0, 1, 2, 4, 5})
		off, n := []int{0, 6, 6, 15}[c.Rank()], []int{6, 0, 9, 6}[c.Rank()]
		units := [][]int{{0, 3}, {}, {0, 6}, {0}}[c.Rank()]
		if l.Off != off || l.N != n || !slices.Equal(l.Units, units) || l.Units == nil {
			return fmt.Errorf("elements %d and %d more in units %v, want %d, %d, %v", l.Off, l.N, l.Units, off, n, units)
		}
		if all.Units != nil || !all.Equal(l) {
			return fmt.Errorf("units changed the layout %+v", all)
		}
		return nil
	}))
}

func TestWrongSplitsPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"dots of a leaf whose units begin late": func() {
			l := Local(device.F32, 4)
			l.Units = []int{2}
			v, _ := NewVector(host, l)
			_, _ = Norm(v)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
