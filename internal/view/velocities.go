package view

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/midpoint"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
)

// isTable reports whether a file is one of velocity picks as text, see [midpoint.ReadPicks].
func isTable(path string) bool {
	return slices.Contains([]string{".csv", ".txt"}, strings.ToLower(filepath.Ext(path)))
}

// openVelocities opens a file of velocity picks.
func openVelocities(path string) (*File, error) {
	list, err := midpoint.ReadPicks(path)
	if err != nil {
		return nil, status.Input(err)
	}
	f := &File{Name: filepath.Base(path), Kind: "picks", Arrays: []*Array{}, path: path, velocities: list}
	for i, p := range list {
		f.Picks = append(f.Picks, Pick{X: p.X, Z: p.Time, Velocity: p.Velocity, Like: i})
	}
	return f, nil
}

// editedVelocities are the picks of the file as the page has changed them. Values that a user has moved
// or added are certain.
func (f *File) editedVelocities(list []Pick) (out []midpoint.Pick, err error) {
	if len(list) == 0 {
		return nil, errors.New("no pick is left")
	}
	for _, p := range list {
		if p.X-p.X != 0 || !(p.Z >= 0) || p.Z-p.Z != 0 {
			return nil, fmt.Errorf("a pick lies at x = %g, time %g, must be finite and at 0 or later", p.X, p.Z)
		}
		if err := velocity.Plausible(p.Velocity, p.Velocity); err != nil {
			return nil, err
		}
		pick := midpoint.Pick{X: p.X, Time: p.Z, Velocity: p.Velocity, Certainty: 1}
		if p.Like >= 0 && p.Like < len(f.velocities) {
			if old := f.velocities[p.Like]; old.X == p.X && old.Time == p.Z && old.Velocity == p.Velocity {
				pick = old
			}
		}
		out = append(out, pick)
	}
	return out, nil
}
