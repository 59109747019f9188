package segy

import (
	"fmt"
	"io"
)

// Lost is a stretch of a file that holds no whole trace.
type Lost struct {
	Number int   // it has among traces, from 0
	At     int64 // bytes before it in the file
	Bytes  int64
	Reason string
}

// salvage passes over everything except whole traces. A header is one that repeats what
// most have; where it does not, the next one that does and that another one follows is
// looked for. A trace is whole if the next header, or the end, is where its length says.
func (r *Reader) salvage() error {
	for r.at < r.f.end {
		left := r.f.end - r.at
		if left < headerBytes {
			r.lose(r.f.end, fmt.Sprintf("%d bytes behind the last trace are no trace header", left))
			break
		}
		size, sound, err := r.f.traceAt(r.at)
		switch {
		case err != nil:
			return err
		case sound && size > left && r.f.Fixed > 0:
			r.lose(r.f.end, fmt.Sprintf("the file ends inside the trace: %d of its %d bytes are there", left, size))
		case sound && size > left:
			err = r.resume(fmt.Sprintf("its header says %d bytes, %d are left: the file ends inside the trace, or the number is wrong", size, left))
		case !sound:
			err = r.resume("holds no trace header that makes sense")
		default:
			ends, err := r.f.ends(r.at + size)
			if err != nil || ends {
				return err
			}
			next, err := r.nextHeader()
			if err != nil || r.f.Fixed > 0 && ((next-r.at)%size == 0 || next == r.f.end) {
				return err // this trace is whole, the next header is not
			}
			r.lose(next, "the trace is not whole: no header follows where its length says")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resume passes over everything up to the next header that makes sense.
func (r *Reader) resume(reason string) error {
	next, err := r.nextHeader()
	if err != nil {
		return err
	}
	r.lose(next, reason)
	return nil
}

// lose passes over the bytes up to a place.
func (r *Reader) lose(to int64, reason string) {
	n := to - r.at
	r.Lost = append(r.Lost, Lost{Number: r.next, At: r.at, Bytes: n, Reason: fmt.Sprintf("%s; bytes %d to %d are passed over", reason, r.at+1, to)})
	r.at = to
	r.next++
	r.buf.Reset(io.NewSectionReader(r.f.r, to, r.f.end-to))
}

// traceAt is the size of the trace at a place, and whether its header makes sense. Where
// headers have no marks, all do.
func (f *File) traceAt(at int64) (size int64, sound bool, err error) {
	h, size, err := (&reading{f: f, order: f.Order, samples: f.Fixed}).headAt(at)
	if err != nil || h == nil || size == 0 {
		return size, false, err
	}
	if f.Extra > 0 && Extended(h) && extBlocks.Int(h, f.ByteOrder()) > int64(f.Extra) {
		return size, false, nil
	}
	return size, f.marks.none() || f.marks.fit(h, f.ByteOrder()), nil
}

// ends reports whether a trace may end at a place: a header follows, or nothing that could
// be one.
func (f *File) ends(at int64) (bool, error) {
	if f.marks.none() || f.end-at < headerBytes {
		return true, nil
	}
	_, sound, err := f.traceAt(at)
	return sound, err
}

// searchBytes is the size of one step of the search for a header.
const searchBytes = 1 << 20

// nextHeader is the place of the next header that makes sense and is followed, behind its
// trace, by another one or the end; the end without such a header.
func (r *Reader) nextHeader() (int64, error) {
	f, o := r.f, r.f.ByteOrder()
	for at := r.at + 1; f.end-at >= headerBytes && !f.marks.none(); at += searchBytes - headerBytes + 1 {
		if r.Stop != nil {
			if err := r.Stop(); err != nil {
				return 0, err
			}
		}
		b, err := f.readAt(at, int(min(searchBytes, f.end-at)))
		if err != nil {
			return 0, err
		}
		for i := 0; i+headerBytes <= len(b); i++ {
			if !f.marks.fit(b[i:i+headerBytes], o) {
				continue
			}
			place := at + int64(i)
			size, sound, err := f.traceAt(place)
			if err != nil {
				return 0, err
			}
			if !sound || size == 0 {
				continue
			}
			if ends, err := f.ends(min(place+size, f.end)); err != nil || ends {
				return place, err
			}
		}
	}
	return f.end, nil
}
