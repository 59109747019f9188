package watch

import (
	"fmt"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
)

// guardedRanks is a World of goroutine ranks under a watch that must not alarm.
func guardedRanks(t *testing.T) commtest.World {
	return func(n int, body func(c comm.Comm) error) error {
		return commtest.Ranks(n, func(c comm.Comm) error {
			g, w, err := Guard(c, Options{Fail: func(v *Verdict) { t.Errorf("alarm on rank %d: %v", c.Rank(), v) }})
			if err != nil {
				return err
			}
			err = body(g)
			w.Close(err)
			return err
		})
	}
}

func TestGuardedConforms(t *testing.T) { commtest.Run(t, guardedRanks(t), 1, 2, 3, 4, 5) }

func TestOneRankIsLeftAlone(t *testing.T) {
	c, w, err := Guard(comm.Self(), Options{})
	if err != nil || c != comm.Self() {
		t.Fatalf("guard of one rank: %v, %v", c, err)
	}
	w.Close(nil)
}

// The parts of a switch have names by which verdicts call them.
func TestPartsOfSwitchesAreNamed(t *testing.T) {
	err := guardedRanks(t)(2, func(c comm.Comm) error {
		part, err := comm.NewSwitch(c, comm.Staged(c)).Split(0, c.Rank())
		if err != nil {
			return err
		}
		Name(part, "shots")
		if name := guardOf(part.(*comm.Switch).Control()).device.called(); name != "shots" {
			return fmt.Errorf("the part is called %q", name)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// BenchmarkCall is the cost of writing down one collective.
func BenchmarkCall(b *testing.B) {
	w := &Watch{}
	w.book = &book{w: w}
	g := guard(comm.Self(), w, "run", "all ranks", []int{0})
	x := device.Wrap(device.NewHost(1), make([]float32, 1))
	for b.Loop() {
		if err := g.AllReduce(x); err != nil {
			b.Fatal(err)
		}
	}
}
