package h5

import (
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

func somePicks(domain grid.Domain) *Picks {
	p := &Picks{Domain: domain, Limits: []float64{0, 300, 600}, Mute: 1.5}
	if domain == grid.Depth { // of a cube, by azimuth
		p.Columns.Y, p.Columns.FastAxis = []float64{}, []float64{}
	}
	for i, c := range p.Columns.all(domain) {
		*c.to = []float64{0.1 * float64(i+1), 0.05 * float64(i+1)}
	}
	if domain == grid.Depth {
		p.Shifts = []float64{3, -1, 0, 7}
	}
	return p
}

func TestPicks(t *testing.T) {
	for _, domain := range []grid.Domain{grid.Depth, grid.Time} {
		path := filepath.Join(t.TempDir(), "picks.h5")
		want := somePicks(domain)
		if err := WritePicks(path, want, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		got, err := ReadPicks(path)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: read %+v, wrote %+v: %v", domain, got, want, err)
		}
		if kind, err := Kind(path); err != nil || kind != "picks" {
			t.Errorf("the kind of picks is %q: %v", kind, err)
		}
	}
}

func TestPicksThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		spoil func(p *Picks)
		want  string
	}{
		{func(p *Picks) { p.Columns.Gamma[1] = 0 }, "/gamma: is 0 for pick 1, must be positive"},
		{func(p *Picks) { p.Columns.Certainty[0] = 1.5 }, "/certainty: is 1.5 for pick 0"},
		{func(p *Picks) { p.Limits, p.Shifts = []float64{300, 0}, nil }, "@limits: is [300 0]"},
		{func(p *Picks) { p.Limits, p.Shifts = p.Limits[:1], nil }, "@limits: is [0]"},
		{func(p *Picks) { p.Mute = -1 }, "@mute: is -1"},
		{func(p *Picks) { p.Shifts[3] = math.NaN() }, "/shift: is NaN for pick 1"},
		{func(p *Picks) { p.Limits, p.Shifts = []float64{0, 300}, []float64{1, math.Inf(1)} }, "/shift: is +Inf for pick 1"},
	} {
		path := filepath.Join(t.TempDir(), "picks.h5")
		p := somePicks(grid.Depth)
		for _, column := range p.Columns.all(grid.Depth) {
			*column.to = slices.Clone(*column.to)
		}
		c.spoil(p)
		if err := WritePicks(path, p, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPicks(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}
