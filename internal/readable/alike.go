package readable

import (
	"fmt"
	"regexp"
)

// numbers are what lines of one kind may differ in, with signs, points and exponents.
var numbers = regexp.MustCompile(`[-+]?\d+(\.\d+)?([eE][-+]?\d+)?`)

// Alike keeps the first of the lines that differ in their numbers alone, and appends how
// many more there are: "time scalar is 7 (and 31 more like it)". Their order stays.
func Alike(lines []string) (kept []string) {
	place, more := map[string]int{}, []int{}
	for _, line := range lines {
		kind := numbers.ReplaceAllString(line, "0")
		if i, there := place[kind]; there {
			more[i]++
			continue
		}
		place[kind] = len(kept)
		kept, more = append(kept, line), append(more, 0)
	}
	for i, n := range more {
		if n > 0 {
			kept[i] += fmt.Sprintf(" (and %d more like it)", n)
		}
	}
	return kept
}
