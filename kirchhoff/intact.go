package kirchhoff

import (
	"errors"
	"hash/maphash"
	"math/bits"
)

// Keeper is an engine that keeps its tables from one application to the next. A table
// that a fault of the machine's memory has changed is wrong in both directions alike, so
// no test of the adjoint finds it.
type Keeper interface {
	// Intact reports an error if the tables are no longer what they were when they were
	// made. It reads them once.
	Intact() error
}

var (
	_ Keeper = (*CPU)(nil)
	_ Keeper = (*Classes)(nil)
	_ Keeper = (*Stream)(nil)
)

var errNotIntact = errors.New("kirchhoff: the traveltime tables have changed in memory since they were computed: the machine's memory is faulty, or the program is")

// hashSeed is one for the process.
var hashSeed = maphash.MakeSeed()

// seal remembers what the tables are.
func (c *CPU) seal() { c.sealed, c.sum = true, c.tableSum() }

// Intact is nil for tables that were never sealed, such as those that are made anew for
// every application.
func (c *CPU) Intact() error {
	if c.sealed && c.tableSum() != c.sum {
		return errNotIntact
	}
	return nil
}

// tableSum is a checksum of the tables.
func (c *CPU) tableSum() (sum uint64) {
	o := &c.op
	for _, part := range [][]byte{o.Table.Bytes(), o.Span.Bytes(), o.Reach.Bytes(), o.Shift.Bytes(), o.Slope.Bytes(), o.Slopes.Bytes()} {
		sum = bits.RotateLeft64(sum, 1) ^ maphash.Bytes(hashSeed, part)
	}
	return sum
}

// Intact is that of the classes' common tables.
func (c *Classes) Intact() error {
	if c.intact == nil {
		return nil
	}
	return c.intact()
}

// Intact is that of the tables of all places, where they are kept.
func (s *Stream) Intact() error {
	if s.tables == nil {
		return nil
	}
	return s.tables.Intact()
}
