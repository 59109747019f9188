package survey

import (
	"slices"
	"testing"
)

func TestSelect(t *testing.T) {
	s := &Survey{Dim: 3, Fixed: true, Sources: []float64{0, 0, 0, 3, 4, 9}, Receivers: []float64{0, 0, 5, 3, 0, 0}, Weight: []float32{1, 2, 3, 4}, Data: []float32{1}}
	got := s.Select([]int32{3, 0, 2})
	if got.Fixed || got.Data != nil || !slices.Equal(got.SourceIndex, []int32{1, 0, 1}) || !slices.Equal(got.ReceiverIndex, []int32{1, 0, 0}) ||
		!slices.Equal(got.Weight, []float32{4, 1, 3}) || !s.Fixed || s.Data == nil {
		t.Errorf("selected %+v", got)
	}
	for i, want := range []float64{4, 0, 5} { // horizontal
		if o := got.Offset(i); o != want {
			t.Errorf("trace %d has offset %g, want %g", i, o, want)
		}
	}
	if !slices.Equal(got.Select([]int32{1, 1}).Weight, []float32{1, 1}) {
		t.Error("a list is selected from wrongly")
	}
}
