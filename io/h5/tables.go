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
	Turns                     // of several arrivals, quarter periods by which the phase has turned: [n, nx, (ny,) nz]
)

// quantities are their names and units.
var quantities = [...]struct{ name, units string }{Time: {"time", "s"}, Amplitude: {"amplitude", "1"}, Gradient: {"gradient", "s/m"}, Turns: {"turns", "1"}}

func (q Quantity) String() string {
	if int(q) < len(quantities) {
		return quantities[q].name
	}
	return fmt.Sprintf("Quantity(%d)", uint8(q))
}

// tableName is the dataset of a role and quantity, such as /source_time.
func tableName(role survey.Role, q Quantity) string {
	return "/" + role.String() + "_" + q.String()
}

var roles = [...]survey.Role{survey.AtSource, survey.AtReceiver}

// rowLen is the number of values of a row with the given number of arrivals; arrivals is 0 for
// tables without that axis.
func rowLen(g grid.Grid, q Quantity, arrivals int) int {
	n := g.Len() * max(1, arrivals)
	if q == Gradient {
		n *= g.Dim()
	}
	return n
}

// Tables is a traveltime table file, read row by row: the tables of a survey
// need not fit into memory.
type Tables struct {
	*File
	grid     grid.Grid
	arrivals int
	sets     [2][len(quantities)]*Dataset // by role and quantity; nil for none
}

// OpenTables opens a table file. The times of sources and receivers must be
// there, amplitudes and gradients may be; all must lie on one grid. If each point has several arrivals, they must be, and turns.
func OpenTables(path string) (*Tables, error) {
	return opening(path, func(f *File) (*Tables, error) {
		t := &Tables{File: f}
		return t, t.read()
	})
}

func (t *Tables) read() error {
	if err := t.checkFormat(FormatTables); err != nil {
		return err
	}
	for _, role := range roles {
		if err := t.readTimes(role); err != nil {
			return err
		}
		for _, q := range []Quantity{Amplitude, Gradient, Turns} {
			name, want, text := tableName(role, q), t.sets[role][Time].shape, "like "+tableName(role, Time)
			if !t.File.Has(name) && t.arrivals == 0 || t.arrivals == 0 && q == Turns {
				continue
			}
			d, err := t.Dataset(name)
			if err != nil {
				return err
			}
			if q == Gradient && t.arrivals == 0 {
				want, text = slices.Insert(slices.Clone(want), 1, t.grid.Dim()), "[n, dim, nx, (ny,) nz]"
			} else if q == Gradient {
				want, text = slices.Insert(slices.Clone(want), 2, t.grid.Dim()), "[n, arrivals, dim, nx, (ny,) nz]"
			}
			if err := d.Want(text, want...); err != nil {
				return err
			}
			t.sets[role][q] = d
		}
	}
	return nil
}

// readTimes opens the times of a role; those of the sources define the grid.
func (t *Tables) readTimes(role survey.Role) error {
	name := tableName(role, Time)
	leading, err := t.leading(name)
	if err != nil {
		return err
	}
	d, g, err := t.field(name, leading...)
	if err != nil {
		return err
	}
	if n := len(leading) - 1; role == survey.AtSource {
		t.arrivals = n * d.shape[1]
	} else if n*d.shape[1] != t.arrivals {
		return inputError(t.path, name, "has %d arrivals, /source_time %d", n*d.shape[1], t.arrivals)
	}
	if err := wantUnits(d, seconds); err != nil {
		return err
	}
	if t.grid.Shape == nil {
		t.grid = g
	} else if !t.grid.Equal(g) {
		return inputError(t.path, name, "lies on a grid of %s from %s, /source_time on one of %s from %s",
			g, tuple(g.Origin), t.grid, tuple(t.grid.Origin))
	}
	t.sets[role][Time] = d
	return nil
}

// leading names the axes of times before those of the grid. The grid has one axis per number of the origin.
func (t *Tables) leading(name string) ([]string, error) {
	d, err := t.Dataset(name)
	if err != nil {
		return nil, err
	}
	from := d.Attrs()
	if !from.Has("origin") && t.File.Attrs().Has("origin") {
		from = t.File.Attrs()
	}
	if n := len(d.shape) - 2; n >= 2 {
		if _, err := from.Floats("origin", n); err == nil {
			return []string{"n", "arrivals"}, nil
		}
	}
	return []string{"n"}, nil
}

// NumArrivals is how many arrivals each point may have, 0 in a file without that axis.
func (t *Tables) NumArrivals() int { return t.arrivals }

// Grid is the grid of every table.
func (t *Tables) Grid() grid.Grid { return t.grid }

// NumSources is the number of rows of the source tables.
func (t *Tables) NumSources() int { return t.rows(survey.AtSource) }

// NumReceivers is the number of rows of the receiver tables.
func (t *Tables) NumReceivers() int { return t.rows(survey.AtReceiver) }

func (t *Tables) rows(role survey.Role) int { return t.sets[role][Time].shape[0] }

// Has reports whether the file holds a quantity for a role.
func (t *Tables) Has(role survey.Role, q Quantity) bool { return t.sets[role][q] != nil }

