package progress

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// spend spends time in a section, with what is inside it in between.
func spend(r *Reporter, h *hand, section string, before float64, inside ...func()) {
	defer r.Time(section)()
	h.move(seconds(before))
	for _, f := range inside {
		f()
	}
}

// oneRank is a small run: 10 s, slower by a factor in the all-reduce.
func oneRank(r *Reporter, h *hand, slow float64) {
	spend(r, h, "read survey", 1)
	for range 2 {
		spend(r, h, "solver", 0.5, func() {
			spend(r, h, "forward", 1)
			spend(r, h, "adjoint", 1, func() { spend(r, h, "all-reduce", slow) })
		})
	}
	h.move(seconds(4 - 2*slow))
}

func TestTableOfOneRank(t *testing.T) {
	r, out, _, h := reporter(Options{})
	oneRank(r, h, 0.5)
	r.Closing([]Account{r.Account()})
	want := `
section        |  min s    |  avg s    |  max s    |  calls | % of total, 1 rank
---------------+-----------+-----------+-----------+--------+-----------
read survey    |         1 |         1 |         1 |      1 |  10.0
solver         |         1 |         1 |         1 |      2 |  10.0 (60.0 with those inside)
  forward      |         2 |         2 |         2 |      2 |  20.0
  adjoint      |         2 |         2 |         2 |      2 |  20.0 (30.0 with those inside)
    all-reduce |         1 |         1 |         1 |      2 |  10.0
other          |         3 |         3 |         3 |        |  30.0
---------------+-----------+-----------+-----------+--------+-----------
total          |        10 |        10 |        10 |        | 100.0
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}

// sectionsOf are the times of a reporter's rank, and the time since New, in seconds.
func sectionsOf(r *Reporter) ([]section, float64) {
	a := r.Account()
	return merge(nil, []*Node{&a.Sections}), a.Took.Seconds()
}

// gathered are the accounts of runs with these factors, as one rank gets them.
func gathered(t *testing.T, change func(rank int, a *Account), slow ...float64) []Account {
	t.Helper()
	all := make([]Account, len(slow))
	for rank, s := range slow {
		r, _, _, h := reporter(Options{})
		oneRank(r, h, s)
		if rank == 1 {
			spend(r, h, "checkpoint", 2)
		}
		a := r.Account()
		change(rank, &a)
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &all[rank]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestClosingOfManyRanks(t *testing.T) {
	const mib = 1 << 20
	all := gathered(t, func(rank int, a *Account) {
		a.PeakMemory, a.Predicted = int64(1000+200*rank)*mib, int64(1100+100*rank)*mib
	}, 0.5, 1)
	r, out, _, _ := reporter(Options{})
	r.Closing(all)
	want := `
section        |  min s    |  avg s    |  max s    | slowest    |  calls | % of total, 2 ranks
---------------+-----------+-----------+-----------+------------+--------+-----------
read survey    |         1 |         1 |         1 | rank 0     |      1 |   9.1
solver         |         1 |         1 |         1 | rank 0     |      2 |   9.1 (59.1 with those inside)
  forward      |         2 |         2 |         2 | rank 0     |      2 |  18.2
  adjoint      |         2 |         2 |         2 | rank 0     |      2 |  18.2 (31.8 with those inside)
    all-reduce |         1 |       1.5 |         2 | rank 1     |      2 |  13.6
checkpoint     |         0 |         1 |         2 | rank 1     |      1 |   9.1
other          |         2 |       2.5 |         3 | rank 0     |        |  22.7
---------------+-----------+-----------+-----------+------------+--------+-----------
total          |        10 |        11 |        12 | rank 1     |        | 100.0
memory: 1.17 GiB at most (rank 1), 1.17 GiB predicted
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}

