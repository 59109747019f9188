package gpu

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		rank, size, visible, card int
		warns                     bool
	}{
		{0, 1, 1, 0, false}, {0, 1, 4, 0, false},
		{2, 4, 4, 2, false}, // all see all
		{3, 0, 4, 3, false},
		{3, 4, 1, 0, false}, // each sees its own
		{3, 4, 2, 1, true},
		{0, 1, 0, 0, false},
	} {
		card, warning := Choose(c.rank, c.size, c.visible)
		if card != c.card || (warning != "") != c.warns {
			t.Errorf("rank %d of %d, %d visible: card %d, %q", c.rank, c.size, c.visible, card, warning)
		}
	}
}

func TestSharedCards(t *testing.T) {
	if w := SharedCards([]string{"a 1 x", "a 2 y", "b 1 x"}); w != "" {
		t.Errorf("three cards: %q", w)
	}
	want := "ranks 0, 2 share the GPU at 1 of a; ranks 1, 3 share the GPU at 2 of a"
	if w := SharedCards([]string{"a 1 x", "a 2 y", "a 1 x", "a 2 y", "b 2 y"}); w != want {
		t.Errorf("shared: %q", w)
	}
}

// Both habits of Slurm, seen through the driver.
func TestVisibleCards(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("GPUEMU_CARDS", "2")
	var places []string
	for _, c := range []struct {
		visible string
		rank    int
		bus     string
	}{
		{"0", 0, "0000:01:00.0"}, {"1", 1, "0000:02:00.0"}, // --gpus-per-task=1
		{"0,1", 0, "0000:01:00.0"}, {"0,1", 1, "0000:02:00.0"}, // --gres=gpu:2
	} {
		t.Setenv("CUDA_VISIBLE_DEVICES", c.visible)
		drv, err := driver.CUDA.Open()
		must(t, err)
		cards, err := drv.Cards()
		must(t, err)
		card, _ := Choose(c.rank, 0, len(cards))
		d := open(t, Options{Card: card})
		if d.Card().Bus != c.bus {
			t.Errorf("rank %d of %s: card %s, want %s", c.rank, c.visible, d.Card().Bus, c.bus)
		}
		places = append(places, Place(d.Card()))
	}
	if SharedCards(places[:2]) != "" || SharedCards(places[2:]) != "" || SharedCards(places) == "" {
		t.Errorf("places are %q", places)
	}
}
