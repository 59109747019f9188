package gpu

import (
	"cmp"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// cellSources is the largest number of sources in a cell of the adjoint. They share one
// read of a receiver's values.
const cellSources = 16

// adjointLists are the traces in the adjoint's order, those of each column by themselves:
// cells of receivers whose numbers follow each other in the whole survey, in each the runs
// of some sources. A run, the traces of one source in one cell, depends only on its
// source's traces, so it can be the unit of exact sums. Places have the numbers of the
// column.
type adjointLists struct {
	runs      []int32 // [run][2]: source place and cell
	rows      []int32 // [run][receivers], −1 for none
	receivers []int32 // [cell][receivers] places, −1 for none
	firsts    []int   // first run of each column, and their number
}

func newAdjointLists(l *kirchhoff.Plan, columns []column, width int32) *adjointLists {
	p := l.Problem.Positions
	rank := ranks(p)
	traces := order(0, len(p.Source), func(a, b int32) int {
		return cmp.Or(cmp.Compare(rank[p.Source[a]]/cellSources, rank[p.Source[b]]/cellSources),
			cmp.Compare(number(p, a)/width, number(p, b)/width), cmp.Compare(p.Source[a], p.Source[b]), cmp.Compare(a, b))
	})
	lists := &adjointLists{firsts: []int{0}}
	local := make([]int32, p.Len())
	for c, list := range l.ByColumn(traces) {
		columns[c].number(local)
		lists.add(p, list, rank, local, width)
	}
	return lists
}

// add adds the traces of a column. local holds the column's numbers of places.
func (l *adjointLists) add(p *survey.Positions, traces, rank, local []int32, width int32) {
	var last [2]int32
	first := len(l.runs) / 2
	for i, trace := range traces {
		source := p.Source[trace]
		cell := [2]int32{rank[source] / cellSources, number(p, trace) / width}
		if i == 0 || cell != last {
			l.receivers = append(l.receivers, none(width)...)
			last = cell
		}
		at := number(p, trace) % width
		cells := len(l.receivers) / int(width)
		l.receivers[(cells-1)*int(width)+int(at)] = local[p.Receiver[trace]]
		// A pair of places with several traces takes a run for each of them.
		n, s := len(l.runs)/2, local[source]
		if n == first || l.runs[2*n-2] != s || l.runs[2*n-1] != int32(cells-1) || l.rows[(n-1)*int(width)+int(at)] >= 0 {
			l.runs = append(l.runs, s, int32(cells-1))
			l.rows = append(l.rows, none(width)...)
			n++
		}
		l.rows[(n-1)*int(width)+int(at)] = trace
	}
	l.firsts = append(l.firsts, len(l.runs)/2)
}

// parts cuts the runs of each column into parts of nearly the same size: [column][part]
// first runs, followed by the column's last.
func (l *adjointLists) parts(n int) (list []int32) {
	for i, first := range l.firsts[:len(l.firsts)-1] {
		for _, run := range cut(l.firsts[i+1]-first, n) {
			list = append(list, int32(first)+run)
		}
	}
	return list
}

// number is the number of a trace's receiver in the whole survey.
func number(p *survey.Positions, trace int32) int32 { return p.NumberOf(p.Receiver[trace]) }

// forwardLists are the traces in the forward's blocks, of a few sources and receivers
// each. Every trace is summed by itself, so that no result depends on them.
type forwardLists struct {
	places []int32 // [block][blockPlaces], −1 for none: sources, then receivers
	traces []int32 // [block][lanes][2]: row, −1 for none; source + 256 receiver within places
	firsts []int   // first block of each piece, and their number

	// With an aperture, places are those of each column that a block visits, by the
	// column's numbers, −1 for places whose traces do not count in it.
	visits      []visit
	firstVisits []int32 // of each block, and the number of visits
}

// newForwardLists makes blocks that do not span pieces. cuts holds the first traces of
// the pieces. Rows are the numbers of p's traces until number changes them.
func newForwardLists(p *survey.Positions, cuts []int) *forwardLists {
	rank := ranks(p)
	const together = lanes / blockTargets
	l := &forwardLists{}
	for k := range len(cuts) - 1 {
		l.firsts = append(l.firsts, l.len())
		n := lanes // traces of the last block: the piece begins a new one
		for _, trace := range order(cuts[k], cuts[k+1], func(a, b int32) int {
			return cmp.Or(cmp.Compare(rank[p.Source[a]]/together, rank[p.Source[b]]/together),
				cmp.Compare(number(p, a)/blockTargets, number(p, b)/blockTargets),
				cmp.Compare(p.Source[a], p.Source[b]), cmp.Compare(number(p, a), number(p, b)), cmp.Compare(a, b))
		}) {
			if n == lanes || !l.set(n, p.Source[trace], p.Receiver[trace], trace) {
				l.places = append(l.places, none(blockPlaces)...)
				l.traces = append(l.traces, none(2*lanes)...)
				n = 0
				l.set(n, p.Source[trace], p.Receiver[trace], trace)
			}
			n++
		}
	}
	l.firsts = append(l.firsts, l.len())
	return l
}

func (l *forwardLists) len() int { return len(l.places) / blockPlaces }

// set makes a trace the nth of the last block. It returns false if there is no room for
// the trace's places.
func (l *forwardLists) set(n int, source, receiver, row int32) bool {
	places, traces := l.places[len(l.places)-blockPlaces:], l.traces[len(l.traces)-2*lanes:]
	s, r := find(places[:blockSources], source), find(places[blockSources:], receiver)
	if s < 0 || r < 0 {
		return false
	}
	places[s], places[blockSources+r] = source, receiver
	traces[2*n], traces[2*n+1] = row, int32(s+256*(blockSources+r))
	return true
}

// makeVisits makes the lists of the boxes that blocks visit.
func (l *forwardLists) makeVisits(plan *kirchhoff.Plan, columns []column) {
	var traces []int32 // in the order of blocks
	lane := make([]int, plan.Problem.NumTraces())
	for i := 0; i < len(l.traces); i += 2 {
		if row := l.traces[i]; row >= 0 {
			traces, lane[row] = append(traces, row), i
		}
	}
	type list struct{ column, number int } // of places, in the order of columns
	lists := make([][]list, l.len())
	whole := l.places
	l.places = nil
	local := make([]int32, plan.Problem.Positions.Len())
	for c, traces := range plan.ByColumn(traces) {
		columns[c].number(local)
		last, at := -1, []int32(nil)
		for _, row := range traces {
			block := lane[row] / (2 * lanes)
			if block != last {
				lists[block] = append(lists[block], list{c, l.len()})
				l.places = append(l.places, none(blockPlaces)...)
				last, at = block, l.places[len(l.places)-blockPlaces:]
			}
			within := l.traces[lane[row]+1]
			for _, n := range [2]int32{within % 256, within / 256} {
				at[n] = local[whole[block*blockPlaces+int(n)]]
			}
		}
	}
	for _, of := range lists {
		l.firstVisits = append(l.firstVisits, int32(len(l.visits)))
		for _, list := range of {
			for box := columns[list.column].Boxes[0]; box < columns[list.column].Boxes[1]; box++ {
				l.visits = append(l.visits, visit{int32(box), int32(list.column), int32(list.number)})
			}
		}
	}
	l.firstVisits = append(l.firstVisits, int32(len(l.visits)))
}

// number gives the traces their numbers in the image.
func (l *forwardLists) number(trace []int32) {
	for i := 0; i < len(l.traces); i += 2 {
		if row := l.traces[i]; row >= 0 {
			l.traces[i] = trace[row]
		}
	}
}

// find returns the index at which a place is or can be put, −1 if there is no room.
func find(list []int32, place int32) int {
	for i, v := range list {
		if v == place || v < 0 {
			return i
		}
	}
	return -1
}

// none is n times −1.
func none(n int32) []int32 { return slices.Repeat([]int32{-1}, int(n)) }

// ranks numbers the places that are sources, in ascending order.
func ranks(p *survey.Positions) []int32 {
	rank := make([]int32, p.Len())
	for _, s := range p.Source {
		rank[s] = 1
	}
	n := int32(0)
	for i, used := range rank {
		rank[i] = n
		n += used
	}
	return rank
}

// order is the traces lo to hi sorted.
func order(lo, hi int, compare func(a, b int32) int) []int32 {
	list := make([]int32, hi-lo)
	for i := range list {
		list[i] = int32(lo + i)
	}
	slices.SortFunc(list, compare)
	return list
}
