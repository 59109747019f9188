package h5

import (
	"fmt"
	"math"
	"os"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// SurveyReader is a survey file whose geometry has been read and whose traces
// are read as asked for, so that a rank or a stream holds its own part only.
type SurveyReader struct {
	f      *File
	header survey.Survey
	data   *Dataset    // nil where there is none
	as     os.FileInfo // when it was opened
}

// ReadSurvey reads a whole survey and validates it.
func ReadSurvey(path string) (*survey.Survey, error) {
	r, err := OpenSurvey(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := r.header
	if r.data != nil {
		if s.Data, err = Read[float32](r.data); err != nil {
			return nil, err
		}
	}
	if err := s.Validate(); err != nil {
		return nil, inputError(path, "", "%w", err)
	}
	return &s, nil
}

// ReadSurveyHeader reads everything but the traces, and whether there are any.
func ReadSurveyHeader(path string) (s *survey.Survey, hasData bool, err error) {
	r, err := OpenSurvey(path)
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	return r.Survey(), r.HasData(), nil
}

// OpenSurvey reads and validates everything but the traces.
func OpenSurvey(path string) (*SurveyReader, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	r := &SurveyReader{f: f}
	if err := r.read(); err != nil {
		f.Close()
		return nil, err
	}
	if r.as, err = os.Stat(path); err != nil {
		f.Close()
		return nil, readError(path, "", err)
	}
	return r, nil
}

// Unchanged makes sure that the file is as it was opened, as far as its size and time
// tell: of one cut short meanwhile the library reads zeros.
func (r *SurveyReader) Unchanged() error {
	now, err := os.Stat(r.f.path)
	if err != nil {
		return readError(r.f.path, "", err)
	}
	if !os.SameFile(now, r.as) || now.Size() != r.as.Size() || !now.ModTime().Equal(r.as.ModTime()) {
		return inputError(r.f.path, "/data", "the file has changed since the run began")
	}
	return nil
}

// Survey is the survey without its traces: Data is nil. The caller owns it.
func (r *SurveyReader) Survey() *survey.Survey {
	s := r.header
	return &s
}

// Attrs are the attributes of the file's root.
func (r *SurveyReader) Attrs() Attrs { return r.f.Attrs() }

// HasData reports whether the file holds traces.
func (r *SurveyReader) HasData() bool { return r.data != nil }

// Verify compares the traces with the digest that was written with them, in one pass.
// Everything else has been compared.
func (r *SurveyReader) Verify() error {
	if r.data == nil {
		return nil
	}
	return r.data.Verify()
}

// Trust says that the traces have been compared with their digest elsewhere, by rank 0
// for all ranks: reading some of them does not compare them all once more.
func (r *SurveyReader) Trust() { r.f.Trust() }

// Close closes the file.
func (r *SurveyReader) Close() error { return r.f.Close() }

// ReadTraces reads traces [first, first+n) into dst, [n, NT], and refuses what
// is not finite. Reading many traces a call is much faster than one by one.
func (r *SurveyReader) ReadTraces(dst []float32, first, n int) error {
	if r.data == nil {
		return inputError(r.f.path, "/data", "is missing")
	}
	nt := r.header.NT
	if len(dst) != n*nt {
		panic(fmt.Sprintf("h5: %s: %d samples for %d traces of %d", r.f.path, len(dst), n, nt))
	}
	if err := ReadAt(r.data, dst, first*nt); err != nil {
		return err
	}
	if i := notFinite(dst); i >= 0 {
		return inputError(r.f.path, "/data", "trace %d has %g at sample %d, must be finite", first+i/nt, dst[i], i%nt)
	}
	return nil
}

// ReadTraceList reads the listed traces, in their order, into dst,
// [len(traces), NT]. Runs of consecutive numbers are read together.
func (r *SurveyReader) ReadTraceList(dst []float32, traces []int32) error {
	nt := r.header.NT
	for i := 0; i < len(traces); {
		n := 1
		for i+n < len(traces) && traces[i+n] == traces[i]+int32(n) {
			n++
		}
		if err := r.ReadTraces(dst[i*nt:(i+n)*nt], int(traces[i]), n); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// read fills the header. All sizes are judged before the arrays that depend on
// them are made.
func (r *SurveyReader) read() error {
	f, s := r.f, &r.header
	if err := f.checkFormat(FormatSurvey); err != nil {
		return err
	}
	var err error
	if s.Sources, s.Dim, err = f.positions("/sources", 0); err != nil {
		return err
	}
	if s.Receivers, _, err = f.positions("/receivers", s.Dim); err != nil {
		return err
	}
	if err := r.readSampling(); err != nil {
		return err
	}
	if err := r.readPairs(); err != nil {
		return err
	}
	if s.Wavelet, err = f.wavelet(); err != nil {
		return err
	}
	if err := r.readWeight(); err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return inputError(f.path, "", "%w", err)
	}
	return nil
}

// positions reads [n, dim] coordinates; dim 0 takes 2 or 3.
func (f *File) positions(name string, dim int) ([]float64, int, error) {
	d, err := f.Dataset(name)
	if err != nil {
		return nil, 0, err
	}
	text := "[n, 2] (columns x z) or [n, 3] (columns x y z)"
	if dim != 0 {
		text = fmt.Sprintf("[n, %d] like /sources", dim)
	}
	if len(d.shape) != 2 || d.shape[0] < 1 || d.shape[1] != dim && (dim != 0 || d.shape[1] != 2 && d.shape[1] != 3) {
		return nil, 0, inputError(f.path, name, "has shape %s, want %s", shapeText(d.shape), text)
	}
	if err := wantUnits(d, metres); err != nil {
		return nil, 0, err
	}
	v, err := Read[float64](d)
	return v, d.shape[1], err
}

// readSampling finds nt, dt and t0, at the data or, without data, at the root.
func (r *SurveyReader) readSampling() error {
	f, s := r.f, &r.header
	from := f.Attrs()
	var err error
	if f.Has("/data") {
		if r.data, err = f.Dataset("/data"); err != nil {
			return err
		}
		if n := len(r.data.shape); n != 2 && n != 3 || r.data.len == 0 {
			return inputError(f.path, "/data", "has shape %s, want [ns, nr, nt] or [ntrace, nt]", shapeText(r.data.shape))
		}
		s.NT = r.data.shape[len(r.data.shape)-1]
		from = r.data.Attrs()
	} else if !from.Has("nt") {
		return inputError(f.path, "/data", "is missing, and so is the root attribute nt that describes traces yet to be modelled (the file holds %s)", f.names())
	} else if s.NT, err = from.Int("nt"); err != nil {
		return err
	}
	if s.NT > math.MaxInt32 {
		return inputError(f.path, from.key("nt"), "traces have %d samples, at most %d", s.NT, math.MaxInt32)
	}
	if s.DT, err = from.Float("dt"); err != nil {
		return err
	}
	if from.Has("t0") {
		s.T0, err = from.Float("t0")
	}
	return err
}

// readPairs finds which source and receiver each trace belongs to.
func (r *SurveyReader) readPairs() error {
	f, s := r.f, &r.header
	ns, nr := s.NumSources(), s.NumReceivers()
	indexed := f.Has("/source_index") || f.Has("/receiver_index")
	switch {
	case r.data != nil && len(r.data.shape) == 3:
		if indexed {
			return inputError(f.path, "/data", "has shape %s, every pair of source and receiver, so /source_index and /receiver_index must not be there",
				shapeText(r.data.shape))
		}
		s.Fixed = true
		if err := r.data.Want("[ns, nr, nt]", ns, nr, s.NT); err != nil {
			return err
		}
	case r.data == nil && !indexed:
		s.Fixed = true
	}
	if s.Fixed {
		if nr > math.MaxInt32/ns {
			return inputError(f.path, "", "%d sources and %d receivers make more than %d traces", ns, nr, math.MaxInt32)
		}
		return nil
	}
	var err error
	ntrace := -1
	if r.data != nil {
		ntrace = r.data.shape[0]
	}
	if s.SourceIndex, err = f.index("/source_index", ntrace); err != nil {
		return err
	}
	s.ReceiverIndex, err = f.index("/receiver_index", len(s.SourceIndex))
	return err
}

// index reads [ntrace] row numbers.
func (f *File) index(name string, ntrace int) ([]int32, error) {
	d, err := f.Dataset(name)
	if err != nil {
		return nil, err
	}
	if err := d.Want("[ntrace]", ntrace); err != nil {
		return nil, err
	}
	if d.len > math.MaxInt32 {
		return nil, inputError(f.path, name, "has %d traces, at most %d", d.len, math.MaxInt32)
	}
	return Read[int32](d)
}

// readWeight reads the traces' weights, where there are any.
func (r *SurveyReader) readWeight() error {
	f, s := r.f, &r.header
	if !f.Has("/weight") {
		return nil
	}
	d, err := f.Dataset("/weight")
	if err != nil {
		return err
	}
	if s.Fixed && len(d.shape) == 2 {
		err = d.Want("[ns, nr]", s.NumSources(), s.NumReceivers())
	} else {
		err = d.Want("[ntrace]", s.NumTraces())
	}
	if err != nil {
		return err
	}
	s.Weight, err = Read[float32](d)
	return err
}

func (f *File) wavelet() (w survey.Wavelet, err error) {
	d, err := f.Dataset("/wavelet")
	if err != nil {
		return w, err
	}
	if err := d.Want("[nw]", -1); err != nil {
		return w, err
	}
	if w.DT, err = d.Attrs().Float("dt"); err != nil {
		return w, err
	}
	if w.Zero, err = d.Attrs().Int("zero"); err != nil {
		return w, err
	}
	w.Samples, err = Read[float64](d)
	return w, err
}
