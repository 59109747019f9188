package pipeline

import (
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Samples so large or so small that sums in single precision fail are named as that,
// however the traces are read; those at the limits are migrated and solved for.
func TestMagnitudes(t *testing.T) {
	for _, c := range []struct {
		name         string
		data, signal float64 // factors
		want         string
	}{
		{"as it is", 1, 1, ""},
		{"large", 1e19, 1, ""}, {"small", 1e-19, 1, ""},
		{"both large", 1e13, 1e6, ""}, {"both small", 1e-13, 1e-8, ""},
		{"apart", 1e19, 1e-11, ""}, {"apart the other way", 1e-19, 1e11, ""},
		{"both too large", 1e19, 1e11, "sample of the traces times the square of the wavelet's"},
		{"both too small", 1e-19, 1e-11, "sample of the traces times the square of the wavelet's"},
		{"too small", 1e-40, 1, "the largest sample of the traces is"},
		{"too large", 1e37, 1, "single precision overflow"},
		{"small wavelet", 1, 1e-15, "the largest sample of the wavelet is 1e-15: sums in single precision vanish, must be from 1e-12 to 1e+12"},
		{"large wavelet", 1, 1e15, "the largest sample of the wavelet is 1e+15"},
	} {
		for _, read := range []string{"memory", "stream"} {
			t.Run(c.name+" "+read, func(t *testing.T) {
				p := line(t)
				s := *p.survey
				s.Data = noise(s.NumTraces()*s.NT, 1)
				for i := range s.Data {
					s.Data[i] = float32(c.data * float64(s.Data[i]))
				}
				s.Wavelet.Samples = append([]float64{}, s.Wavelet.Samples...)
				for i := range s.Wavelet.Samples {
					s.Wavelet.Samples[i] *= c.signal
				}
				p.record(t, &s)
				if c.want == "" {
					j := p.open(t, NeedTraces, progress.Discard(), "cpu", "data.read="+read)
					defer j.Close()
					_, err := j.Build(t.Context())
					must(t, err)
					d, err := j.Data()
					must(t, err)
					r, err := j.Solve(t.Context(), d, false)
					must(t, err)
					if h := r.History.Residual; !(h[len(h)-1] < 0.95*h[0]) {
						t.Errorf("residuals %g do not fall", h)
					}
					return
				}
				cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), []string{"data.read=" + read}, nil)
				must(t, err)
				_, err = Open(comm.Self(), cfg, NeedTraces, progress.Discard())
				if err == nil || !strings.Contains(err.Error(), c.want) || status.Code(err) != status.BadInput {
					t.Errorf("error %v, want %q with status %d", err, c.want, status.BadInput)
				}
			})
		}
	}
}

// The same holds for an image that is read.
func TestImageMagnitude(t *testing.T) {
	p := line(t)
	j := p.open(t, NeedGeometry, progress.Discard(), "cpu")
	defer j.Close()
	image := make([]float32, p.grid.Len())
	image[3] = 1e30
	must(t, h5.WriteImage(p.path("r.h5"), &h5.Image{Grid: p.grid, Data: image}, h5.WriteOptions{}))
	_, err := j.OpenImage("reflectivity", config.Path{Text: "r.h5", File: p.path("r.h5")})
	if err == nil || !strings.Contains(err.Error(), "the largest point of the image is 1e+30") {
		t.Errorf("error %v", err)
	}
	if got := survey.Peak([]float32{1, -3, 2}); got != 3 {
		t.Errorf("peak %g, want 3", got)
	}
}
