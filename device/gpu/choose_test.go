package gpu

import (
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

func TestLocalRank(t *testing.T) {
	for _, c := range []struct {
		environ    string
		rank, size int
	}{
		{"", 0, 1},
		{"HOME=/root", 0, 1},
		{"SLURM_LOCALID=3", 3, 0},
		// mpirun inside a batch script
		{"SLURM_LOCALID=0 OMPI_COMM_WORLD_LOCAL_RANK=2 OMPI_COMM_WORLD_LOCAL_SIZE=4", 2, 4},
		{"MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2", 1, 2},
		{"PALS_LOCAL_RANKID=5", 5, 0},
		{"OMPI_COMM_WORLD_LOCAL_RANK=x SLURM_LOCALID=1", 1, 0},
		{"MV2_COMM_WORLD_LOCAL_RANK=-1", 0, 1},
		{"OMPI_COMM_WORLD_LOCAL_RANK=3 OMPI_COMM_WORLD_LOCAL_SIZE=3", 3, 0},
	} {
		if rank, size := LocalRank(strings.Fields(c.environ)); rank != c.rank || size != c.size {
			t.Errorf("%q: rank %d of %d, want %d of %d", c.environ, rank, size, c.rank, c.size)
		}
	}
}

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
	for _, c := range []struct{ visible, rank, bus string }{
		{"0", "0", "0000:01:00.0"}, {"1", "1", "0000:02:00.0"}, // --gpus-per-task=1
		{"0,1", "0", "0000:01:00.0"}, {"0,1", "1", "0000:02:00.0"}, // --gres=gpu:2
	} {
		t.Setenv("CUDA_VISIBLE_DEVICES", c.visible)
		drv, err := driver.Open(driver.CUDA)
		must(t, err)
		cards, err := drv.Cards()
		must(t, err)
		rank, size := LocalRank([]string{"SLURM_LOCALID=" + c.rank})
		card, _ := Choose(rank, size, len(cards))
		d := open(t, Options{Card: card})
		if d.Card().Bus != c.bus {
			t.Errorf("rank %s of %s: card %s, want %s", c.rank, c.visible, d.Card().Bus, c.bus)
		}
		places = append(places, Place(d.Card()))
	}
	if SharedCards(places[:2]) != "" || SharedCards(places[2:]) != "" || SharedCards(places) == "" {
		t.Errorf("places are %q", places)
	}
}
