package fielddata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"syscall"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/quality"
	"github.com/kirchhoff-lsm/lsm/internal/sniff"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// record holds the data of a trace that are kept between the two passes over the files.
type record struct {
	in        *input
	number    int32 // of the trace in its file, from 0
	at        int64 // bytes before it
	place     [2][3]float64
	row       [2]int32 // of its source and its receiver
	own       float64  // s, sampling interval: that of its header, 0 for none, until it is settled
	delay     float64  // s
	offset    float64  // m, of its header
	static    float64  // s, static correction that is still to be applied
	depth     float32  // m, of the source below the surface
	uphole    float32  // s, time from the source up to the surface
	hash      uint64   // of the samples
	peak, rms float32
	ns        int32
	label     [3]int32 // field record, channel, CDP
	shift     int32    // samples by which the survey's window begins later
	fraction  float64  // of a sample by which the trace is moved later in addition
	out       bool
}

const (
	source   = 0
	receiver = 1
)

var roles = [2]string{source: "source", receiver: "receiver"}

// Left is a trace that is not in the survey.
type Left struct {
	File   string
	Trace  int      // from 1
	Byte   int64    // of its header in the file, from 1
	Label  [3]int32 // field record, channel and CDP of its header
	Reason string

	order int64 // among all traces read
}

// Findings are the results of the first pass over the traces.
type Findings struct {
	Left     []Left // in the order of the traces
	Warnings []string
	Notes    []string
	QC       QC

	Unmatched []Unmatched // records of navigation files
}

func (f *Findings) warn(format string, args ...any) {
	f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
}

// Import is the outcome of the first reading.
type Import struct {
	Files []*input // in the order given
	opt   Options
	Findings
	Geometry
	Window
}

// kept yields the traces that are in the survey so far.
func (im *Import) kept(yield func(t *record) bool) {
	for _, in := range im.Files {
		for t := range in.kept {
			if !yield(t) {
				return
			}
		}
	}
}

// Read goes through the files once, with options that are valid. The caller closes the Import.
func Read(ctx context.Context, paths []string, opt Options, report *progress.Reporter) (*Import, error) {
	opt.Read.Samples = opt.NT
	im := &Import{opt: opt}
	err := im.open(paths)
	if err == nil {
		err = im.scanAll(ctx, report)
	}
	if err == nil {
		im.Unmatched = unmatched(opt.Navigation)
		err = im.settle()
	}
	if err != nil {
		im.Close()
		return nil, inputError(err)
	}
	return im, nil
}

func (im *Import) open(paths []string) error {
	for number, path := range paths {
		f, err := segy.Open(path, im.opt.Read)
		if err != nil {
			return err
		}
		f.MaxSamples = longestTrace()
		in := newInput(number, f, &im.opt, &im.Findings)
		im.Files = append(im.Files, in)
		for _, n := range f.Notes {
			in.once("%s", n)
		}
		if im.opt.Midpoints.On && im.opt.Midpoints.Spacing == 0 && f.Kind == segy.SU {
			return status.Usage(fmt.Errorf("%s: SU headers have no CDP x and y: --midpoints METRES takes CDP numbers that far apart", path))
		}
		if err := in.holds(im.opt.Mapping); err != nil {
			return err
		}
	}
	return nil
}

func (im *Import) scanAll(ctx context.Context, report *progress.Reporter) error {
	var total int64
	for _, f := range im.Files {
		total += f.File.Span()
	}
	stage := report.Stage("read")
	defer stage.End()
	stage.Total(int(total/mebibyte), "MiB")
	before := int64(0) // bytes of the files before
	for _, in := range im.Files {
		if err := in.scan(ctx, before, stage); err != nil {
			return err
		}
		before += in.File.Span()
	}
	return nil
}

const mebibyte = 1 << 20

// settle derives the survey from the records: sampling, then geometry, then what is in it.
func (im *Import) settle() (err error) {
	if im.DT, err = im.sampling(); err != nil {
		return err
	}
	if im.Window, err = im.window(im.DT); err != nil {
		return err
	}
	if err := im.spreadOut(); err != nil {
		return err
	}
	used := 0
	for _, in := range im.Files {
		l := newLayout(in)
		if used += l.traces; l.traces == 0 {
			continue
		}
		if err := l.judge(); err != nil {
			return err
		}
	}
	if used == 0 {
		return im.nothingLeft()
	}
	im.Geometry = newGeometry(im.kept, &im.opt)
	im.duplicates()
	slices.SortStableFunc(im.Left, func(a, b Left) int { return cmp.Compare(a.order, b.order) })
	im.measure()
	im.judgeGeometry()
	return nil
}

