package ptxtest

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// page has the tables of all hunts, and says by which NVRTC.
func page() string {
	path := "docs/gpu-tests.md"
	for range 5 { // folders from a package up
		if _, err := os.Stat(path); err == nil {
			break
		}
		path = "../" + path
	}
	return path
}

// The heads of its tables.
const (
	counts  = "| source | taken out | number | race | bounds | copy | no end | result | redundant |"
	reasons = "| source | redundant | where | why it stays |"
)

// column says in which column of counts a report belongs.
func column(said string) int {
	for i, words := range []string{"race: ", "", "that was not waited for", "takes more than", "another result"} {
		if words != "" && strings.Contains(said, words) {
			return i
		}
	}
	return 1
}

// table compares the rows of a hunt with those of the page, or writes them there. left says
// why undetected text stays.
func (h *Hunt) table(left map[place]string) {
	type group struct{ file, kind string }
	numbers := map[group]*[7]int{} // the number, by column, redundant
	count := func(p place, column int) {
		n := numbers[group{p.file, p.kind}]
		if n == nil {
			n = new([7]int)
			numbers[group{p.file, p.kind}] = n
		}
		n[0]++
		n[1+column]++
	}
	for p, said := range h.how {
		count(p, column(said))
	}
	var why, rows []string
	for p, reason := range left {
		count(p, 5)
		_, line, _ := strings.Cut(h.text(p), ": ")
		why = append(why, fmt.Sprintf("| `%s` | %s | `%s` | %s |", p.file, p.kind, strings.ReplaceAll(line, "|", `\|`), reason))
	}
	for g, n := range numbers {
		row := fmt.Sprintf("| `%s` | %s |", g.file, g.kind)
		for _, v := range n {
			row += fmt.Sprintf(" %d |", v)
		}
		rows = append(rows, strings.ReplaceAll(row, " 0 |", " |"))
	}
	text, err := os.ReadFile(page())
	if err != nil {
		h.t.Fatal(err)
	}
	doc := string(text)
	if !strings.Contains(doc, "NVRTC "+h.nvrtc.Version) && !update() {
		h.t.Logf("%s is of another NVRTC than %s: its tables are not compared", page(), h.nvrtc.Version)
		return
	}
	slices.Sort(why)
	doc = h.rows(h.rows(doc, counts, rows), reasons, slices.Compact(why))
	if update() {
		if err := os.WriteFile(page(), []byte(doc), 0o644); err != nil {
			h.t.Fatal(err)
		}
	}
}

// rows compares the rows of one table that are of this hunt, and returns the page with the new
// ones.
func (h *Hunt) rows(doc, head string, rows []string) string {
	before, after, ok := strings.Cut(doc, head+"\n")
	if !ok {
		h.t.Fatalf("%s has no table %s", page(), head)
	}
	rule, after, _ := strings.Cut(after, "\n")
	var old, others []string
	for strings.HasPrefix(after, "|") {
		var row string
		row, after, _ = strings.Cut(after, "\n")
		cells := strings.Split(row, " | ")
		file, kind := strings.Trim(cells[0], "| `"), cells[1]
		if h.files[file] != nil && slices.Contains(h.kinds, kind) {
			old = append(old, row)
		} else {
			others = append(others, row)
		}
	}
	slices.Sort(rows)
	slices.Sort(old)
	if !update() && !slices.Equal(old, rows) {
		h.t.Errorf("%s has\n%s\nfound was\n%s\nLSM_TEST_MUTANTS=update writes it anew", page(), strings.Join(old, "\n"), strings.Join(rows, "\n"))
	}
	others = append(others, rows...)
	slices.Sort(others)
	return before + head + "\n" + rule + "\n" + strings.Join(others, "\n") + "\n" + after
}
