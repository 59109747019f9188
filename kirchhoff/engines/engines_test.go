package engines

import (
	"slices"
	"testing"
)

func TestTable(t *testing.T) {
	if f := Missing("reference", Antialias|Exact); f != Exact || f.String() != "exact sums" {
		t.Errorf("the reference engine lacks %v", f)
	}
	for _, name := range []string{"cpu", "cuda", "hip"} {
		if f := Missing(name, all&^Several); f != 0 {
			t.Errorf("%s lacks %v", name, f)
		}
	}
	if f := Missing("cuda", all); f.String() != "several or turned arrivals" {
		t.Errorf("the cuda engine lacks %v", f)
	}
	if f := Missing("double", Gathers|Dynamic|Aperture); f != Aperture {
		t.Errorf("the double engine lacks %v", f)
	}
	if f := Missing("abacus", Gathers|Diagonal); f.String() != "images by class, a diagonal" {
		t.Errorf("an engine that there is not lacks %v", f)
	}
	if got := Offering(Gathers); !slices.Equal(got, []string{"cpu", "cuda", "hip", "reference"}) {
		t.Errorf("images by class are offered by %v", got)
	}
}
