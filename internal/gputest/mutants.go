package gputest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Mutant is a program as PTX with one thing taken out.
type Mutant struct {
	Kernel string
	Kind   string // "barrier", "wait", "fence", "guard", "loop"
	File   string // of the source
	Line   int    // of that file
	PTX    []byte
}

// The kinds of things that Mutants takes out. A guard is a condition on which memory is
// touched, or a kernel goes on. A loop's is the one on which it ends.
var (
	Orders = []string{"barrier", "wait", "fence"}
	Bounds = []string{"guard", "loop"}
)

// edits of a program: lines and what they become, "" for nothing.
type edits map[int]string

var (
	locLine    = regexp.MustCompile(`^\s*\.loc\s+(\d+)\s+(\d+)`)
	fileLine   = regexp.MustCompile(`(?m)^\s*\.file\s+(\d+)\s+"(?:[^"]*/)?([^"/]*)"`)
	entryLine  = regexp.MustCompile(`\.entry\s+(\w+)\(`)
	labelLine  = regexp.MustCompile(`^(\$?\w+):`)
	branchLine = regexp.MustCompile(`^\s*@(!?%p\d+)\s+bra(?:\.uni)?\s+(\S+);`)
	jumpLine   = regexp.MustCompile(`^\s*bra(?:\.uni)?\s+(\S+);`)
	votedLine  = regexp.MustCompile(`^\s*bar(?:rier\.cta)?\.red\.\w+\.pred\s+(%p\d+),.*?(!?)(%p\d+)\s*;`)
	alwaysLine = regexp.MustCompile(`^\s*@!?%p\d+\s+((?:ld|st|atom|red|ret|exit)\b.*)`)
	memoryLine = regexp.MustCompile(`^\s*(?:@!?%p\d+\s+)?(?:(?:ld|st)\.(?:volatile\.|relaxed\.)?(?:global|shared)|atom|red|cp\.async\.c[ag])\b`)
)

// Mutants takes out, one at a time, all things of the given kinds. What one line of the
// source became in a kernel, copies of it in unrolled loops for example, goes at once.
func Mutants(ptx []byte, kinds []string) []Mutant {
	files := map[string]string{}
	for _, m := range fileLine.FindAllSubmatch(ptx, -1) {
		files[string(m[1])] = string(m[2])
	}
	lines := strings.Split(string(ptx), "\n")
	labels := map[string]int{}
	for n, s := range lines {
		if m := labelLine.FindStringSubmatch(s); m != nil {
			labels[m[1]] = n
		}
	}
	at := Mutant{}
	var order []Mutant
	groups := map[string]edits{} // by what the mutant is but for its text
	for n, s := range lines {
		if m := entryLine.FindStringSubmatch(s); m != nil {
			at = Mutant{Kernel: m[1]}
		}
		if m := locLine.FindStringSubmatch(s); m != nil {
			at.File = files[m[1]]
			at.Line, _ = strconv.Atoi(m[2])
		}
		kind, changed, to := mutation(lines, labels, n)
		if !slices.Contains(kinds, kind) || at.Line == 0 { // 0: the compiler's own
			continue
		}
		mutant := at
		mutant.Kind = kind
		key := mutant.String()
		if groups[key] == nil {
			groups[key] = edits{}
			order = append(order, mutant)
		}
		groups[key][changed] = to
	}
	for i, m := range order {
		mutated := slices.Clone(lines)
		for n, to := range groups[m.String()] {
			mutated[n] = to
		}
		order[i].PTX = []byte(strings.Join(mutated, "\n"))
	}
	return order
}

func (m Mutant) String() string {
	return fmt.Sprintf("%s of %s, %s:%d", m.Kind, m.Kernel, m.File, m.Line)
}

// mutation says what a line's mutant is: its kind, and the line that changes, to what.
func mutation(lines []string, labels map[string]int, n int) (kind string, changed int, to string) {
	s := strings.TrimSpace(lines[n])
	if m := votedLine.FindStringSubmatch(s); m != nil { // a thread's own vote remains
		return "barrier", n, map[string]string{"": "mov", "!": "not"}[m[2]] + ".pred " + m[1] + ", " + m[3] + ";"
	}
	switch {
	case strings.HasPrefix(s, "bar.sync") || strings.HasPrefix(s, "barrier.sync") || strings.HasPrefix(s, "barrier.cta.sync"):
		return "barrier", n, ""
	case strings.HasPrefix(s, "cp.async.wait"):
		return "wait", n, ""
	case strings.HasPrefix(s, "membar") || strings.HasPrefix(s, "fence"):
		return "fence", n, ""
	}
	if m := alwaysLine.FindStringSubmatch(s); m != nil {
		if strings.HasPrefix(m[1], "ret") || strings.HasPrefix(m[1], "exit") {
			return "guard", n, ""
		}
		return "guard", n, m[1]
	}
	m := branchLine.FindStringSubmatch(s)
	if m == nil {
		return "", n, s
	}
	always, target := "bra "+m[2]+";", labels[m[2]]
	if target <= n {
		return "loop", n, always
	}
	// What runs unless the branch is taken, and what runs only if it is: that up to where
	// the first ends by a jump to.
	end := target
	last := target - 1
	for last > n && !strings.HasSuffix(strings.TrimSpace(lines[last]), ";") {
		last--
	}
	if j := jumpLine.FindStringSubmatch(lines[last]); j != nil {
		end = max(end, labels[j[1]])
	}
	unless, only := touches(lines[n+1:target]), touches(lines[target:end])
	switch {
	case unless && !only:
		return "guard", n, ""
	case only && !unless:
		return "guard", n, always
	}
	return "", n, s
}

