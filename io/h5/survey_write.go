package h5

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// SurveyWriter writes a survey whose traces arrive in pieces.
type SurveyWriter struct {
	w    *Writer
	data *Section
	nt   int
	n    int
}

// WriteSurvey writes a survey; one without Data becomes a geometry file.
func WriteSurvey(path string, s *survey.Survey, opt WriteOptions) error {
	if err := s.Validate(); err != nil {
		return inputError(path, "", "%w", err)
	}
	w, err := startSurvey(path, s, opt)
	if err != nil {
		return err
	}
	defer w.Abort()
	if s.Data == nil {
		if err := w.w.SetAttrs("/", Attr{"t0", s.T0}, Attr{"nt", s.NT}, Attr{"dt", s.DT}); err != nil {
			return err
		}
	} else {
		if err := w.startData(s); err != nil {
			return err
		}
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
	if err := header.Validate(); err != nil {
		return nil, inputError(path, "", "%w", err)
	}
	w, err := startSurvey(path, &header, opt)
	if err != nil {
		return nil, err
	}
	if err := w.startData(&header); err != nil {
		w.Abort()
		return nil, err
	}
	return w, nil
}

// WriteTraces writes traces from number first on; src is [n, NT].
func (w *SurveyWriter) WriteTraces(src []float32, first int) error {
	if len(src)%w.nt != 0 || first < 0 || first > w.n-len(src)/w.nt {
		panic(fmt.Sprintf("h5: %s: %d samples from trace %d on, of %d traces of %d", w.w.path, len(src), first, w.n, w.nt))
	}
	return WriteAt(w.data, src, first*w.nt)
}

// Commit completes, verifies and publishes the file.
func (w *SurveyWriter) Commit() error { return w.w.Commit() }

// Abort drops the file; after Commit it does nothing.
func (w *SurveyWriter) Abort() { w.w.Abort() }

func startSurvey(path string, s *survey.Survey, opt WriteOptions) (*SurveyWriter, error) {
	w, err := Create(path, FormatSurvey, opt)
	if err != nil {
		return nil, err
	}
	sw := &SurveyWriter{w: w, nt: s.NT, n: s.NumTraces()}
	if err := sw.geometry(s); err != nil {
		w.Abort()
		return nil, err
	}
	return sw, nil
}

func (sw *SurveyWriter) geometry(s *survey.Survey) error {
	w := sw.w
	if err := w.columns(s.Dim); err != nil {
		return err
	}
	for _, p := range []struct {
		name, scale string
		n           int
		xyz         []float64
	}{
		{"/sources", "source", s.NumSources(), s.Sources},
		{"/receivers", "receiver", s.NumReceivers(), s.Receivers},
	} {
		if err := w.index("/"+p.scale, p.n); err != nil {
			return err
		}
		if err := Write(w, p.name, []int{p.n, s.Dim}, p.xyz, Attr{"units", "m"}); err != nil {
			return err
		}
		if err := w.Attach(p.name, 0, "/"+p.scale, p.scale); err != nil {
			return err
		}
		if err := w.attachColumns(p.name, 1); err != nil {
			return err
		}
	}
	if err := sw.pairs(s); err != nil {
		return err
	}
	if err := sw.weight(s); err != nil {
		return err
	}
	v := s.Wavelet
	if err := sw.axis("/wavelet_t", len(v.Samples), -float64(v.Zero)*v.DT, v.DT); err != nil {
		return err
	}
	if err := Write(w, "/wavelet", []int{len(v.Samples)}, v.Samples, Attr{"dt", v.DT}, Attr{"zero", v.Zero}); err != nil {
		return err
	}
	return w.Attach("/wavelet", 0, "/wavelet_t", "wavelet_t")
}

func (sw *SurveyWriter) pairs(s *survey.Survey) error {
	if s.Fixed {
		return nil
	}
	w := sw.w
	if err := w.index("/trace", sw.n); err != nil {
		return err
	}
	for _, p := range []struct {
		name string
		v    []int32
	}{{"/source_index", s.SourceIndex}, {"/receiver_index", s.ReceiverIndex}} {
		if err := Write(w, p.name, []int{sw.n}, p.v); err != nil {
			return err
		}
		if err := w.Attach(p.name, 0, "/trace", "trace"); err != nil {
			return err
		}
	}
	return nil
}

func (sw *SurveyWriter) weight(s *survey.Survey) error {
	if s.Weight == nil {
		return nil
	}
	shape, labels := []int{sw.n}, []string{"trace"}
	if s.Fixed {
		shape, labels = []int{s.NumSources(), s.NumReceivers()}, []string{"source", "receiver"}
	}
	if err := Write(sw.w, "/weight", shape, s.Weight); err != nil {
		return err
	}
	for a, label := range labels {
		if err := sw.w.Attach("/weight", a, "/"+label, label); err != nil {
			return err
		}
	}
	return nil
}

// axis writes a time scale, s.
func (sw *SurveyWriter) axis(name string, n int, t0, dt float64) error {
	t := make([]float64, n)
	for i := range t {
		t[i] = t0 + float64(i)*dt
	}
	return Write(sw.w, name, []int{n}, t, Attr{"units", "s"})
}

func (sw *SurveyWriter) startData(s *survey.Survey) (err error) {
	if err := sw.axis("/t", s.NT, s.T0, s.DT); err != nil {
		return err
	}
	shape, labels := []int{sw.n, s.NT}, []string{"trace", "t"}
	if s.Fixed {
		shape, labels = []int{s.NumSources(), s.NumReceivers(), s.NT}, []string{"source", "receiver", "t"}
	}
	sw.data, err = NewSection[float32](sw.w, "/data", shape, Attr{"t0", s.T0}, Attr{"dt", s.DT})
	if err != nil {
		return err
	}
	for a, label := range labels {
		if err := sw.w.Attach("/data", a, "/"+label, label); err != nil {
			return err
		}
	}
	return nil
}
