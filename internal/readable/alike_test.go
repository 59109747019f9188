package readable

import (
	"slices"
	"testing"
)

func TestAlike(t *testing.T) {
	got := Alike([]string{"scalar is 152, want 1", "feet", "scalar is -3.5e+07, want 1", "scalar is 7, want 1", "metres", "feet"})
	want := []string{"scalar is 152, want 1 (and 2 more like it)", "feet (and 1 more like it)", "metres"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
