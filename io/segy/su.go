package segy

import "encoding/binary"

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
	if cardImage(header) {
		return &Error{Path: f.Path, Err: &Foreign{Format: FormatSEGY}}
	}
	own := func(o binary.ByteOrder) int { return int(TraceSamples.Int(header, o)) }
	big, little := own(binary.BigEndian), own(binary.LittleEndian)
	fits := func(n int) bool { return n > 0 && f.Size%f.traceBytes(n) == 0 }
	if f.Order == AnyOrder {
		switch {
		case fits(big) && fits(little):
			f.Order = f.likelierSU(header)
		case fits(little):
			f.Order = Little
		case fits(big):
			f.Order = Big
		default:
			return f.faultIn(TraceSamples, "is %d (%d in little-endian order), neither of which divides the file's %d bytes into traces: this is no SU file, or one that is cut short", big, little, f.Size)
		}
	}
	f.Fixed = own(f.ByteOrder())
	if f.Fixed == 0 {
		return f.faultIn(TraceSamples, "is 0, must be positive")
	}
	return nil
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
