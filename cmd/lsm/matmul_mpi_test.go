package main

import (
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Under the launcher, products on all grids of 1 to 3 ranks have gonum's values, and each rank gets the
// bytes of the formula.
func TestMatmulOnRanks(t *testing.T) {
	l := onRanks(t, t.TempDir(), 3, "bench", "matmul", "--size", "72", "--tile", "8", "--runs", "1", "--threads", "1", "--library", "gonum", "--json")
	if code := l.code(t); code != status.Done {
		t.Fatalf("status %d\n%s%s", code, l.out.String(), l.errs.String())
	}
	out := l.out.String()
	for _, row := range []string{
		`"ranks":1,"grid":[1,1],"way":"one rank",`, `"ranks":2,"grid":[2,1],"way":"block rows",`,
		`"ranks":3,"grid":[3,1],"way":"block rows",`, `"ranks":3,"grid":[1,3],"way":"block columns",`,
		`"bytes_received":27648,"bytes_formula":27648,"messages":6,"uneven_ranks":0,"overlap":true,`,
		`"ranks":3,"wrong":0`,
	} {
		if !strings.Contains(out, row) {
			t.Errorf("no %s in\n%s", row, out)
		}
	}
	if n := strings.Count(out, `"verdict":"OK"`); n != 9 {
		t.Errorf("%d rows are right, want 9", n)
	}
}
