package h5

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// benchSurvey is 64 MiB of traces, a fixed spread of 64 × 128 with 2048 samples.
func benchSurvey() *survey.Survey {
	s := &survey.Survey{
		Dim: 2, Sources: make([]float64, 64*2), Receivers: make([]float64, 128*2), Fixed: true,
		NT: 2048, DT: 0.004, Wavelet: survey.Wavelet{Samples: []float64{1}, DT: 0.004},
	}
	s.Data = make([]float32, s.NumTraces()*s.NT)
	for i := range s.Data {
		s.Data[i] = float32(i % 1000)
	}
	return s
}

func BenchmarkWriteSurvey(b *testing.B) {
	s, path := benchSurvey(), filepath.Join(b.TempDir(), "s.h5")
	b.SetBytes(int64(4 * len(s.Data)))
	for b.Loop() {
		if err := WriteSurvey(path, s, WriteOptions{Force: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadTraces reads the whole survey in calls of so many traces.
func BenchmarkReadTraces(b *testing.B) {
	s, path := benchSurvey(), filepath.Join(b.TempDir(), "s.h5")
	if err := WriteSurvey(path, s, WriteOptions{}); err != nil {
		b.Fatal(err)
	}
	r, err := OpenSurvey(path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for _, n := range []int{1, 16, 128, s.NumTraces()} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			b.SetBytes(int64(4 * len(s.Data)))
			dst := make([]float32, n*s.NT)
			for b.Loop() {
				for first := 0; first < s.NumTraces(); first += n {
					if err := r.ReadTraces(dst, first, n); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
