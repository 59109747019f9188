package segy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

const (
	headerBytes = 240  // a trace header, and each of its extensions
	reelBytes   = 3600 // textual and binary header
)

// openSEGY judges the headers before the traces.
func (f *File) openSEGY() error {
	if f.Size < reelBytes {
		return f.fault(0, "", "has %d bytes, less than the %d of a SEG-Y file's headers", f.Size, reelBytes)
	}
	var err error
	if f.Reel, err = f.readAt(0, reelBytes); err != nil {
		return err
	}
	f.Text, f.Format = decodeText(f.Reel[:textBytes]), f.opt.Format
	for _, judge := range []func() error{f.judgeOrder, f.judgeFormat, f.judgeRevision, f.judgeSampling, f.judgeExtent, f.judgeLength, f.judgeFloats} {
		if err := judge(); err != nil {
			return err
		}
	}
	return nil
}

// judgeOrder finds the byte order: by the constant that revision 2 has for it, otherwise
// as the one in which the format code is one (section 5, bytes 3297 and 3225).
func (f *File) judgeOrder() error {
	if f.Order != AnyOrder {
		return nil
	}
	switch uint32(fileByteOrder.Int(f.Reel, binary.BigEndian)) {
	case 0x01020304:
		f.Order = Big
		return nil
	case 0x04030201:
		f.Order = Little
		return nil
	case 0x02010403:
		return f.faultIn(fileByteOrder, "says that bytes are swapped in pairs, which is not supported; dd conv=swab mends such a file")
	}
	big, little := fileFormat.Int(f.Reel, binary.BigEndian), fileFormat.Int(f.Reel, binary.LittleEndian)
	switch {
	case known(big):
		f.Order = Big
	case known(little):
		f.Order = Little
		f.note("headers are little-endian, against revisions 0 and 1 of the standard")
	default:
		if other := f.lookalike(); other != nil {
			return &Error{Path: f.Path, Err: other}
		}
		return f.faultIn(fileFormat, "is %d (%d in little-endian order), want one of 1, 2, 3, 5 to 12, 15, 16: this is no SEG-Y file, or a damaged one", big, little)
	}
	return nil
}

// known tells the codes that the standard has, supported or not.
func known(code int64) bool { return Format(code) == gained4 || Format(code).Bytes() > 0 }

func (f *File) judgeFormat() error {
	if f.Format == 0 {
		f.Format = Format(f.number(fileFormat))
	}
	if f.Format == gained4 {
		return f.faultIn(fileFormat, "is 4, fixed point with gain code, which is obsolete and not supported")
	}
	if f.Format.Bytes() == 0 {
		return f.faultIn(fileFormat, "is %d, want one of 1, 2, 3, 5 to 12, 15, 16", int(f.Format))
	}
	return nil
}

// judgeRevision reads the revision: two bytes of their own since revision 2, a
// fixed-point number in revision 1 (0100 hexadecimal), which many programs write
// as a plain 1 (or 2), and anything in revision 0.
func (f *File) judgeRevision() error {
	major, minor := int(f.Reel[fileMajor.Byte-1]), int(f.Reel[fileMinor.Byte-1])
	switch {
	case major <= 2 && (major > 0 || minor == 0):
		f.Major, f.Minor = major, minor
	case major == 0 && (minor == 1 || minor == 2):
		f.Major = minor
	default:
		f.note("byte %d: revision %d.%d is unknown; taken as revision 0", fileMajor.Byte, major, minor)
	}
	return nil
}

func (f *File) judgeSampling() error {
	f.Samples, f.samplesIn = int(f.number(fileSamples)), fileSamples
	f.Interval = float64(f.number(fileInterval)) / 1e6
	f.Units, f.Sorting = int(f.number(fileUnits)), int(f.number(fileSorting))
	if f.Units < 0 || f.Units > 2 {
		f.note("byte %d: measurement system is %d, want 1 (metres) or 2 (feet); taken as not given", fileUnits.Byte, f.Units)
		f.Units = 0
	}
	if f.Major < 2 {
		return nil
	}
	if n := f.number(fileExtSamples); n != 0 {
		if n < 0 {
			return f.faultIn(fileExtSamples, "is %d, must not be negative", n)
		}
		f.Samples, f.samplesIn = int(n), fileExtSamples
	}
	if v := fileExtInterval.Value(f.Reel, f.ByteOrder()); v != 0 {
		if !(v > 0) || math.IsInf(v, 0) {
			return f.faultIn(fileExtInterval, "is %g µs, must be positive", v)
		}
		f.Interval = v / 1e6
	}
	return nil
}

