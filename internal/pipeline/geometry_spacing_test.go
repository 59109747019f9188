package pipeline

import (
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// The distance of traces is that of a shot's receivers or a receiver's sources, along
// each axis, or twice that of midpoints.
func TestTraceSpacing(t *testing.T) {
	s := &survey.Survey{Dim: 3, Fixed: true}
	for i := range 5 {
		s.Sources = append(s.Sources, 40*float64(i), 3, 0)
		for k := range 6 {
			s.Receivers = append(s.Receivers, 25*float64(i)+float64(k), 100*float64(k), 0)
		}
	}
	one := &survey.Survey{Dim: 2}
	for i := range 9 {
		one.Sources, one.Receivers = append(one.Sources, 30*float64(i), 0), append(one.Receivers, 30*float64(i)+500, 0)
		one.SourceIndex, one.ReceiverIndex = append(one.SourceIndex, int32(i)), append(one.ReceiverIndex, int32(i))
	}
	for _, c := range []struct {
		s    *survey.Survey
		want []float64
	}{{s, []float64{25, 100}}, {one, []float64{60}}} {
		if got := traceSpacing(c.s); !slices.Equal(got, c.want) {
			t.Errorf("traces %v m apart, want %v", got, c.want)
		}
	}
}