func touches(lines []string) bool { return slices.ContainsFunc(lines, memoryLine.MatchString) }

// UseNVRTC makes this test's cards run what the machine's own NVRTC makes, whose name for
// the loader nvrtc returns. The test is skipped where there is none.
func UseNVRTC(t *testing.T, nvrtc func() (library string, err error)) {
	t.Helper()
	NeedEmulator(t)
	emulated := os.Getenv("LSM_NVRTC_LIB")
	t.Setenv("LSM_NVRTC_LIB", os.Getenv("LSM_TEST_NVRTC_LIB"))
	library, err := nvrtc()
	if err != nil {
		t.Skip(err)
	}
	t.Setenv("LSM_NVRTC_LIB", emulated)
	t.Setenv("GPUEMU_NVRTC", library)
}

// line says what m takes out of the text, which several kernels may share.
func (m Mutant) line() string { return fmt.Sprintf("%s %s:%d", m.Kind, m.File, m.Line) }

// Hunt looks for mutants that nobody notices.
type Hunt struct {
	kinds []string
	shown map[string]string // what showed a mutant, by its name
	lines map[string]string // the name of a mutant that was shown, by what it took out of the text
	alive map[string]Mutant // that nothing has shown yet
	tried map[string]int
}

// AllMutants says that a hunt is for all kinds of mutants, not only for those that take
// barriers, waits and fences out.
func AllMutants() bool { return os.Getenv("LSM_TEST_MUTANTS") == "all" }

// tries is how often a mutant is tried before it counts as one that nobody notices.
const tries = 20

// NewHunt begins one.
func NewHunt() *Hunt {
	h := &Hunt{Orders, map[string]string{}, map[string]string{}, map[string]Mutant{}, map[string]int{}}
	if AllMutants() {
		h.kinds = append(h.kinds, Bounds...)
	}
	return h
}

// Try runs all mutants of a program. run returns a digest of what it computes, or what
// failed.
func (h *Hunt) Try(t *testing.T, program []byte, run func() (digest string, err error)) {
	t.Helper()
	wanted, err := run()
	if again, _ := run(); err != nil || again != wanted {
		t.Fatalf("the program itself gives %s, then %s (%v)", wanted, again, err)
	}
	folder := t.TempDir()
	for k, v := range map[string]string{"REPORT": filepath.Join(folder, "report"), "PTX": folder, "STEPS": "3000000"} {
		t.Setenv("GPUEMU_"+k, v)
	}
	for _, m := range Mutants(program, h.kinds) {
		key := m.String()
		if h.tried[key]++; h.shown[key] != "" || h.tried[key] > tries {
			continue
		}
		Replace(t, program, m.PTX)
		h.alive[key] = m
		if s := noticed(folder, wanted, run); s != "" {
			h.shown[key], h.lines[m.line()] = s, key
			delete(h.alive, key)
		}
	}
	os.Unsetenv("GPUEMU_PTX")
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

// End tells of all mutants. A barrier, wait or fence that no kernel misses is an error, unless
// redundant says why: its kind, its file and what stands in its line, "barrier forward.cu:
// __syncthreads();". So is one that redundant lists and that somebody does miss. Guards that
// nobody misses are told of: many save work alone. source returns the text of a file.
func (h *Hunt) End(t *testing.T, source func(file string) string, redundant map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(h.shown)) {
		t.Logf("%s: %s", name, h.shown[name])
	}
	needed := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(h.alive)) {
		m := h.alive[name]
		if other := h.lines[m.line()]; other != "" { // kernels share the text
			t.Logf("%s: nobody misses it, but this one: %s", name, other)
			continue
		}
		lines := strings.Split(source(m.File), "\n")
		what := fmt.Sprintf("%s %s: %s", m.Kind, m.File, strings.TrimSpace(lines[min(max(m.Line, 1), len(lines))-1]))
		needed[what] = true
		switch why := redundant[what]; {
		case why != "":
			t.Logf("%s: nobody misses it, as %s: %s", name, why, what)
		case slices.Contains(Orders, m.Kind):
			t.Errorf("%s: nobody misses it: %s", name, what)
		default:
			t.Logf("%s: nobody misses it: %s", name, what)
		}
	}
	for what := range redundant {
		if kind, _, _ := strings.Cut(what, " "); slices.Contains(h.kinds, kind) && !needed[what] {
			t.Errorf("%s is listed as redundant and is not", what)
		}
	}
	t.Logf("%d mutants, of which %d are noticed", len(h.shown)+len(h.alive), len(h.shown))
}
