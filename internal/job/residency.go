package job

import "github.com/kirchhoff-lsm/lsm/survey"

// residency is where traces and tables are while the solver runs: the same on all ranks,
// for an image of which one rank's part came from rounded times and another's did not
// would be neither.
type residency struct {
	stream bool   // traces are read as they are needed, never held
	tables string // as kirchhoff.tables; "auto": not decided yet; "exact": in full or, where they do not fit, recomputed, to the same bits
}

// tries reports whether tables may be held as "full" or "uint16".
func (r residency) tries(tables string) bool {
	return r.tables == tables || r.tables == "auto" || r.tables == "exact" && tables == "full"
}

// precision says what traveltimes the operator has. Tables in full and tables that are
// recomputed have the same.
func (r residency) precision() string {
	switch r.tables {
	case "uint16", "coarse":
		return r.tables
	}
	return "exact"
}

// What a rank has to say about data.read = "auto" and kirchhoff.tables = "auto".
const (
	readTooMuch   = 1 << iota // all traces do not fit
	readRecompute             // they do, with tables that are recomputed
	readNoStream              // not even a group fits
	tablesRounded             // tables fit in 16 bits alone
	tablesRemade              // tables fit in no way
)

// chooseResidency decides where traces and tables are.
func (j *Job) chooseResidency() error {
	r, err := j.agreeOn(func(said func(rank int, s share, own *survey.Positions) uint64) (uint64, error) {
		return j.world.Host().Agree(said(j.world.Rank(), j.mine, j.own))
	})
	j.residency = r
	return err
}

// agreeOn decides by what all ranks say: every asks each of them, and puts the bits
// together.
func (j *Job) agreeOn(every func(said func(rank int, s share, own *survey.Positions) uint64) (uint64, error)) (residency, error) {
	flags, err := every(j.readFlags)
	if err != nil {
		return residency{}, err
	}
	r := residency{stream: j.streams(flags), tables: j.Config.Kirchhoff.Tables}
	if r.tables != "auto" {
		return r, nil
	}
	flags, err = every(func(rank int, s share, own *survey.Positions) (flags uint64) {
		m := j.memoryOf(rank, s, own, r)
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
		r.tables = "exact"
	case flags&tablesRounded != 0:
		r.tables = "uint16"
	default:
		r.tables = "full"
	}
	return r, err
}

func (j *Job) readFlags(rank int, s share, own *survey.Positions) (flags uint64) {
	if j.Config.Data.Read != "auto" || j.Config.Unstreamed() != "" {
		return 0
	}
	tables := j.Config.Kirchhoff.Tables
	if m := j.memoryOf(rank, s, own, residency{false, tables}); m.Total() > m.Limit {
		flags |= readTooMuch
	} else if m.Recompute && tables == "auto" {
		flags |= readRecompute
	}
	if flags != 0 {
		if m := j.memoryOf(rank, s, own, residency{true, tables}); m.Total() > m.Limit {
			flags |= readNoStream
		}
	}
	return flags
}

// streams reports whether traces are streamed, given what the ranks say.
func (j *Job) streams(flags uint64) bool {
	switch {
	case j.Config.Data.Read != "auto":
		return j.Config.Data.Read == "stream"
	case flags&readTooMuch != 0:
		return true
	}
	return flags&(readRecompute|readNoStream) == readRecompute
}
