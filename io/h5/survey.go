package h5

import (
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// SurveyReader is a survey file whose geometry has been read and whose traces are read on request,
// so that a rank or a stream holds only its own part.
type SurveyReader struct {
	*File
	header survey.Survey
	data   *Dataset    // nil for none
	as     os.FileInfo // when it was opened
	copied *copied     // the traces in another order; nil without
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
	return opening(path, func(f *File) (r *SurveyReader, err error) {
		r = &SurveyReader{File: f}
		if err = r.read(); err != nil {
			return nil, err
		}
		if r.as, err = os.Stat(path); err != nil {
			return nil, readError(path, "", err)
		}
		return r, nil
	})
}

// Unchanged makes sure that size and time of the file are as when it was opened. The
// library reads zeros from a file that was cut short meanwhile.
func (r *SurveyReader) Unchanged() error {
	now, err := os.Stat(r.path)
	if err != nil {
		return readError(r.path, "", err)
	}
	if !os.SameFile(now, r.as) || now.Size() != r.as.Size() || !now.ModTime().Equal(r.as.ModTime()) {
		return inputError(r.path, "/data", "the file has changed since the run began")
	}
	return nil
}

// Survey is the survey without its traces: Data is nil. The caller owns it.
func (r *SurveyReader) Survey() *survey.Survey {
	s := r.header
	return &s
}

// HasData reports whether the file holds traces.
func (r *SurveyReader) HasData() bool { return r.data != nil }

// ReadTraces reads traces [first, first+n) into dst, [n, NT], and refuses what
// is not finite. Reading many traces a call is much faster than one by one.
func (r *SurveyReader) ReadTraces(dst []float32, first, n int) error {
	if r.data == nil {
		return inputError(r.path, "/data", "is missing")
	}
	nt := r.header.NT
	if len(dst) != n*nt {
		panic(fmt.Sprintf("h5: %s: %d samples for %d traces of %d", r.path, len(dst), n, nt))
	}
	if err := ReadAt(r.data, dst, first*nt); err != nil {
		return err
	}
	if i := notFinite(dst); i >= 0 {
		return inputError(r.path, "/data", "trace %d has %g at sample %d, must be finite", first+i/nt, dst[i], i%nt)
	}
	return nil
}

// eachRun calls do for the runs of consecutive numbers in a list: n of them from the i-th
// on.
func eachRun(list []int32, do func(i, n int) error) error {
	for i := 0; i < len(list); {
		n := 1
		for i+n < len(list) && list[i+n] == list[i]+int32(n) {
			n++
		}
		if err := do(i, n); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// read fills the header. It checks all sizes before it allocates the arrays that depend
// on them.
func (r *SurveyReader) read() error {
	for _, part := range []func() error{
		func() error { return r.checkFormat(FormatSurvey) },
		r.readPositions, r.readSources, r.readSampling, r.readPairs, r.readWavelet, r.readWeight,
	} {
		if err := part(); err != nil {
			return err
		}
	}
	if err := r.header.Validate(); err != nil {
		return inputError(r.path, "", "%w", err)
	}
	return nil
}

// readPositions reads [n, dim] coordinates of sources and receivers.
func (r *SurveyReader) readPositions() error {
	s := &r.header
	text := "[n, 2] (columns x z) or [n, 3] (columns x y z)"
	for _, p := range []struct {
		name string
		to   *[]float64
	}{{"/sources", &s.Sources}, {"/receivers", &s.Receivers}} {
		d, err := r.Dataset(p.name)
		if err != nil {
			return err
		}
		if len(d.shape) != 2 || d.shape[0] < 1 || d.shape[1] != s.Dim && (s.Dim != 0 || d.shape[1] != 2 && d.shape[1] != 3) {
			return d.unwanted(text)
		}
		if err := wantUnits(d, metres); err != nil {
			return err
		}
		if *p.to, err = Read[float64](d); err != nil {
			return err
		}
		s.Dim = d.shape[1]
		text = fmt.Sprintf("[n, %d] like /sources", s.Dim)
	}
	if s.Dim == 2 {
		return nil
	}
	var err error
	s.Frame, err = r.frame(r.Attrs())
	return err
}

// perSource lists the datasets with one value per source, besides its place.
func perSource(s *survey.Survey) []struct {
	name, units string
	to          *[]float64
} {
	return []struct {
		name, units string
		to          *[]float64
	}{{"/source_depth", "m", &s.SourceDepth}, {"/uphole_time", "s", &s.UpholeTime}}
}

func (r *SurveyReader) readSources() (err error) {
	for _, p := range perSource(&r.header) {
		if !r.Has(p.name) {
			continue
		}
		if *p.to, err = load[float64](r.File, p.name, "[ns]", r.header.NumSources()); err != nil {
			return err
		}
	}
	return nil
}

// readSampling finds nt, dt and t0, at the data or, without data, at the root.
func (r *SurveyReader) readSampling() error {
	s, from := &r.header, r.Attrs()
	var err error
	if r.Has("/data") {
		if r.data, err = r.Dataset("/data"); err != nil {
			return err
		}
		if n := len(r.data.shape); n != 2 && n != 3 || r.data.len == 0 {
			return r.data.unwanted("[ns, nr, nt] or [ntrace, nt]")
		}
		s.NT = r.data.shape[len(r.data.shape)-1]
		from = r.data.Attrs()
	} else if !from.Has("nt") {
		return inputError(r.path, "/data", "is missing, and so is the root attribute nt that describes traces yet to be modelled (the file holds %s)", r.contents())
	} else if s.NT, err = from.Int("nt"); err != nil {
		return err
	}
	if s.NT > math.MaxInt32 {
		return from.fault("nt", "traces have %d samples, at most %d", s.NT, math.MaxInt32)
	}
	if s.DT, err = from.Float("dt"); err == nil && from.Has("t0") {
		s.T0, err = from.Float("t0")
	}
	return err
}

func (r *SurveyReader) readPairs() error {
	s := &r.header
	ns, nr, ntrace := s.NumSources(), s.NumReceivers(), -1
	indexed := r.Has("/source_index") || r.Has("/receiver_index")
	switch {
	case r.data != nil && len(r.data.shape) == 2:
		ntrace = r.data.shape[0]
	case r.data != nil && indexed:
		return inputError(r.path, "/data", "has shape %s, every pair of source and receiver, so /source_index and /receiver_index must not be there",
			shapeText(r.data.shape))
	case r.data != nil:
		s.Fixed = true
		if err := r.data.Want("[ns, nr, nt]", ns, nr, s.NT); err != nil {
			return err
		}
	default:
		s.Fixed = !indexed
	}
	if s.Fixed {
		if nr > math.MaxInt32/ns {
			return inputError(r.path, "", "%d sources and %d receivers make more than %d traces", ns, nr, math.MaxInt32)
		}
		return nil
	}
	var err error
	if s.SourceIndex, err = load[int32](r.File, "/source_index", "[ntrace]", ntrace); err != nil {
		return err
	}
	s.ReceiverIndex, err = load[int32](r.File, "/receiver_index", "[ntrace]", len(s.SourceIndex))
	return err
}

func (r *SurveyReader) readWavelet() (err error) {
	r.header.Wavelet, err = r.wavelet()
	return err
}

func (r *SurveyReader) readWeight() error {
	s := &r.header
	if !r.Has("/weight") {
		return nil
	}
	d, err := r.Dataset("/weight")
	if err != nil {
		return err
	}
	text, shape := "[ntrace]", []int{s.NumTraces()}
	if s.Fixed && len(d.shape) == 2 {
		text, shape = "[ns, nr]", []int{s.NumSources(), s.NumReceivers()}
	}
	s.Weight, err = load[float32](r.File, "/weight", text, shape...)
	return err
}

// SurveyWriter writes a survey whose traces arrive in pieces.
type SurveyWriter struct {
	*Writer
	data  *Section
	nt, n int
}

// WriteSurvey writes a survey; one without Data becomes a geometry file.
func WriteSurvey(path string, s *survey.Survey, opt WriteOptions) error {
	w, err := startSurvey(path, s, s.Data != nil, opt)
	if err != nil {
		return err
	}
	defer w.Abort()
	if s.Data != nil {
		if err := w.WriteTraces(s.Data, 0); err != nil {
			return err
		}
	}
	return w.Commit()
}

// CreateSurvey starts a survey file with the geometry, sampling and wavelet of
// s; its Data is not looked at. Every trace must then be written once.
func CreateSurvey(path string, s *survey.Survey, opt WriteOptions) (*SurveyWriter, error) {
	header := *s
	header.Data = nil
	return startSurvey(path, &header, true, opt)
}

// WriteTraces writes traces from number first on; src is [n, NT].
func (w *SurveyWriter) WriteTraces(src []float32, first int) error {
	if len(src)%w.nt != 0 || first < 0 || first > w.n-len(src)/w.nt {
		panic(fmt.Sprintf("h5: %s: %d samples from trace %d on, of %d traces of %d", w.path, len(src), first, w.n, w.nt))
	}
	return WriteAt(w.data, src, first*w.nt)
}

// WriteTraceList writes src, [len(traces), NT], as the listed traces. Runs of consecutive
// numbers are written together.
func (w *SurveyWriter) WriteTraceList(src []float32, traces []int32) error {
	return eachRun(traces, func(i, n int) error { return w.WriteTraces(src[i*w.nt:(i+n)*w.nt], int(traces[i])) })
}

// startSurvey writes all but the traces. A file that is not to hold any has the sampling
// at its root.
func startSurvey(path string, s *survey.Survey, recorded bool, opt WriteOptions) (*SurveyWriter, error) {
	if err := s.Validate(); err != nil {
		return nil, inputError(path, "", "%w", err)
	}
	opt.Attrs = append(slices.DeleteFunc(slices.Clone(opt.Attrs), isFrameAttr), frameAttrs(s.Frame)...)
	file, err := Create(path, FormatSurvey, opt)
	if err != nil {
		return nil, err
	}
	w := &SurveyWriter{Writer: file, nt: s.NT, n: s.NumTraces()}
	source, receiver := axis{name: "/source", size: s.NumSources()}, axis{name: "/receiver", size: s.NumReceivers()}
	traces := []axis{source, receiver}
	if !s.Fixed {
		traces = []axis{{name: "/trace", size: w.n}}
	}
	// The first error sticks.
	_ = w.scale(columns(s.Dim))
	over(file, "/sources", []axis{source, columns(s.Dim)}, s.Sources, Attr{"units", "m"})
	over(file, "/receivers", []axis{receiver, columns(s.Dim)}, s.Receivers, Attr{"units", "m"})
	if !s.Fixed {
		over(file, "/source_index", traces, s.SourceIndex)
		over(file, "/receiver_index", traces, s.ReceiverIndex)
	}
	if s.Weight != nil {
		over(file, "/weight", traces, s.Weight)
	}
	for _, p := range perSource(s) {
		if *p.to != nil {
			over(file, p.name, []axis{source}, *p.to, Attr{"units", p.units})
		}
	}
	file.wavelet(s.Wavelet)
	if recorded {
		samples := regular("/t", s.NT, s.T0, s.DT, "s")
		_ = w.scale(samples)
		w.data, _ = over[float32](file, "/data", append(traces, samples), nil, Attr{"t0", s.T0}, Attr{"dt", s.DT})
	} else {
		_ = w.SetAttrs("/", Attr{"t0", s.T0}, Attr{"nt", s.NT}, Attr{"dt", s.DT})
	}
	if err := w.failed(); err != nil {
		w.Abort()
		return nil, err
	}
	return w, nil
}
