package fielddata

import (
	"maps"
	"slices"

	"github.com/kirchhoff-lsm/lsm/io/navigation"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// headerWords are numbers of a trace header that may be keys of positions in other files, by
// the names of Seismic Unix.
var headerWords = map[string]segy.Field{
	"tracl": {Byte: 1, Length: 4}, "tracr": {Byte: 5, Length: 4}, "fldr": segy.FieldRecord, "tracf": segy.Channel,
	"ep": segy.SourcePoint, "cdp": segy.CDP, "cdpt": {Byte: 25, Length: 4},
}

// KeyWords lists the words that may be keys.
func KeyWords() []string { return slices.Sorted(maps.Keys(headerWords)) }

// GivenNames lists the quantities that other files may give.
func GivenNames() []string {
	return []string{"source_x", "source_y", "source_elevation", "source_depth", "source_static",
		"receiver_x", "receiver_y", "receiver_elevation", "receiver_depth", "receiver_static", "total_static"}
}

// LengthOf is a unit of length in m, 0 for "".
func LengthOf(unit string) float64 { return lengths[unit] }

// word is a number of the header that is read. Where the mapping moves the field record, the
// channel or the CDP, their words follow.
func (in *input) word(name string) int64 {
	field := headerWords[name]
	if p, ok := in.opt.Mapping[field]; ok {
		field = p.Field
	}
	if field.End() > len(in.t.Header) {
		return 0
	}
	return field.Int(in.t.Header, in.order)
}

// navigate fills in what other files say about the trace that is read, instead of its header.
// A trace that they lack is left out.
func (in *input) navigate(rec *record) {
	if in.opt.Navigation == nil {
		return
	}
	in.given = map[segy.Field]float64{}
	for _, source := range in.opt.Navigation {
		v, missing := source.Find(in.word)
		if missing != "" {
			in.found.QC.Unplaced++
			rec.leave("%s", missing)
			return
		}
		for name, x := range v {
			in.given[quantities[name]] = x
		}
	}
}

// Unmatched are records of a navigation file that no trace has.
type Unmatched struct {
	Source string   // what was read
	List   []string // names, at most mostUnmatched
	Count  int
}

// mostUnmatched bounds a list of records.
const mostUnmatched = 100000

// unmatched lists the records of other files that belong to no trace.
func unmatched(sources []navigation.Source) (list []Unmatched) {
	for _, s := range sources {
		u := Unmatched{Source: s.About()}
		u.List, u.Count = s.Unused(mostUnmatched)
		list = append(list, u)
	}
	return list
}