// judgeExtent finds where the traces begin and end (sections 3.2, 5, 6 and 8).
func (f *File) judgeExtent() error {
	f.first = reelBytes
	texts, err := f.texts()
	if err != nil {
		return err
	}
	f.first += texts * textBytes
	if f.Major < 2 {
		return nil
	}
	return f.judgeExtent2()
}

// texts is the number of extended textual headers. Values that revision 1 and later must
// state; otherwise the traces would be taken from anywhere.
func (f *File) texts() (int64, error) {
	room := (f.Size - reelBytes) / textBytes
	if asked := f.opt.Texts; asked != nil {
		if n := int64(*asked); n >= 0 && n <= room {
			return n, nil
		}
		return 0, f.faultIn(fileTexts, "%d are asked for, but the file has room for %d", *asked, room)
	}
	stated, err := f.statedTexts()
	if err != nil || f.Major == 0 || stated == 0 {
		return stated, err
	}
	there, err := f.textRecords()
	if err != nil || there == stated {
		return there, err
	}
	n := stated
	var fault error
	switch {
	case stated < -1:
		fault = f.faultIn(fileTexts, "is %d, must be -1 or more", stated)
	case stated == -1:
		if n, fault = f.endText(); fault == nil {
			return n, nil
		}
	case stated > room:
		fault = f.faultIn(fileTexts, "is %d, but the file has room for %d", stated, room)
	}
	switch begins := f.begins(there); {
	case begins && (fault != nil || there < stated || !f.begins(stated)):
		if f.opt.Salvage {
			f.note("extended textual headers: byte %d says %d, but %d are there", fileTexts.Byte, stated, there)
			return there, nil
		}
		if fault == nil {
			fault = f.faultIn(fileTexts, "is %d, but %d texts follow, and then a trace header at byte %d", stated, there, reelBytes+there*textBytes+1)
		}
		fault.(*Error).Hint = fmt.Sprintf("--extended-texts %d takes the traces from byte %d on, where a trace header is; --salvage does so too", there, reelBytes+there*textBytes+1)
	case fault != nil:
		fault.(*Error).Hint = "--extended-texts N gives the number of texts that are there"
	}
	return n, fault
}

// textRecords is the number of texts that do follow the binary header.
func (f *File) textRecords() (n int64, err error) {
	for reelBytes+(n+1)*textBytes <= f.Size {
		raw, err := f.readAt(reelBytes+n*textBytes, textBytes)
		if err != nil || !textual(raw) {
			return n, err
		}
		n++
	}
	return n, nil
}

// begins reports whether the first trace comes after a number of texts: either its header
// has the sampling of the binary header, or the headers behind it make sense.
func (f *File) begins(texts int64) bool {
	first, o := reelBytes+texts*textBytes, f.ByteOrder()
	h, _, err := (&reading{f: f, order: f.Order}).headAt(first)
	if h == nil || err != nil {
		return false
	}
	if (marks{interval: f.number(fileInterval), samples: int64(f.Samples)}).fit(h, o) {
		return true
	}
	for _, n := range []int{f.Samples, int(TraceSamples.Int(h, o))} {
		r := &reading{f: f, order: f.Order, first: first, samples: n}
		if n > 0 && r.weigh() == nil && r.good() && r.marks.fit(h, o) {
			return true
		}
	}
	return false
}

// statedTexts is the number of extended textual headers, -1 for one to be found out.
// Revision 0 does not define byte 3505: there the number counts only where a text
// follows. A stanza that no number announces counts in every revision.
func (f *File) statedTexts() (int64, error) {
	n := f.number(fileTexts)
	if f.Major > 0 && n != 0 || f.Size < reelBytes+textBytes {
		if f.Major == 0 {
			n = 0
		}
		return n, nil
	}
	first, err := f.readAt(reelBytes, textBytes)
	if err != nil {
		return 0, err
	}
	stanza := strings.HasPrefix(decodeText(first), "((")
	switch {
	case !textual(first) || n == 0 && !stanza || n < 0 && !stanza || n > (f.Size-reelBytes)/textBytes:
		return 0, nil
	case n < 0:
		if n, err = f.endText(); err != nil {
			return 0, nil // no number, and no end: the byte means something else
		}
	case n == 0:
		if n, err = f.textRecords(); err != nil {
			return 0, err
		}
	}
	f.note("%d extended textual headers, which byte %d of revision %d does not announce, are there and passed over", n, fileTexts.Byte, f.Major)
	return n, nil
}

