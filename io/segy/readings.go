package segy

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// reading is one way to take the bytes of a file for traces. Two numbers in headers may
// contradict each other, and both may fit the file's size by chance. Then the headers tell:
// where a reading is right, each trace is followed by a header that repeats what the others
// have; where it is wrong, a header would lie among the samples.
type reading struct {
	f       *File
	by      string // what says so
	order   Order
	first   int64 // bytes before the first trace
	samples int   // of every trace, 0 where its header says

	marks    marks
	seen     int  // headers after the first that were looked at
	sound    int  // of them, those that repeat the marks
	nonsense int  // of them, those whose codes no header has
	fits     bool // traces fill the file to the byte, as far as is known
}

// marks are the numbers that most headers of a file repeat, each 0 where none does.
type marks struct {
	interval, samples int64
	codes             [len(codes)]int64
}

// codes have few values in headers, and any in samples.
var codes = [...]struct {
	Field
	usual func(v int64) bool
}{
	{TraceID, between(-1, 100)}, {ElevationScalar, power}, {CoordinateScalar, power}, {CoordinateUnits, between(0, 4)},
	{Field{Byte: 35, Length: 2}, between(0, 2)},   // data use
	{Field{Byte: 119, Length: 2}, between(0, 10)}, // gain type
	{Field{Byte: 125, Length: 2}, between(0, 2)},  // correlated
}

func between(lo, hi int64) func(int64) bool { return func(v int64) bool { return v >= lo && v <= hi } }

// power tells scalars: powers of ten with either sign, and 0.
func power(v int64) bool {
	return slices.Contains([]int64{0, 1, 10, 100, 1000, 10000}, max(v, -v))
}

// none reports whether the headers give neither an interval nor a number of samples.
func (m marks) none() bool { return m.interval == 0 && m.samples == 0 }

// stride is how far apart the headers of traces of one length are, bytes.
func (r *reading) stride() int64 { return r.f.traceBytes(r.samples) }

// good reports whether the headers after the first make sense: more than half as many would
// where every second one is a header.
func (r *reading) good() bool { return r.seen > 0 && 5*r.sound >= 4*r.seen }

// impossible reports whether headers of the reading are none, or it has no second header
// and does not fit.
func (r *reading) impossible() bool {
	return r.nonsense > 0 && 2*r.sound <= r.seen || r.seen == 0 && !r.fits
}

// String says what the reading takes, and what speaks for and against it.
func (r *reading) String() string {
	what := "traces of the lengths in their headers"
	if r.samples > 0 {
		what = fmt.Sprintf("%d samples a trace", r.samples)
	}
	return fmt.Sprintf("%s (%s): %d of %d headers that follow make sense, the size of the file %s", what, r.by, r.sound, r.seen,
		map[bool]string{true: "fits", false: "does not fit"}[r.fits])
}

// nearHeaders are looked at one after the other from the first on, farHeaders in the rest of
// the file.
const nearHeaders, farHeaders = 64, 64

// weigh looks at the headers of a reading.
func (r *reading) weigh() error {
	heads, err := r.heads()
	if err != nil || len(heads) == 0 {
		return err
	}
	o := r.order.binary()
	r.marks = marksOf(heads, o)
	for _, h := range heads[1:] {
		r.seen++
		switch {
		case r.marks.fit(h, o):
			r.sound++
		case !r.marks.plausible(h, o):
			r.nonsense++
		}
	}
	return nil
}

// heads are headers of a reading: the first of the file, one after the other, then where all
// have one size some in the rest of it.
func (r *reading) heads() (heads [][]byte, err error) {
	f, at := r.f, r.first
	for at < f.end && len(heads) <= nearHeaders {
		h, size, err := r.headAt(at)
		if err != nil {
			return heads, err
		}
		if h == nil { // less than a header is left
			break
		}
		heads = append(heads, h)
		if size == 0 {
			return heads, nil // it has no length of its own
		}
		at += size
	}
	r.fits = at == f.end || len(heads) > nearHeaders
	stride := r.stride()
	if r.samples == 0 || f.Extra > 0 {
		return heads, nil
	}
	span := f.end - r.first
	r.fits = span%stride == 0
	n := span / stride
	for i := int64(0); i < farHeaders && n > 4*nearHeaders && !f.opt.Salvage; i++ {
		far := min(n-1, nearHeaders+1+(n-nearHeaders)*i/farHeaders+i%5) // of odd and even numbers
		h, _, err := r.headAt(r.first + far*stride)
		if err != nil {
			return heads, err
		}
		heads = append(heads, h)
	}
	return heads, nil
}

