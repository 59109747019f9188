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
		all            []Seat // the first is this rank
		threads, ranks int
	}{
		{"alone", []Seat{{"a", cpus(0, 8)}}, 8, 1},
		{"unbound", []Seat{{"a", cpus(0, 8)}, {"a", cpus(0, 8)}, {"a", cpus(0, 8)}}, 2, 3},
		{"bound apart", []Seat{{"a", cpus(0, 4)}, {"a", cpus(4, 8)}}, 4, 2},
		{"two to a socket", []Seat{{"a", cpus(0, 4)}, {"a", cpus(0, 4)}, {"a", cpus(4, 8)}, {"a", cpus(4, 8)}}, 2, 4},
		{"two machines", []Seat{{"a", cpus(0, 8)}, {"b", cpus(0, 8)}}, 8, 1},
		{"more ranks than processors", []Seat{{"a", cpus(0, 2)}, {"a", cpus(0, 2)}, {"a", cpus(0, 2)}}, 1, 3},
	} {
		if threads, ranks := Share(c.all[0], c.all); threads != c.threads || ranks != c.ranks {
			t.Errorf("%s: %d threads, %d ranks on the machine, want %d and %d", c.name, threads, ranks, c.threads, c.ranks)
		}
	}
	own := OwnSeat()
	threads, ranks := Share(own, []Seat{own, own})
	if ranks != 2 || threads < 1 || threads > max(1, len(affinity())/2) {
		t.Errorf("two of this process: %d threads, %d ranks", threads, ranks)
	}
}

// Processors that several ranks may use count once, and those of other machines not at all.
func TestNodes(t *testing.T) {
	all := []Seat{{"a", []int{0, 1}}, {"b", []int{0, 1, 2, 3}}, {"a", []int{1, 2}}, {"c", []int{7}}, {"a", []int{1, 2}}}
	for i, want := range []int{3, 4, 3, 1, 3} {
		if nodes, processors := Nodes(all[i], all); nodes != 3 || processors != want {
			t.Errorf("seat %d: %d processors on %d machines, want %d on 3", i, processors, nodes, want)
		}
	}
}
