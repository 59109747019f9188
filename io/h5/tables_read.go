package h5

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Quantity is one of the fields that a table file holds for each position.
type Quantity uint8

const (
	Time      Quantity = iota // one-way traveltime, s: [n, nx, (ny,) nz]
	Amplitude                 // weight b of the dynamic operator: [n, nx, (ny,) nz]
	Gradient                  // gradient of the time, s/m: [n, dim, nx, (ny,) nz], components ∂x, (∂y,) ∂z
)

func (q Quantity) String() string {
	switch q {
	case Time:
		return "time"
	case Amplitude:
		return "amplitude"
	case Gradient:
		return "gradient"
	}
	return fmt.Sprintf("Quantity(%d)", uint8(q))
}

// tableName is the dataset of a role and quantity, such as /source_time.
func tableName(role survey.Role, q Quantity) string {
	return "/" + role.String() + "_" + q.String()
}

var roles = [...]survey.Role{survey.AtSource, survey.AtReceiver}

// Tables is a traveltime table file, read row by row: the tables of a survey
// need not fit into memory.
type Tables struct {
	f    *File
	grid grid.Grid
	sets [2][3]*Dataset // by role and quantity; nil where there is none
}

// OpenTables opens a table file. The times of sources and receivers must be
// there, amplitudes and gradients may be; all must lie on one grid.
func OpenTables(path string) (*Tables, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	t := &Tables{f: f}
	if err := t.read(); err != nil {
		f.Close()
		return nil, err
	}
	return t, nil
}

func (t *Tables) read() error {
	if err := t.f.checkFormat(FormatTables); err != nil {
		return err
	}
	for _, role := range roles {
		for q := Time; q <= Gradient; q++ {
			name := tableName(role, q)
			if q != Time && !t.f.Has(name) {
				continue
			}
			d, err := t.f.Dataset(name)
			if err != nil {
				return err
			}
			if q == Time {
				if err := wantUnits(d, seconds); err != nil {
					return err
				}
			}
			if err := t.place(d, role, q); err != nil {
				return err
			}
			t.sets[role][q] = d
		}
	}
	return nil
}

// place compares one dataset with the grid, which the first one defines, and
// with the number of rows of its role.
func (t *Tables) place(d *Dataset, role survey.Role, q Quantity) error {
	if q == Time {
		if err := wantGridAxes(d, 1, "[n, nx, nz] or [n, nx, ny, nz]"); err != nil {
			return err
		}
		g, err := t.f.gridOf(d, 1)
		if err != nil {
			return err
		}
		if t.grid.Shape == nil {
			t.grid = g
		} else if !t.grid.Equal(g) {
			return inputError(t.f.path, d.name, "lies on a grid of %s from %s, /source_time on one of %s from %s",
				g, tuple(g.Origin), t.grid, tuple(t.grid.Origin))
		}
		return nil
	}
	want := append([]int{}, t.sets[role][Time].shape...)
	text := "like " + tableName(role, Time)
	if q == Gradient {
		want = append([]int{want[0], t.grid.Dim()}, want[1:]...)
		text = "[n, dim, nx, (ny,) nz]"
	}
	return d.Want(text, want...)
}

// Verify compares all tables with the digests that were written with them, in one pass.
func (t *Tables) Verify() error {
	for _, role := range roles {
		for _, d := range t.sets[role] {
			if d == nil {
				continue
			}
			if err := d.Verify(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Trust says that the tables have been compared with their digests elsewhere, by rank 0
// for all ranks: reading rows does not compare them once more.
func (t *Tables) Trust() { t.f.Trust() }

// Close closes the file.
func (t *Tables) Close() error { return t.f.Close() }

// Grid is the grid of every table.
func (t *Tables) Grid() grid.Grid { return t.grid }

// NumSources is the number of rows of the source tables.
func (t *Tables) NumSources() int { return t.rows(survey.AtSource) }

// NumReceivers is the number of rows of the receiver tables.
func (t *Tables) NumReceivers() int { return t.rows(survey.AtReceiver) }

func (t *Tables) rows(role survey.Role) int { return t.sets[role][Time].shape[0] }

// Has reports whether the file holds a quantity for a role.
func (t *Tables) Has(role survey.Role, q Quantity) bool { return t.sets[role][q] != nil }

// RowLen is the number of values of one row: points, times dim for gradients.
func (t *Tables) RowLen(q Quantity) int { return rowLen(t.grid, q) }

func rowLen(g grid.Grid, q Quantity) int {
	if q == Gradient {
		return g.Len() * g.Dim()
	}
	return g.Len()
}

// ReadRow reads the field of one source or receiver into dst, [RowLen(q)].
// Times must be finite and not negative, everything else finite. Rows are the
// survey's rows; asking for one that is not there is an error.
func (t *Tables) ReadRow(dst []float64, role survey.Role, q Quantity, row int) error {
	d, name := t.sets[role][q], tableName(role, q)
	if d == nil {
		return inputError(t.f.path, name, "is missing")
	}
	if n := t.rows(role); row < 0 || row >= n {
		return inputError(t.f.path, name, "has %d rows, asked for row %d", n, row)
	}
	n := t.RowLen(q)
	if len(dst) != n {
		panic(fmt.Sprintf("h5: %s: %s: %d values for a row of %d", t.f.path, name, len(dst), n))
	}
	if err := ReadAt(d, dst, row*n); err != nil {
		return err
	}
	want, i := "finite", notFinite(dst)
	if q == Time {
		want = fmt.Sprintf("finite and not negative, at most %g s", float64(survey.Latest))
		if i < 0 {
			i = slices.IndexFunc(dst, func(v float64) bool { return v < 0 || v > survey.Latest })
		}
	}
	if i >= 0 {
		return inputError(t.f.path, name, "row %d is %g at point %s, must be %s", row, dst[i], pointText(t.grid, i%t.grid.Len()), want)
	}
	return nil
}
