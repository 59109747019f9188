package ptxtest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// Mutants takes out, one at a time, all things of the given kinds. The statements of one line of the
// source in a kernel, copies of it in unrolled loops for example, go at once.
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
	groups := map[string]edits{} // by the mutant's fields except its text
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
	// The statements that run unless the branch is taken, and those that run only if it is. The latter end
	// at the target of the jump that ends the former.
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

// place is the text that m takes out, which several kernels may share.
func (m Mutant) place() place { return place{m.File, m.Kind, m.Line} }
