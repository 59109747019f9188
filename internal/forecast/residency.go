package forecast

import "github.com/kirchhoff-lsm/lsm/internal/plan"

// What a rank has to say about data.read = "auto" and kirchhoff.tables = "auto".
const (
	readTooMuch   = 1 << iota // all traces do not fit
	readRecompute             // they do, with tables that are recomputed
	readNoStream              // not even a group fits
	tablesRounded             // tables fit in 16 bits alone
	tablesRemade              // tables fit in no way
)

// Decide decides where traces and tables are. It asks all ranks: ask calls say with the
// share of each rank and returns the bits that any of them has set.
func Decide(p *plan.Plan, ask func(say func(*plan.Share) uint64) (uint64, error)) (plan.Residency, error) {
	r := plan.Residency{Tables: p.Config.Kirchhoff.Tables}
	flags, err := ask(func(s *plan.Share) uint64 { return readFlags(p, s) })
	if err != nil {
		return r, err
	}
	if r.Stream = streams(p.Config.Data.Read, flags); r.Tables != "auto" {
		return r, nil
	}
	flags, err = ask(func(s *plan.Share) (flags uint64) {
		m := of(p, s, r)
		if m.Compact {
			flags |= tablesRounded
		}
		if m.Recompute {
			flags |= tablesRemade
		}
		return flags
	})
	switch {
	case flags&tablesRemade != 0:
		r.Tables = "exact"
	case flags&tablesRounded != 0:
		r.Tables = "uint16"
	default:
		r.Tables = "full"
	}
	return r, err
}

func readFlags(p *plan.Plan, s *plan.Share) (flags uint64) {
	if p.Config.Data.Read != "auto" || p.Config.Unstreamed() != "" {
		return 0
	}
	tables := p.Config.Kirchhoff.Tables
	if m := of(p, s, plan.Residency{Tables: tables}); m.Total() > m.Limit {
		flags |= readTooMuch
	} else if m.Recompute && tables == "auto" {
		flags |= readRecompute
	}
	if flags != 0 {
		if m := of(p, s, plan.Residency{Stream: true, Tables: tables}); m.Total() > m.Limit {
			flags |= readNoStream
		}
	}
	return flags
}

// streams reports whether traces are streamed, given data.read and what the ranks say.
func streams(read string, flags uint64) bool {
	switch {
	case read != "auto":
		return read == "stream"
	case flags&readTooMuch != 0:
		return true
	}
	return flags&(readRecompute|readNoStream) == readRecompute
}
