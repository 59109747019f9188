package gpu

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// column is a column of the image, and where the tables of its places lie on the card.
type column struct {
	kirchhoff.Column
	before held // by the columns before
	each   held // by a place
}

// held counts what tables hold: rows, one for each tile, and groups of tiles.
type held struct{ rows, groups int }

func (h *held) add(o held, times int) {
	h.rows += o.rows * times
	h.groups += o.groups * times
}

// tables are the tables of some places, column by column.
type tables struct {
	memoryOfTables
	columns []column
	held    held // by all columns
}

// newTables finds the columns of a plan's places and what they hold.
func (g *geometry) newTables(l *kirchhoff.Plan) *tables {
	t := &tables{}
	for _, c := range l.Columns() {
		lo, hi := c.Boxes[0], c.Boxes[1]
		each := held{g.firstTile[hi] - g.firstTile[lo], g.firstGroup[hi] - g.firstGroup[lo]}
		t.columns = append(t.columns, column{c, t.held, each})
		t.held.add(each, len(c.Places))
	}
	return t
}

// allocate makes room for tables.
func (h held) allocate(b *buffers, l kirchhoff.Layout) memoryOfTables {
	m := memoryOfTables{table: b.alloc(h.rows*l.Words, device.F32)}
	if l.Bands > 1 {
		m.slope = b.alloc(h.rows, device.F32)
	}
	m.groups = b.alloc(h.groups*reachWords, device.F32)
	return m
}

// number sets the places of local that have tables in the column to their numbers there.
func (c *column) number(local []int32) {
	for i, place := range c.Places {
		local[place] = int32(i)
	}
}

// slot is where a place has tables: its number in a column.
type slot struct{ column, number int }

// slots returns the slots of each of the given number of places, in the order of columns.
func slots(columns []column, places int) [][]slot {
	list := make([][]slot, places)
	for i, c := range columns {
		for n, place := range c.Places {
			list[place] = append(list[place], slot{i, n})
		}
	}
	return list
}

// mostHeld is the largest number of rows and groups that a place holds.
func (t *tables) mostHeld(places int) (most held) {
	list := make([]held, places)
	for _, c := range t.columns {
		for _, place := range c.Places {
			h := &list[place]
			h.add(c.each, 1)
			most = held{max(most.rows, h.rows), max(most.groups, h.groups)}
		}
	}
	return most
}

// These are the kernels' structs of an operator with an aperture.
type (
	columnThere struct {
		rows, groups   int64
		tiles, ngroups int32
		lo, count      [2]int32
	}
	spot struct {
		column int32
		at     [2]int32
	}
	visit  struct{ half, column, list int32 }
	middle struct {
		whole int32
		rest  float32
	}
)

// horizontal returns, of values along the three axes of a Box, those along the last axes
// before z.
func horizontal(axes int, v [3]int) (out [2]int32) {
	for a := range axes {
		out[a] = int32(v[2-axes+a])
	}
	return out
}

// corner is the first point of a tile in its box.
func corner(b kirchhoff.Box, tile int32, side int) [3]int {
	n := int(tile) - b.First
	return [3]int{n / (b.Count[1] * b.Count[2]) * side, n / b.Count[2] % b.Count[1] * side, n % b.Count[2] * side}
}

// columnList lists the facts about columns of tables that kernels with an aperture need.
func (g *geometry) columnList(t *tables) (list []columnThere) {
	axes := g.layout.Aperture
	for _, c := range t.columns {
		first := g.plan.Boxes[c.Boxes[0]]
		list = append(list, columnThere{
			int64(c.before.rows - first.First), int64(c.before.groups - g.firstGroup[c.Boxes[0]]),
			int32(c.each.rows), int32(c.each.groups), horizontal(axes, first.Lo), horizontal(axes, first.Count)})
	}
	return list
}

// spotList is where each group lies in its column.
func (g *geometry) spotList(t *tables) (list []spot) {
	axes := g.layout.Aperture
	side := 12 - 4*axes // points of a tile
	for i, c := range t.columns {
		for box := c.Boxes[0]; box < c.Boxes[1]; box++ {
			for n := g.firstGroup[box]; n < g.firstGroup[box+1]; n++ {
				list = append(list, spot{int32(i), horizontal(axes, corner(g.plan.Boxes[box], g.groupList[n*groupTiles], side))})
			}
		}
	}
	return list
}

// middles are the midpoints of p's traces along the horizontal axes.
func middles(p *kirchhoff.Problem, axes int) []middle {
	list := make([]middle, 0, axes*p.NumTraces())
	for trace := range p.NumTraces() {
		m := p.Middle(int32(trace))
		for _, x := range m[2-axes:] {
			whole := math.Floor(x)
			list = append(list, middle{int32(whole), float32(x - whole)})
		}
	}
	return list
}