// maxExtra is the greatest number of header extensions (section 7.1, byte 157 of the
// first one has two bytes).
const maxExtra = 65535

// statedExtra is the number of header extensions: four bytes in revision 2.0, two from
// 2.1 on. Programs that write two call their files 2.0 all the same.
func (f *File) statedExtra() (int64, error) {
	long, short := fileExtra, fileExtra
	short.Length, short.Unsigned = 2, true
	most := min(maxExtra, f.Size/headerBytes)
	n, two := f.number(long), f.number(short)
	switch {
	case f.Minor > 0:
		n = two
	case n >= 0 && n <= most:
		return n, nil
	case two <= most:
		f.note("byte %d: %d additional trace headers do not fit into the file; taken as %d, the number of two bytes that revision 2.1 has there", long.Byte, n, two)
		n = two
	}
	if n < 0 || n > most {
		return 0, f.faultIn(long, "is %d, must be in [0, %d] for a file of %d bytes", n, most, f.Size)
	}
	return n, nil
}

// judgeExtent2 handles the additions of revision 2.
func (f *File) judgeExtent2() error {
	n, err := f.statedExtra()
	if err != nil {
		return err
	}
	f.Extra = int(n)
	if first := f.number(fileFirst); first != 0 {
		if first < f.first || first > f.Size {
			return f.faultIn(fileFirst, "is %d, must be in [%d, %d]", first, f.first, f.Size)
		}
		f.first = first
	}
	if f.claimed = f.number(fileTraces); f.claimed < 0 || f.claimed > f.Size/headerBytes {
		return f.faultIn(fileTraces, "is %d, but the file has room for %d", f.claimed, f.Size/headerBytes)
	}
	n = f.number(fileTrailers)
	if room := (f.Size - f.first) / textBytes; n < 0 || n > room {
		if n == -1 {
			return f.faultIn(fileTrailers, "is -1, a number to be found out, which is not supported")
		}
		return f.faultIn(fileTrailers, "is %d, must be in [0, %d]", n, room)
	}
	f.end -= n * textBytes
	return nil
}

// endText counts the extended textual headers up to the one that says that it is
// the last (section 6.2).
func (f *File) endText() (n int64, err error) {
	for at := int64(reelBytes); at+textBytes <= f.Size; at += textBytes {
		raw, err := f.readAt(at, textBytes)
		if err != nil {
			return 0, err
		}
		n++
		text := strings.ToLower(strings.Join(strings.Fields(decodeText(raw)), ""))
		if strings.Contains(text, "((seg:endtext))") {
			return n, nil
		}
	}
	return 0, f.faultIn(fileTexts, "is -1, but none of the %d records that fit is the last, ((SEG: EndText))", n)
}

// judgeLength decides whether all traces have one length. The flag for it came
// with revision 1, and programs set neither it nor the lengths in the trace
// headers with care. Where they contradict each other, or the size of the file, the headers
// of the traces behind the first one decide.
func (f *File) judgeLength() error {
	span := f.end - f.first
	if span < headerBytes {
		if span == 0 {
			return &Error{Path: f.Path, Err: errors.New("holds no traces")}
		}
		return f.fault(f.first+1, "first trace", "%d bytes are left, a trace header has %d", span, headerBytes)
	}
	header, err := f.readAt(f.first, headerBytes)
	if err != nil {
		return err
	}
	own := int(TraceSamples.Int(header, f.ByteOrder()))
	flag := f.Major > 0 && f.number(fileFixed) == 1
	var list []*reading
	add := func(by string, samples int) {
		list = append(list, &reading{f: f, by: by, order: f.Order, first: f.first, samples: samples})
	}
	stated := fmt.Sprintf("byte %d", f.samplesIn.Byte)
	switch {
	case f.Extra > 0 && flag && f.Samples > 0:
		add(stated, f.Samples)
	case f.Extra > 0 || f.Major > 0 && !flag || f.Samples == 0 && own == 0:
		add("headers of traces", 0)
		if f.Extra == 0 && f.Samples > 0 && own > 0 && (own != f.Samples || f.opt.Salvage) {
			add(stated, f.Samples)
		}
	default:
		if f.Samples > 0 {
			add(stated, f.Samples)
		}
		if own > 0 && own != f.Samples {
			add(fmt.Sprintf("byte %d of the first trace header", TraceSamples.Byte), own)
		}
	}
	return f.settle(f.samplesIn, list)
}