// headAt is the header at a place, with the examined part of its extensions, and the bytes
// of its trace; nil if the file ends before, 0 bytes if it gives no length.
func (r *reading) headAt(at int64) (h []byte, size int64, err error) {
	f, want := r.f, int64(headerBytes)
	if f.Extra > 0 {
		want *= 2
	}
	if at+want > f.end {
		return nil, 0, nil
	}
	if h, err = f.readAt(at, int(want)); err != nil {
		return nil, 0, err
	}
	n, extra := int64(r.samples), int64(f.Extra)
	if Extended(h) {
		extra = cmp.Or(extBlocks.Int(h, r.order.binary()), extra)
	}
	if n == 0 {
		n = ownSamples(h, r.order.binary())
	}
	if n = cmp.Or(n, int64(f.Samples)); n <= 0 || n > math.MaxInt32 {
		return h, 0, nil
	}
	return h, headerBytes*(1+extra) + n*int64(f.Format.Bytes()), nil
}

// ownSamples is the number of samples that a header gives, 0 for none.
func ownSamples(h []byte, o binary.ByteOrder) int64 {
	if Extended(h) && extSamples.Int(h, o) > 0 {
		return extSamples.Int(h, o)
	}
	return TraceSamples.Int(h, o)
}

// marksOf finds what most headers repeat.
func marksOf(heads [][]byte, o binary.ByteOrder) marks {
	most := func(field Field) (mark int64) {
		votes := map[int64]int{}
		for _, h := range heads {
			v := field.Int(h, o)
			if v == 0 {
				continue
			}
			votes[v]++
			if votes[v] > votes[mark] { // the earlier one, where there are as many
				mark = v
			}
		}
		return mark
	}
	m := marks{interval: most(TraceInterval), samples: most(TraceSamples)}
	for i, code := range codes {
		m.codes[i] = most(code.Field)
	}
	return m
}

// fit reports whether a header repeats the marks, or one of them with codes that headers have.
func (m marks) fit(h []byte, o binary.ByteOrder) bool {
	repeats := func(field Field, mark int64) bool { return mark != 0 && int64(o.Uint16(h[field.Byte-1:])) == mark }
	interval, samples := repeats(TraceInterval, m.interval), repeats(TraceSamples, m.samples)
	return interval && samples || (interval || samples) && m.plausible(h, o)
}

// plausible reports whether all codes of a header, except one, are valid. Samples rarely
// look so.
func (m marks) plausible(h []byte, o binary.ByteOrder) bool {
	odd := 0
	for i, code := range codes {
		if v := code.Int(h, o); !code.usual(v) && v != m.codes[i] {
			odd++
		}
	}
	return odd < 2
}

// choose returns the one reading that the headers leave: the one whose headers make sense,
// otherwise the only one that is possible. nil says that they do not decide.
func choose(list []*reading) *reading {
	var good, possible []*reading
	for _, r := range list {
		switch {
		case r.good():
			good = append(good, r)
		case !r.impossible() && r.fits:
			possible = append(possible, r)
		}
	}
	switch {
	case len(good) == 0 && len(possible) == 1:
		return possible[0]
	case len(good) == 0:
		return nil
	}
	// Traces of twice the length begin with a header too: it is the shorter one that has no
	// header among its samples.
	best := good[0]
	for _, r := range good[1:] {
		switch {
		case best.samples == 0 || r.samples == 0:
		case best.samples > r.samples && best.stride()%r.stride() == 0:
			best = r
		case r.stride()%best.stride() != 0:
			return nil
		}
	}
	return best
}

// settle takes the one of some readings that is right; field is where the number is from that
// they contradict.
func (f *File) settle(field Field, list []*reading) error {
	for _, r := range list {
		if err := r.weigh(); err != nil {
			return err
		}
	}
	best, others := choose(list), list
	if f.Extra > 0 && (best == nil || !best.good()) {
		other, err := f.withoutExtra(list)
		if err != nil {
			return err
		}
		best = cmp.Or(other, best)
	}
	vary := &reading{f: f, by: "headers of traces", order: list[0].order, first: f.first}
	if (best == nil || !best.good()) && list[0].samples > 0 {
		if err := vary.weigh(); err != nil {
			return err
		}
		if vary.good() {
			best = nil
		}
		if vary.good() || f.opt.Salvage {
			others = append(slices.Clip(list), vary)
		}
	}
	if f.opt.Samples > 0 && (best == nil || !best.good() && !best.fits) {
		asked := &reading{f: f, by: "--samples", order: list[0].order, first: f.first, samples: f.opt.Samples}
		if err := asked.weigh(); err != nil {
			return err
		}
		if best == nil || asked.good() || asked.fits {
			best = asked
		}
	}
	if best == nil && f.opt.Salvage {
		var err error
		if best, err = f.mostWhole(others); err != nil {
			return err
		}
	}
	if only := list[0]; best == nil && (len(list) == 1 || !only.fits && only.nonsense == 0) && !vary.good() && (only.samples == 0 || f.Extra > 0 || only.seen == 0 || !only.impossible()) {
		best = only // what does not fit is refused where it ends
	}
	if best == nil {
		return f.contradiction(field, others)
	}
	f.Fixed, f.Order, f.marks = best.samples, best.order, best.marks
	f.tellChoice(best, list)
	return nil
}

