package readable

import (
	"fmt"
	"regexp"
)

// numbers matches the numbers in which lines of one kind may differ, with signs, points and
// exponents.
var numbers = regexp.MustCompile(`[-+]?\d+(\.\d+)?([eE][-+]?\d+)?`)

// Kind is the same for lines that differ only in their numbers.
func Kind(line string) string { return numbers.ReplaceAllString(line, "0") }

// MoreAlike appends to a line how many more there are that differ from it only in numbers.
func MoreAlike(line string, more int) string {
	if more == 0 {
		return line
	}
	return fmt.Sprintf("%s (and %d more like it)", line, more)
}

// Alike keeps the first of the lines that differ only in their numbers, and appends how
// many more there are: "time scalar is 7 (and 31 more like it)". Their order stays.
func Alike(lines []string) (kept []string) {
	place, more := map[string]int{}, []int{}
	for _, line := range lines {
		kind := Kind(line)
		if i, there := place[kind]; there {
			more[i]++
			continue
		}
		place[kind] = len(kept)
		kept, more = append(kept, line), append(more, 0)
	}
	for i, n := range more {
		kept[i] = MoreAlike(kept[i], n)
	}
	return kept
}
