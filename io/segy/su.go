package segy

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/sniff"
)

// openSU finds the byte order of an SU file: the one in which the length of the
// first trace divides the file into traces.
func (f *File) openSU() error {
	f.Format = IEEE32
	if f.Size < headerBytes {
		return f.fault(0, "", "has %d bytes, less than the %d of a trace header", f.Size, headerBytes)
	}
	header, err := f.readAt(0, headerBytes)
	if err != nil {
		return err
	}
	if sniff.Head(header) == sniff.SEGY {
		return &Error{Path: f.Path, Err: &Foreign{Kind: string(sniff.SEGY)}}
	}
	own := func(o Order) int { return int(TraceSamples.Int(header, o.binary())) }
	orders := []Order{f.Order}
	if f.Order == AnyOrder {
		if orders = []Order{Little, Big}; f.likelierSU(header) == Big {
			orders = []Order{Big, Little}
		}
	}
	lengths := func(of func(Order) int) (list []*reading) {
		for _, o := range orders {
			if n := of(o); n >= 0 {
				list = append(list, &reading{f: f, by: fmt.Sprintf("header byte %d, %s-endian", TraceSamples.Byte, o), order: o, samples: n})
			}
		}
		return list
	}
	told := lengths(own)
	best, err := f.chooseSU(told, f.Order == AnyOrder)
	if err != nil {
		return err
	}
	f.alike = best != nil && !f.opt.Salvage
	if n := f.opt.Samples; n > 0 && (best == nil || !best.good() && !best.fits) {
		asked, err := f.chooseSU(lengths(func(Order) int { return n }), true)
		if err != nil {
			return err
		}
		if best == nil && asked == nil {
			asked = &reading{f: f, order: orders[0], samples: n}
		}
		if asked != nil {
			best, f.alike = asked, false
		}
	}
	if f.opt.Salvage && (best == nil || !best.good()) {
		all := append(lengths(own), lengths(func(Order) int { return 0 })...)
		for _, r := range all {
			if err := r.weigh(); err != nil {
				return err
			}
		}
		other, err := f.mostWhole(all)
		if err != nil {
			return err
		}
		best = cmp.Or(other, best)
	}
	switch {
	case best == nil && f.Order != AnyOrder && own(f.Order) == 0:
		return f.faultIn(TraceSamples, "is 0, must be positive")
	case best == nil && f.Order != AnyOrder:
		return f.contradiction(TraceSamples, told)
	case best == nil:
		err := f.faultIn(TraceSamples, "is %d (%d in little-endian order), neither of which divides the file's %d bytes into traces: this is no SU file, or one that is cut short", own(Big), own(Little), f.Size)
		err.(*Error).Hint = "--samples N gives the number of samples of a trace in the file, " + salvageHint
		return err
	}
	f.Order, f.Fixed, f.marks = best.order, best.samples, best.marks
	return nil
}

// chooseSU takes the reading whose headers make sense, otherwise the likelier of those
// that fit the size; nil for none. A byte order that is known needs neither.
func (f *File) chooseSU(list []*reading, fit bool) (*reading, error) {
	list = slices.DeleteFunc(list, func(r *reading) bool { return r.samples == 0 })
	for _, r := range list {
		if err := r.weigh(); err != nil {
			return nil, err
		}
	}
	if best := choose(list); best != nil && (best.fits || f.opt.Salvage || !fit) {
		return best, nil
	}
	for _, r := range list {
		if (r.fits || !fit) && (r.seen == 0 || !r.impossible()) {
			return r, nil
		}
	}
	return nil, nil
}

// likelierSU is for a file that either order divides: the interval between
// samples, in µs, is a round number in the right one.
func (f *File) likelierSU(header []byte) Order {
	zeros := func(o binary.ByteOrder) (n int) {
		for dt := TraceInterval.Int(header, o); dt > 0 && dt%10 == 0; dt /= 10 {
			n++
		}
		return n
	}
	if zeros(binary.BigEndian) > zeros(binary.LittleEndian) {
		return Big
	}
	return Little
}

// SUMark is where SU files of lsm state what their headers cannot hold: that lengths are
// metres, and whether the samples of a grid are depths or times. The bytes are not assigned
// in SU.
var SUMark = Field{Byte: 237, Length: 4}

// Values of SUMark, in ASCII "LSMZ" and "LSMT".
const (
	SUDepths = 0x4C534D5A
	SUTimes  = 0x4C534D54
)