// RowLen is the number of values of one row: arrivals times points, times dim for gradients.
func (t *Tables) RowLen(q Quantity) int { return rowLen(t.grid, q, t.arrivals) }

// ReadRow reads the field of one source or receiver into dst, [RowLen(q)].
// Times must be finite and not negative, and other values finite. Values of several arrivals are not checked,
// because some arrivals are absent. Rows are the survey's rows; asking for one that is not there is an error.
func (t *Tables) ReadRow(dst []float64, role survey.Role, q Quantity, row int) error {
	d, name := t.sets[role][q], tableName(role, q)
	if d == nil {
		return inputError(t.path, name, "is missing")
	}
	if n := t.rows(role); row < 0 || row >= n {
		return inputError(t.path, name, "has %d rows, asked for row %d", n, row)
	}
	n := t.RowLen(q)
	if len(dst) != n {
		panic(fmt.Sprintf("h5: %s: %s: %d values for a row of %d", t.path, name, len(dst), n))
	}
	if err := ReadAt(d, dst, row*n); err != nil {
		return err
	}
	if t.arrivals > 0 {
		return nil
	}
	want, i := "finite", notFinite(dst)
	if q == Time {
		want = fmt.Sprintf("finite and not negative, at most %g s", float64(survey.Latest))
		if i < 0 {
			i = slices.IndexFunc(dst, func(v float64) bool { return v < 0 || v > survey.Latest })
		}
	}
	if i >= 0 {
		return inputError(t.path, name, "row %d is %g at point %s, must be %s", row, dst[i], pointText(t.grid, i%t.grid.Len()), want)
	}
	return nil
}

// TablesLayout says what a table file is going to hold.
type TablesLayout struct {
	Grid                     grid.Grid
	NumSources, NumReceivers int
	Amplitude, Gradient      bool
	Arrivals                 int  // at each point, with amplitudes, gradients and turns; 0: one, without that axis
	Float64                  bool // element type in the file: float64 if true, otherwise float32
}

// TablesWriter writes a table file row by row, in any order and from any
// goroutine.
type TablesWriter struct {
	*Writer
	layout TablesLayout
	sets   [2][len(quantities)]*Section
}

// CreateTables starts a table file. Every row of every table must then be
// written once.
func CreateTables(path string, layout TablesLayout, opt WriteOptions) (*TablesWriter, error) {
	if err := layout.Grid.Validate(); err != nil {
		panic("h5: " + path + ": " + err.Error())
	}
	opt.Attrs = append(gridAttrs(layout.Grid), opt.Attrs...)
	w, err := Create(path, FormatTables, opt)
	if err != nil {
		return nil, err
	}
	t := &TablesWriter{Writer: w, layout: layout}
	// The first error sticks.
	for _, a := range gridAxes(layout.Grid) {
		w.scale(a)
	}
	if layout.Gradient || layout.Arrivals > 0 {
		w.scale(columns(layout.Grid.Dim()))
	}
	for role, n := range [...]int{layout.NumSources, layout.NumReceivers} {
		rows := axis{name: "/" + roles[role].String(), size: n}
		several := layout.Arrivals > 0
		for q, there := range [...]bool{Time: true, Amplitude: layout.Amplitude || several, Gradient: layout.Gradient || several, Turns: several} {
			if there {
				t.sets[role][q] = t.section(roles[role], Quantity(q), rows)
			}
		}
	}
	if err := w.failed(); err != nil {
		w.Abort()
		return nil, err
	}
	return t, nil
}

func (t *TablesWriter) section(role survey.Role, q Quantity, rows axis) (s *Section) {
	g, axes := t.layout.Grid, []axis{rows}
	if n := t.layout.Arrivals; n > 0 {
		axes = append(axes, axis{name: "/arrival", size: n})
	}
	if q == Gradient {
		axes = append(axes, columns(g.Dim()))
	}
	axes = append(axes, gridAxes(g)...)
	attrs := append(gridAttrs(g), Attr{"units", quantities[q].units})
	if t.layout.Float64 {
		s, _ = over[float64](t.Writer, tableName(role, q), axes, nil, attrs...)
	} else {
		s, _ = over[float32](t.Writer, tableName(role, q), axes, nil, attrs...)
	}
	return s
}

// WriteRow writes the field of one source or receiver, [points] or, for
// gradients, [dim, points]; of several arrivals [arrivals, ...].
func (t *TablesWriter) WriteRow(role survey.Role, q Quantity, row int, src []float64) error {
	s := t.sets[role][q]
	if s == nil {
		panic(fmt.Sprintf("h5: %s: %s is not in the layout", t.path, tableName(role, q)))
	}
	if n := rowLen(t.layout.Grid, q, t.layout.Arrivals); len(src) != n {
		panic(fmt.Sprintf("h5: %s: %s: %d values for a row of %d", t.path, s.name, len(src), n))
	}
	if t.layout.Float64 {
		return WriteAt(s, src, row*len(src))
	}
	narrow := make([]float32, len(src))
	for i, v := range src {
		narrow[i] = float32(v)
	}
	return WriteAt(s, narrow, row*len(src))
}
