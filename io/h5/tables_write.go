package h5

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// TablesLayout says what a table file is going to hold.
type TablesLayout struct {
	Grid                     grid.Grid
	NumSources, NumReceivers int
	Amplitude, Gradient      bool
	Float64                  bool // element type in the file: float64, else float32
}

// TablesWriter writes a table file row by row, in any order and from any
// goroutine.
type TablesWriter struct {
	w      *Writer
	layout TablesLayout
	sets   [2][3]*Section
}

// CreateTables starts a table file. Every row of every table must then be
// written once.
func CreateTables(path string, layout TablesLayout, opt WriteOptions) (*TablesWriter, error) {
	if err := layout.Grid.Validate(); err != nil {
		panic("h5: " + path + ": " + err.Error())
	}
	g := layout.Grid
	attrs := []Attr{{"origin", g.Origin}, {"spacing", g.Spacing}}
	opt.Attrs = append(append([]Attr{}, attrs...), opt.Attrs...)
	w, err := Create(path, FormatTables, opt)
	if err != nil {
		return nil, err
	}
	t := &TablesWriter{w: w, layout: layout}
	if err := t.start(attrs); err != nil {
		w.Abort()
		return nil, err
	}
	return t, nil
}

func (t *TablesWriter) start(attrs []Attr) error {
	l := t.layout
	if err := t.w.coordinates(l.Grid); err != nil {
		return err
	}
	if l.Gradient {
		if err := t.w.columns(l.Grid.Dim()); err != nil {
			return err
		}
	}
	units := [...]string{Time: "s", Amplitude: "1", Gradient: "s/m"}
	for _, role := range roles {
		n := l.NumSources
		if role == survey.AtReceiver {
			n = l.NumReceivers
		}
		if err := t.w.index("/"+role.String(), n); err != nil {
			return err
		}
		for q := Time; q <= Gradient; q++ {
			if q == Amplitude && !l.Amplitude || q == Gradient && !l.Gradient {
				continue
			}
			if err := t.section(role, q, n, append(attrs[:2:2], Attr{"units", units[q]})); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *TablesWriter) section(role survey.Role, q Quantity, n int, attrs []Attr) (err error) {
	name, lead := tableName(role, q), []int{n}
	if q == Gradient {
		lead = append(lead, t.layout.Grid.Dim())
	}
	shape := append(append([]int{}, lead...), t.layout.Grid.Shape...)
	var s *Section
	if t.layout.Float64 {
		s, err = NewSection[float64](t.w, name, shape, attrs...)
	} else {
		s, err = NewSection[float32](t.w, name, shape, attrs...)
	}
	if err != nil {
		return err
	}
	t.sets[role][q] = s
	if err := t.w.Attach(name, 0, "/"+role.String(), role.String()); err != nil {
		return err
	}
	if q == Gradient {
		if err := t.w.attachColumns(name, 1); err != nil {
			return err
		}
	}
	return t.w.attachGrid(name, len(lead), t.layout.Grid)
}

// WriteRow writes the field of one source or receiver, [points] or, for
// gradients, [dim, points].
func (t *TablesWriter) WriteRow(role survey.Role, q Quantity, row int, src []float64) error {
	s := t.sets[role][q]
	if s == nil {
		panic(fmt.Sprintf("h5: %s: %s is not in the layout", t.w.path, tableName(role, q)))
	}
	if len(src) != rowLen(t.layout.Grid, q) {
		panic(fmt.Sprintf("h5: %s: %s: %d values for a row of %d", t.w.path, s.name, len(src), rowLen(t.layout.Grid, q)))
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

// Commit completes, verifies and publishes the file.
func (t *TablesWriter) Commit() error { return t.w.Commit() }

// Abort drops the file; after Commit it does nothing.
func (t *TablesWriter) Abort() { t.w.Abort() }
