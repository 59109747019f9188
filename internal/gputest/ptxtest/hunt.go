package ptxtest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/ptxas"
)

// Hunt looks for mutants that stay undetected.
type Hunt struct {
	Steps int // statements that a mutant's warp may run in a block before it counts as one without an end

	t         *testing.T
	redundant map[string]string
	nvrtc     *driver.Compiler
	kinds     []string
	files     map[string][]string // lines of the sources
	shown     map[string]string   // what showed a mutant, by its name
	how       map[place]string    // the same, of one of the kernels that share the text
	alive     map[string]Mutant   // that nothing has shown yet
	tried     map[string]int
}

// place is the text that a mutant takes out.
type place struct {
	file, kind string
	line       int
}

// LSM_TEST_MUTANTS selects all kinds of mutants, not only those that take barriers, waits
// and fences out. With the value update the table is written again.
func all() bool    { return os.Getenv("LSM_TEST_MUTANTS") != "" }
func update() bool { return os.Getenv("LSM_TEST_MUTANTS") == "update" }

// tries is how often a mutant is tried before it counts as undetected, or knownTries
// if it is known for that.
const tries, knownTries = 40, 5

// NewHunt begins one. redundant explains why text stays although a mutant without it is undetected. Its
// keys are the kind, the file and the text of the line, "guard forward.cu: if (share == 0)". The hunt makes
// the test's cards run the output of the machine's own NVRTC. Without an NVRTC the test is skipped.
func NewHunt(t *testing.T, redundant map[string]string) *Hunt {
	t.Helper()
	gputest.NeedEmulator(t)
	h := &Hunt{3e6, t, redundant, NVRTC(t), Orders, map[string][]string{}, map[string]string{}, map[place]string{}, map[string]Mutant{}, map[string]int{}}
	t.Setenv("GPUEMU_NVRTC", h.nvrtc.Library)
	if all() {
		h.kinds = slices.Concat(Orders, Bounds)
	}
	return h
}

// Try runs all mutants of a program. run returns a digest of its results, or its
// failure.
func (h *Hunt) Try(src accel.Source, run func() (digest string, err error)) {
	t := h.t
	t.Helper()
	maps.Copy(h.files, ptxas.Sources(src.Name, src.Text))
	k, err := driver.OpenCompiler(driver.CUDA)
	if err != nil {
		t.Fatal(err)
	}
	program, _, err := accel.UserCache().Compile(k, src, "sm_90", false) // as the card is given it
	if err != nil {
		t.Fatal(err)
	}
	mutants := slices.DeleteFunc(Mutants(program.Image, h.kinds), func(m Mutant) bool {
		most := tries
		if h.redundant[h.text(m.place())] != "" {
			most = knownTries
		}
		return h.shown[m.String()] != "" || h.tried[m.String()] >= most
	})
	if len(mutants) == 0 {
		return
	}
	wanted, err := run()
	if again, _ := run(); err != nil || again != wanted {
		t.Fatalf("the program itself gives %s, then %s (%v)", wanted, again, err)
	}
	folder := t.TempDir()
	for k, v := range map[string]string{"REPORT": filepath.Join(folder, "report"), "PTX": folder, "STEPS": fmt.Sprint(h.Steps)} {
		t.Setenv("GPUEMU_"+k, v)
	}
	for _, m := range mutants {
		key := m.String()
		h.tried[key]++
		gputest.Replace(t, program.Image, m.PTX)
		h.alive[key] = m
		if s := noticed(folder, wanted, run); s != "" {
			h.shown[key] = s
			if h.how[m.place()] == "" {
				h.how[m.place()] = s
			}
			delete(h.alive, key)
		}
	}
	os.Unsetenv("GPUEMU_PTX")
	os.Unsetenv("GPUEMU_STEPS")
}

// noticed says what shows that a mutant is not the program: the report of a fault, an
// error, or another result; "" for nothing.
func noticed(folder, wanted string, run func() (digest string, err error)) string {
	got, err := run()
	report := filepath.Join(folder, "report")
	said, _ := os.ReadFile(report)
	os.Remove(report)
	for line := range bytes.Lines(said) {
		if i := bytes.Index(line, []byte("): ")); i >= 0 {
			return strings.TrimSpace(string(line[i+3:]))
		}
	}
	switch {
	case err != nil:
		return err.Error()
	case got != wanted:
		return "another result"
	}
	return ""
}

// text describes the text that a mutant takes out: its kind, its file and its line.
func (h *Hunt) text(p place) string {
	line := ""
	if lines := h.files[p.file]; p.line <= len(lines) {
		line = strings.TrimSpace(lines[p.line-1])
	}
	return fmt.Sprintf("%s %s: %s", p.kind, p.file, line)
}

// End reports all mutants. An undetected one is an error, unless it is known as redundant.
// A redundant one that is detected is an error, too. So is a row of the tables in docs/gpu-tests.md that
// differs.
func (h *Hunt) End() {
	t := h.t
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(h.shown)) {
		t.Logf("%s: %s", name, h.shown[name])
	}
	left := map[place]string{}
	needed := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(h.alive)) {
		p := h.alive[name].place()
		if h.how[p] != "" { // kernels share the text
			t.Logf("%s: only other kernels miss it", name)
			continue
		}
		what := h.text(p)
		needed[what] = true
		if left[p] = h.redundant[what]; left[p] == "" {
			t.Errorf("%s: nobody misses it: %s", name, what)
		}
	}
	for what := range h.redundant {
		if kind, _, _ := strings.Cut(what, " "); slices.Contains(h.kinds, kind) && !needed[what] {
			t.Errorf("%s is listed as redundant and is not", what)
		}
	}
	h.table(left)
}
