package pipeline

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

var byAzimuth = []string{"image.gathers=offset", "image.gather_bins=0,25,100", "image.gather_azimuths=4"}

// The images by offset and azimuth add up, over the azimuths, to those by offset.
func TestGathersByAzimuthAddUp(t *testing.T) {
	for _, engine := range []string{"cpu", "reference"} {
		p := cube(t)
		whole := p.migrateTo(t, p.path("offset.h5"), 1, engine, byAzimuth[:2]...)
		_, want := readGathers(t, p.path("offset.h5"))
		image := p.migrateTo(t, p.path("azimuth.h5"), 1, engine, byAzimuth...)
		near(t, engine+": image", image, whole, 1e-6)
		info, by := readGathers(t, p.path("azimuth.h5"))
		if wantInfo := (&h5.Gathers{
			Kind: "offset", Centers: []float64{12.5, 12.5, 12.5, 12.5, 62.5, 62.5, 62.5, 62.5}, Limits: []float64{0, 25, 100},
			Azimuths: []float64{0, 45, 90, 135, 0, 45, 90, 135},
		}); !reflect.DeepEqual(info, wantInfo) {
			t.Errorf("%+v, want %+v", info, wantInfo)
		}
		n := len(image)
		sum := make([]float32, 2*n)
		for i, v := range by {
			sum[i/n/4*n+i%n] += v
		}
		near(t, engine+": sums over azimuths", sum, want, 1e-6)
	}
}

// Sectors are centred on multiples of their width from north, on the map of the survey, and a trace and its reverse share one.
func TestSectorsOfAzimuth(t *testing.T) {
	for turn, frame := range map[float64]*grid.Frame{90: nil, 20: {Azimuth: 20}} { // of x
		s := &survey.Survey{Dim: 3, Fixed: true, Sources: []float64{0, 0, 0}, Frame: frame}
		var want []int32
		for azimuth := 0; azimuth < 360; azimuth += 2 {
			sin, cos := math.Sincos((turn - float64(azimuth)) * math.Pi / 180)
			s.Receivers = append(s.Receivers, 500*cos, 500*sin, 0)
			want = append(want, int32((azimuth+15)/30%6))
		}
		s.Receivers, want = append(s.Receivers, 0, 0, 0), append(want, 0) // without an azimuth
		im := config.Image{Gathers: "offset", GatherBins: []float64{0, 1000}, GatherAzimuths: 6}
		c, err := newClasses(im, s, NeedTraces)
		must(t, err)
		if c.N != 6 || !slices.Equal(c.ByTrace, want) {
			t.Errorf("x along %g degrees: %d classes, %v, want 6, %v", turn, c.N, c.ByTrace, want)
		}
		if text := c.String(); !strings.HasPrefix(text, "6 images by offset and azimuth of 30 to 31 traces") {
			t.Errorf("the classes are told as %q", text)
		}
	}
}

// A line has no azimuths.
func TestAzimuthsOfALineAreRefused(t *testing.T) {
	p := wide(t)
	err := p.on(1, byAzimuth, func(*Job) error { return nil })
	if status.Code(err) != status.BadUsage || !strings.Contains(fmt.Sprint(err), "image.gather_azimuths = 4: the survey is 2-D") {
		t.Errorf("a line by azimuth: %v", err)
	}
}
