package pipeline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/dist"

	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

// measuredWays are the carriers in the table that a run prints of its choice, each with + or −
// for overlap.
func measuredWays(said string) (ways []string) {
	row := regexp.MustCompile(`(?m)^  (\S+) +(with|without) overlap +[0-9.e-]+ s$`)
	for _, m := range row.FindAllStringSubmatch(said, -1) {
		ways = append(ways, m[1]+map[string]string{"with": "+", "without": "-"}[m[2]])
	}
	return ways
}

// The forecast counts host memory for sums between cards where they may go through the host.
func TestSumsThroughTheHostAreForeseen(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
	p := wide(t)
	total := func(set ...string) (bytes, points int64) {
		must(t, p.onEngine(2, "cuda", set, func(j *Job) error {
			if j.Ranks.Root() {
				bytes, points = CountMemory(j.plan, j.share).Total(), int64(j.plan.Geometry.Points(j.share))
			}
			return nil
		}))
		return bytes, points
	}
	direct, points := total("comm.backend=nccl")
	for _, set := range [][]string{nil, {"comm.backend=mpi-staged"}, {"comm.backend=nccl", "comm.fallback=mpi"}} {
		if bytes, _ := total(set...); bytes < direct+8*points {
			t.Errorf("%v: %d bytes, want %d more than the %d of NCCL alone", set, bytes, 8*points, direct)
		}
	}
}

// With comm.backend = "auto" ranks with cards measure what carries buffers between them, say
// it, and take one. The image has the bits of each backend alone, on any number of ranks, and
// if the library is left meanwhile.
func TestCarriersAreMeasured(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
	t.Setenv("GPUEMU_NCCL_SILENT", "1")
	p := sparse(t)
	aperture := []string{"kirchhoff.aperture=150"}
	want := map[string]*solved{} // by problem
	for _, c := range []struct {
		ranks    int
		problem  []string
		set      []string
		fault    string
		measured []string // but for the last, which is one of them without overlap
		last     bool
		fell     bool
	}{
		{ranks: 1},
		{ranks: 2, set: []string{"comm.backend=nccl"}},
		{ranks: 2, set: []string{"comm.backend=mpi"}},
		{ranks: 2, set: []string{"comm.backend=mpi-staged"}},
		{ranks: 2, set: []string{"comm.accumulate=onesided"}},
		{ranks: 2, measured: []string{"nccl+", "goroutines-staged+", "goroutines-onesided+"}, last: true},
		{ranks: 3, measured: []string{"nccl+", "goroutines-staged+", "goroutines-onesided+"}, last: true},
		{ranks: 4, set: []string{"comm.grid=2,2"}, measured: []string{"nccl+", "goroutines-staged+", "goroutines-onesided+"}, last: true},
		{ranks: 3, set: []string{"comm.overlap=off"}, measured: []string{"nccl-", "goroutines-staged-", "goroutines-onesided-"}},
		{ranks: 2, set: []string{"comm.fallback=mpi"}, fault: "error:1:2:6", fell: true,
			measured: []string{"goroutines-staged+", "goroutines-onesided+"}, last: true},
		{ranks: 1, problem: aperture},
		{ranks: 3, problem: aperture, set: []string{"comm.grid=3,1"}, measured: []string{"nccl+", "goroutines-staged+", "goroutines-onesided+"}, last: true},
		{ranks: 2, fault: "error:1:0:2", measured: []string{"goroutines-staged+", "goroutines-onesided+"}, last: true},
	} {
		name := fmt.Sprintf("%d ranks %v %v %s", c.ranks, c.problem, c.set, c.fault)
		t.Run(name, func(t *testing.T) {
			t.Setenv("GPUEMU_NCCL_FAULT", c.fault)
			var got *solved
			carrier := ""
			set := slices.Concat([]string{"kirchhoff.engine=cuda", "solver.iterations=12"}, c.problem, c.set)
			said, err := p.watched(t, c.ranks, 30, set, func(j *Job, op *Operator, d *dist.Vector) error {
				r, err := j.whole(j.Solve(t.Context(), d, false))
				if j.Ranks.Root() {
					got, carrier = r, j.process.Carrier()
				}
				return err
			})
			must(t, err)
			problem := fmt.Sprint(c.problem)
			if want[problem] == nil {
				want[problem] = got
			}
			sameResult(t, name, got, want[problem])
			ways := measuredWays(said)
			taken := regexp.MustCompile(`comm.backend: auto takes (\S+)\. `).FindAllStringSubmatch(said, -1)
			if c.measured == nil {
				if ways != nil || taken != nil {
					t.Errorf("measured: %v\n%s", ways, said)
				}
				return
			}
			if c.last && len(ways) > 0 {
				last := strings.TrimSuffix(ways[len(ways)-1], "-")
				if ways = ways[:len(ways)-1]; !slices.Contains(ways, last+"+") {
					t.Errorf("%s was not measured with overlap:\n%s", last, said)
				}
			}
			if !slices.Equal(ways, c.measured) || len(taken) != 1 {
				t.Fatalf("measured: %v, want %v; taken: %v\n%s", ways, c.measured, taken, said)
			}
			if c.fell {
				carrier = strings.TrimPrefix(carrier, "nccl, ")
			}
			if carrier != taken[0][1] || c.fell != strings.Contains(said, "failed and is left") {
				t.Errorf("carried by %s, taken was %s\n%s", carrier, taken[0][1], said)
			}
			if n := strings.Count(said, "comm.overlap: o"); n != map[bool]int{true: 1}[c.last] {
				t.Errorf("overlap is said %d times\n%s", n, said)
			}
		})
	}
}
