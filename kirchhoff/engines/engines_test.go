package engines

import (
	"slices"
	"testing"
)

func TestTable(t *testing.T) {
	if f := Missing("cuda", Antialias|Exact); f != Antialias || f.String() != "anti-aliasing" {
		t.Errorf("cuda lacks %v", f)
	}
	if f := Missing("cpu", all); f != 0 {
		t.Errorf("cpu lacks %v", f)
	}
	if f := Missing("abacus", Gathers|Diagonal); f.String() != "images by class, a diagonal" {
		t.Errorf("an engine that there is not lacks %v", f)
	}
	if got := Offering(Gathers); !slices.Equal(got, []string{"cpu", "cuda", "hip", "reference"}) {
		t.Errorf("images by class are offered by %v", got)
	}
}