func TestClosingEvents(t *testing.T) {
	all := gathered(t, func(rank int, a *Account) { a.PeakMemory = int64(rank + 1) }, 0.5, 1, 0.25)
	r, out, _, _ := reporter(Options{JSON: true})
	r.Closing(all)
	list := events(t, out.String())
	if len(list) != 9 {
		t.Fatalf("%d events, want 8 timings and the memory:\n%s", len(list), out)
	}
	reduce := list[4]
	for key, want := range map[string]any{"event": "timing", "section": "all-reduce", "path": []any{"solver", "adjoint", "all-reduce"},
		"min": 0.5, "avg": 3.5 / 3, "max": 2.0, "slowest": 1.0, "calls": 2.0, "ranks": 3.0} {
		if got := reduce[key]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	sum := 0.0
	for _, e := range list[:7] {
		sum += e["percent"].(float64)
	}
	if math.Abs(sum-100) > 1e-9 || list[7]["section"] != "total" || list[7]["percent"] != 100.0 {
		t.Errorf("the shares add up to %g, the last is %v", sum, list[7])
	}
	memory := list[8]
	if memory["event"] != "memory" || memory["max"] != 3.0 || memory["rank"] != 2.0 || memory["predicted"] != 0.0 ||
		fmt.Sprint(memory["bytes"]) != "[1 2 3]" {
		t.Errorf("memory: %v", memory)
	}
}

func TestMemoryLine(t *testing.T) {
	for _, c := range []struct {
		peak, predicted int64
		want            string
	}{
		{0, 1 << 30, ""},
		{1288490188, 0, "memory: 1.20 GiB at most\n"},
		{1<<30 - 1, 987654321, "memory: 1024 MiB at most, 941.9 MiB predicted\n"},
	} {
		r, out, _, _ := reporter(Options{})
		r.Closing([]Account{{PeakMemory: c.peak, Predicted: c.predicted}})
		if _, after, _ := strings.Cut(out.String(), "\ntotal "); !strings.HasSuffix(after, "0.0\n"+c.want) {
			t.Errorf("%d and %d bytes: %q, want %q at the end", c.peak, c.predicted, out, c.want)
		}
	}
}

func TestAccountStaysAsItIs(t *testing.T) {
	r, _, _, h := reporter(Options{})
	r.KeepTrace(1)
	spend(r, h, "a", 1)
	before := r.Account()
	kept, _ := json.Marshal(before)
	spend(r, h, "a", 1, func() { spend(r, h, "b", 1) })
	if now, _ := json.Marshal(before); string(now) != string(kept) {
		t.Errorf("from %s to %s", kept, now)
	}
}

func TestSections(t *testing.T) {
	r, _, _, h := reporter(Options{})
	for range 2 {
		s := r.Stage("a")
		h.move(seconds(1))
		s.End()
	}
	end := r.Time("b")
	h.move(seconds(3))
	end()
	end()
	sections, total := sectionsOf(r)
	if total != 5 || len(sections) != 2 || sections[0].seconds[0] != 2 || sections[0].calls[0] != 2 ||
		sections[1].path[0] != "b" || sections[1].seconds[0] != 3 || sections[1].calls[0] != 1 {
		t.Errorf("sections %v, total %g", sections, total)
	}
}

// Whatever the order in which sections begin and end, their times add up to the
// time in which at least one was under way, where those that began later end
// first, and never to more.
func TestSectionsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, _, _, h := reporter(Options{})
		var open []func()
		busy, ordered := time.Duration(0), true
		step := func() {
			d := time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second
			h.move(d)
			if len(open) > 0 {
				busy += d
			}
		}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			step()
			if len(open) == 0 || rapid.Bool().Draw(t, "begin") {
				open = append(open, r.Time(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")))
				continue
			}
			i := rapid.SampledFrom([]int{len(open) - 1, 0}).Draw(t, "which")
			ordered = ordered && i == len(open)-1
			open[i]()
			open = append(open[:i:i], open[i+1:]...)
		}
		for len(open) > 0 {
			step()
			open[len(open)-1]()
			open = open[:len(open)-1]
		}
		sections, total := sectionsOf(r)
		sum := 0.0
		for _, s := range sections {
			sum += s.seconds[0]
		}
		if sum > total || ordered && sum != busy.Seconds() {
			t.Fatalf("sections add up to %g s of %g s, busy for %v", sum, total, busy)
		}
	})
}

func TestSectionsOfManyGoroutines(t *testing.T) {
	r := Discard()
	r.KeepTrace(1)
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 50 {
				r.Time("a")()
				r.Beside("reductions", "all-reduce", time.Now(), 1, 1)
			}
		}()
	}
	wg.Wait()
	calls := 0
	sections, _ := sectionsOf(r)
	for _, s := range sections {
		calls += s.calls[0]
	}
	a := r.Account()
	if n := a.Beside.child("reductions").child("all-reduce").Calls; n != 400 {
		t.Errorf("%d times beside the sections, want 400", n)
	}
	if calls != 400 || len(a.Trace.Spans) != 800 {
		t.Errorf("%d calls, %d spans; want 400, 800", calls, len(a.Trace.Spans))
	}
}

// Work beside the sections has a table of its own, and counts towards none of them.
func TestBesideTable(t *testing.T) {
	r, out, _, h := reporter(Options{})
	spend(r, h, "solver", 2)
	r.Beside("GPU", "forward", h.now(), seconds(1), seconds(1))
	r.Beside("GPU", "dots", h.now(), seconds(0.25), seconds(0.25))
	r.Beside("GPU", "forward", h.now(), seconds(0.5), seconds(0.5))
	a := r.Account()
	other := a
	other.Beside = Node{}
	r.Closing([]Account{a, other})
	text := out.String()
	for _, want := range []string{
		`(?m)^solver +\| +2 \| +2 \| +2 \| rank 0 +\| +1 \| 100\.0$`,
		`(?m)^beside +\|`, `(?m)^GPU +\| +0 \| +0 \| +0 \| .*\| +0\.0 \(43\.8 with those inside\)$`,
		`(?m)^  forward +\| +0 \| +0\.75 \| +1\.5 \| rank 0 +\| +2 \| +37\.5$`,
		`(?m)^  dots +\| +0 \| +0\.125 \| +0\.25 \| rank 0 +\| +1 \| +6\.2$`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no line %s in\n%s", want, text)
		}
	}
}
