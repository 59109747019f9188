package machine

import "testing"

func TestShare(t *testing.T) {
	cpus := func(lo, hi int) (list []int) {
		for c := lo; c < hi; c++ {
			list = append(list, c)
		}
		return list
	}
	for _, c := range []struct {
		name           string
		all            []seat // the first is this rank
		threads, ranks int
	}{
		{"alone", []seat{{"a", cpus(0, 8)}}, 8, 1},
		{"unbound", []seat{{"a", cpus(0, 8)}, {"a", cpus(0, 8)}, {"a", cpus(0, 8)}}, 2, 3},
		{"bound apart", []seat{{"a", cpus(0, 4)}, {"a", cpus(4, 8)}}, 4, 2},
		{"two to a socket", []seat{{"a", cpus(0, 4)}, {"a", cpus(0, 4)}, {"a", cpus(4, 8)}, {"a", cpus(4, 8)}}, 2, 4},
		{"two machines", []seat{{"a", cpus(0, 8)}, {"b", cpus(0, 8)}}, 8, 1},
		{"more ranks than processors", []seat{{"a", cpus(0, 2)}, {"a", cpus(0, 2)}, {"a", cpus(0, 2)}}, 1, 3},
	} {
		if threads, ranks := share(c.all[0], c.all); threads != c.threads || ranks != c.ranks {
			t.Errorf("%s: %d threads, %d ranks on the machine, want %d and %d", c.name, threads, ranks, c.threads, c.ranks)
		}
	}
	threads, ranks, err := Share(func(b []byte) ([][]byte, error) { return [][]byte{b, b}, nil })
	if err != nil || ranks != 2 || threads < 1 || threads > max(1, len(affinity())/2) {
		t.Errorf("two of this process: %d threads, %d ranks, %v", threads, ranks, err)
	}
}
