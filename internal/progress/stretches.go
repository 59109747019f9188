package progress

import (
	"cmp"
	"slices"
	"time"
)

// stretches of time lie apart, in ascending order: begin and end in ns.
type stretches [][2]int64

// busy is when there was work on a lane, all of it or, unless that is "", that of a name. A nil
// Trace has none.
func (t *Trace) busy(lane string, name string) (s stretches) {
	if t == nil {
		return nil
	}
	var all [][2]int64
	for _, p := range t.Spans {
		if t.Names[p[0]] == lane && (name == "" || t.Names[p[1]] == name) {
			all = append(all, [2]int64{p[2], p[2] + p[3]})
		}
	}
	slices.SortFunc(all, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	for _, p := range all {
		if n := len(s); n > 0 && p[0] <= s[n-1][1] {
			s[n-1][1] = max(s[n-1][1], p[1])
		} else {
			s = append(s, p)
		}
	}
	return s
}

func (s stretches) length() (sum time.Duration) {
	for _, p := range s {
		sum += time.Duration(p[1] - p[0])
	}
	return sum
}

// common is when there was both.
func common(a, b stretches) (s stretches) {
	for len(a) > 0 && len(b) > 0 {
		if lo, hi := max(a[0][0], b[0][0]), min(a[0][1], b[0][1]); lo < hi {
			s = append(s, [2]int64{lo, hi})
		}
		if a[0][1] < b[0][1] {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return s
}