// withoutExtra is the reading of a file whose traces have no header extensions though the file
// header announces some, if the headers follow each other so; otherwise nil.
func (f *File) withoutExtra(list []*reading) (*reading, error) {
	stated := f.Extra
	f.Extra = 0
	for _, r := range list {
		r := *r
		r.seen, r.sound, r.nonsense = 0, 0, 0
		if err := r.weigh(); err != nil {
			return nil, err
		}
		if r.good() {
			f.note("byte %d: of %d header extensions there is none: of the headers that follow %d of %d make sense without", fileExtra.Byte, stated, r.sound, r.seen)
			return &r, nil
		}
	}
	f.Extra = stated
	return nil, nil
}

// tellChoice notes which of the numbers in headers count.
func (f *File) tellChoice(best *reading, list []*reading) {
	var says, against []string
	for _, r := range list {
		if r.samples == 0 {
			continue
		}
		verb := " says"
		if len(says) > 0 {
			verb = ""
		}
		says = append(says, fmt.Sprintf("%s%s %d", r.by, verb, r.samples))
		if r.samples != best.samples {
			against = append(against, fmt.Sprintf("%d of %d with %d", r.sound, r.seen, r.samples))
		}
	}
	if len(against) == 0 || best.samples == 0 && list[0].samples == 0 {
		return
	}
	taken := "the lengths in their headers"
	if best.samples > 0 {
		taken = fmt.Sprint(best.samples)
	}
	size := "the headers fit"
	if best.fits {
		size = "the size of the file fits"
	}
	f.note("samples a trace: %s; %s %s: of the headers that follow %d of %d make sense (%s)",
		strings.Join(says, ", "), size, taken, best.sound, best.seen, strings.Join(against, ", "))
}

// mostWhole takes the reading that gives the most whole traces, less what is lost between them,
// in the beginning of a damaged file; nil where none gives any.
func (f *File) mostWhole(list []*reading) (best *reading, err error) {
	longest := 0
	for _, r := range list {
		longest = max(longest, r.samples)
	}
	end := f.end
	defer func() { f.end = end }()
	f.end = min(end, f.first+nearHeaders*f.traceBytes(longest)+searchBytes)
	most := 0
	for _, r := range list {
		f.Fixed, f.Order, f.marks = r.samples, r.order, r.marks
		reader := f.Reader()
		whole := 0
		for ; ; whole++ {
			if _, err := reader.Next(false); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
		}
		if whole > 0 && (best == nil || whole-len(reader.Lost) > most) {
			best, most = r, whole-len(reader.Lost)
		}
	}
	return best, nil
}

// longestRepeat bounds how far behind the first header the second one is looked for, bytes.
const longestRepeat = 4 << 20

// repeats finds the number of samples after which headers follow each other throughout, 0
// for none: what a hint can offer where the numbers in headers are wrong.
func (f *File) repeats(first int64, order Order) int {
	head, err := f.readAt(first, headerBytes)
	if err != nil {
		return 0
	}
	b, err := f.readAt(first, int(min(longestRepeat, f.end-first)))
	if err != nil {
		return 0
	}
	o := order.binary()
	m := marksOf([][]byte{head}, o)
	if m.none() {
		return 0
	}
	width := f.Format.Bytes()
	for n := 1; headerBytes*2+n*width <= len(b); n++ {
		if h := b[headerBytes+n*width:][:headerBytes]; m.fit(h, o) && !bytes.Equal(h, b[:headerBytes]) {
			r := &reading{f: f, order: order, first: first, samples: n}
			if r.weigh() == nil && r.good() {
				return n
			}
		}
	}
	return 0
}

// contradiction is the error for readings among which the headers do not decide.
func (f *File) contradiction(field Field, list []*reading) error {
	var texts []string
	for _, r := range list {
		texts = append(texts, r.String())
	}
	hint := "--samples N gives the number of samples of a trace in the file, " + salvageHint
	if n := f.repeats(f.first, list[0].order); n > 0 {
		hint = fmt.Sprintf("--samples %d takes %d samples a trace, where headers follow each other; %s", n, n, salvageHint)
	}
	for _, r := range list {
		if r.samples == 0 && r.good() {
			hint = "--salvage takes traces of the lengths that their headers give, and lists the rest"
		}
	}
	return &Error{Path: f.Path, Byte: int64(field.Byte), Field: names[field], Hint: hint,
		Err: fmt.Errorf("the length of traces cannot be determined: %s", strings.Join(texts, "; "))}
}
