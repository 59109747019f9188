package main

import (
	_ "embed"
	"os"
	"strings"
	"testing"
)

// table is what the command printed: go run ./bench/sass > bench/sass/table.txt
//
//go:embed table.txt
var table string

// No kernel issues more instructions or spills more than the table says, as far as the
// compilers are those that it names: of two programs, with LSM_TEST_LONG of seven. A compiler that is missing is a skipped test that says
// so; compilers are found as newTools finds them.
func TestTable(t *testing.T) {
	tools, err := newTools(os.Getenv("LSM_TEST_NVRTC_LIB"))
	if err != nil {
		t.Skip(err)
	}
	said := strings.Split(table, "\n\n")
	versions, rows, _ := strings.Cut(said[1], "\n")
	if nvrtc, carried, _ := strings.Cut(versions, "; "); tools.versions() != versions {
		here, rest, _ := strings.Cut(tools.versions(), "; ")
		if rest != carried {
			t.Skipf("the table is of %s, here is %s", carried, rest)
		}
		t.Logf("the table is of %s, here is %s: only what is carried is compared", nvrtc, here)
	}
	all := programs()
	some := []program{all[0], all[len(all)-1]}
	if os.Getenv("LSM_TEST_LONG") != "" {
		some = append(all[:4:4], all[len(all)-3:]...)
	}
	for _, p := range some {
		got, err := tools.rows(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got {
			if r.by == "nvrtc" && !strings.HasPrefix(versions, "NVRTC "+tools.nvrtc.Version+";") {
				continue
			}
			_, line, ok := strings.Cut(rows, r.key())
			want, err := parse(line)
			if !ok || err != nil {
				t.Errorf("the table has no row %s: %v", r.key(), err)
			} else if r.all > want.all+0.05 || r.inner > want.inner+0.05 || r.spilled > want.spilled {
				t.Errorf("%s; the table has %.1f, %.1f and %d bytes", r, want.inner, want.all, want.spilled)
			}
		}
	}
}
