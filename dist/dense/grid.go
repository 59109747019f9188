package dense

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Grid is the ranks that share matrices, in rows and columns, and what each of them has to
// store and multiply its tiles.
type Grid struct {
	Rows, Columns int
	I, J          int // this rank's row and column: rank r is in row r / Columns

	World  comm.Comm // all ranks
	Row    comm.Comm // the ranks of this rank's row, by column
	Column comm.Comm // the ranks of this rank's column, by row

	Device  device.Device
	Library blas.Library
	solver  blas.Solver // Library, if it can solve; otherwise nil

	// Overlap has products send a panel while another is multiplied: on the host from a goroutine
	// of their own, on a card beside the library's stream. NewGrid sets it.
	Overlap bool
}

// NewGrid makes a grid of all ranks of c, which are rows times columns. It is collective.
// Matrices lie on the device, whose tiles must be those of the library. On a card c carries them;
// on the host it is the control of c.
func NewGrid(c comm.Comm, rows, columns int, d device.Device, l blas.Library) (*Grid, error) {
	if rows < 1 || columns < 1 || rows*columns != c.Size() {
		return nil, status.Usage(fmt.Errorf("dense: a grid of %d × %d ranks out of %d", rows, columns, c.Size()))
	}
	if !l.Serves(d) {
		return nil, status.Usage(fmt.Errorf("dense: %s does not multiply matrices on %s", l.Name(), d.Name()))
	}
	g := &Grid{Rows: rows, Columns: columns, Device: d, Library: l, Overlap: true}
	g.solver, _ = l.(blas.Solver)
	g.World = g.carrier(c)
	g.I, g.J = c.Rank()/columns, c.Rank()%columns
	var err error
	if g.Row, err = g.World.Split(g.I, g.J); err != nil {
		return nil, err
	}
	if g.Column, err = g.World.Split(g.J, g.I); err != nil {
		return nil, err
	}
	return g, g.sameLibrary()
}

// needSolver refuses factors, solutions and adjoints where the library only multiplies.
func (g *Grid) needSolver() error {
	if g.solver == nil {
		return status.Usage(fmt.Errorf("dense: %s only multiplies matrices", g.Library.Name()))
	}
	return nil
}

// carrier is the communicator of the matrices if c is that of the vectors.
func (g *Grid) carrier(c comm.Comm) comm.Comm {
	if _, host := g.Device.(*device.Host); host {
		return comm.Control(c)
	}
	return c
}

// sameLibrary refuses ranks that would round differently.
func (g *Grid) sameLibrary() error {
	if err := comm.Same(g.World, []comm.Fact{{Name: "library for matrices", Value: g.Library.Name()}}); err != nil {
		return status.Hint(status.Usage(err), "LSM_BLAS=gonum chooses one that all ranks have")
	}
	return nil
}

// Shape is the grid of n ranks that is nearest to a square, with no more columns than rows.
func Shape(n int) (rows, columns int) {
	for columns = int(math.Sqrt(float64(n))) + 1; columns > n || columns*columns > n || n%columns != 0; columns-- {
	}
	return n / columns, columns
}

// rank is the rank in World that holds tile (i, j) of every matrix.
func (g *Grid) rank(i, j int) int { return i%g.Rows*g.Columns + j%g.Columns }
