package segy

import (
	"encoding/binary"

	"github.com/kirchhoff-lsm/lsm/internal/sniff"
)

// Foreign is a file of another format, told by its first bytes.
type Foreign struct {
	Kind   string // as internal/sniff names it
	Begins string // beginning of a text, quoted; otherwise ""
}

// Error says what the file is.
func (e *Foreign) Error() string {
	what := e.Kind
	if e.Begins != "" {
		what += " that begins with " + e.Begins
	}
	switch sniff.Kind(e.Kind) {
	case sniff.SEGY:
		return "looks like " + what + ", not SU"
	case sniff.SU, sniff.SEGD:
		return "looks like " + what + ", not SEG-Y"
	}
	return "is " + what + ", not SEG-Y or SU"
}

// foreign tells a file that is neither SEG-Y nor SU by its first bytes; nil for one
// that may be.
func foreign(head []byte) *Foreign {
	switch kind := sniff.Head(head); kind {
	case sniff.Unknown, sniff.SEGY:
		return nil
	case sniff.Text:
		return &Foreign{Kind: string(kind), Begins: sniff.Begins(head)}
	default:
		return &Foreign{Kind: string(kind)}
	}
}

// lookalike is for a file without a sample format: one that is SU throughout, or begins like
// SEG-D.
func (f *File) lookalike() *Foreign {
	for _, o := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
		if n := TraceSamples.Int(f.Reel, o); n > 1 && f.Size%(headerBytes+4*n) == 0 {
			return &Foreign{Kind: string(sniff.SU)}
		}
	}
	if sniff.TapeHeader(f.Reel) {
		return &Foreign{Kind: string(sniff.SEGD)}
	}
	return nil
}