// inputError marks an error as one of the input or, if the system refused, of resources.
func inputError(err error) error {
	var at *segy.Error
	if !errors.As(err, &at) || status.Code(err) != status.Other {
		return err
	}
	var other *segy.Foreign
	var no syscall.Errno
	switch {
	case errors.Is(err, segy.ErrTooLong), errors.As(err, &no) && !errors.Is(err, fs.ErrNotExist):
		return status.Resource(err)
	case at.Hint != "" && status.HintOf(err) == "":
		return status.Hint(status.Input(err), at.Hint)
	case errors.As(err, &other):
		return status.Hint(status.Input(err), sniff.Kind(other.Kind).Hint(at.Path))
	}
	return status.Input(err)
}

// Close closes the files.
func (im *Import) Close() {
	for _, f := range im.Files {
		f.File.Close() // read only: nothing can be lost
	}
}

// leave takes the trace out of the survey, unless it is out already.
func (t *record) leave(format string, args ...any) {
	if t.out {
		return
	}
	t.out = true
	found := t.in.found
	found.Left = append(found.Left, Left{
		File: t.in.File.Path, Trace: int(t.number) + 1, Byte: t.at + 1, Label: t.label,
		Reason: fmt.Sprintf(format, args...), order: int64(t.in.number)<<32 | int64(t.number)})
}

// lose lists a stretch of the file that holds no whole trace.
func (in *input) lose(l segy.Lost) {
	found := in.found
	found.QC.Lost++
	found.QC.LostBytes += l.Bytes
	found.Left = append(found.Left, Left{File: in.File.Path, Trace: l.Number + 1, Byte: l.At + 1, Reason: l.Reason, order: int64(in.number)<<32 | int64(l.Number)})
}

// scan reads the file; done is the number of bytes read from the files before it.
func (in *input) scan(ctx context.Context, done int64, stage *progress.Stage) error {
	r := in.File.Reader()
	r.Stop = ctx.Err
	for lost := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := r.Next(true)
		for ; lost < len(r.Lost); lost++ {
			in.lose(r.Lost[lost])
		}
		if errors.Is(err, io.EOF) {
			in.notes()
			return nil
		}
		if err != nil {
			return err
		}
		if in.found.QC.Traces == math.MaxInt32 {
			return status.Input(fmt.Errorf("%s: more than %d traces, the most that a survey holds", in.File.Path, math.MaxInt32))
		}
		before := done / mebibyte
		done += int64(len(t.Header)) + int64(t.NS)*int64(in.File.Format.Bytes())
		if n := done/mebibyte - before; n > 0 {
			stage.Add(int(n))
		}
		if err := in.grow(); err != nil {
			return err
		}
		in.records = append(in.records, record{in: in, number: int32(t.Number), at: t.At, ns: int32(t.NS)})
		rec := &in.records[len(in.records)-1]
		if err := in.read(rec, t); err != nil {
			return err
		}
		s := in.judge(rec, t)
		if !rec.out {
			in.look(s)
		}
	}
}

// judge looks at place and samples of a trace.
func (in *input) judge(rec *record, t *segy.Trace) (s quality.Samples) {
	q := &in.found.QC
	q.Traces++
	q.Rounded += t.Rounded
	for i, p := range rec.place {
		if slices.ContainsFunc(p[:], func(v float64) bool { return !(math.Abs(v) <= farthest) }) {
			rec.leave("the position of its %s is (%g, %g, %g), must be within %g m", roles[i], p[0], p[1], p[2], farthest)
			return s
		}
	}
	s = quality.Measure(t.Samples)
	rec.hash, rec.peak, rec.rms = s.Hash, s.Peak, s.RMS
	switch {
	case s.Bad >= 0:
		q.NotFinite++
		rec.leave("sample %d is %g, must be finite", s.Bad, t.Samples[s.Bad])
	case s.Peak == 0:
		q.Dead++
		if !in.opt.KeepDead {
			rec.leave("dead: all samples are zero")
		}
	case s.Flat >= quality.ClippedRun:
		q.Clipped++
	}
	return s
}

// farthest bounds coordinates, m: no map has greater ones.
const farthest = 1e9
