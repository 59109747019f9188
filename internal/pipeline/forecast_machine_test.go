package pipeline

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

var example = Machine{Nodes: 8, Cores: 4, NodeGiB: 64, File: 5e8, Samples: 1e8, Speed2D: Speed{3e8, 25e7, 2e7}, Speed3D: Speed{4e8, 2e8, 1e7},
	Within: Link{Bytes: 4e9, Latency: 1e-6}, Between: Link{Bytes: 1e9, Latency: 5e-6}, Forward: 0.8, OnNode: 2}

// A group's sums cross the network unless each such group lies on one node.
func TestLinkOfSums(t *testing.T) {
	example := example
	example.OnNode = 0
	for _, c := range []struct {
		span, ranks int
		want        Link
	}{
		{8, 64, example.Within}, {2, 16, example.Within}, {4, 64, example.Within}, {1, 9, example.Within},
		{2, 2, example.Between}, {3, 9, example.Between}, {16, 64, example.Between}, {64, 64, example.Between},
	} {
		if got := example.link(c.span, c.ranks); got != c.want {
			t.Errorf("groups within %d of %d ranks have %+v", c.span, c.ranks, got)
		}
	}
}

// Sums over ranks take what Rabenseifner's algorithm does.
func TestAllReduce(t *testing.T) {
	l := Link{Bytes: 1e6, Latency: 0.25}
	for _, c := range []struct {
		bytes, ranks int
		want         float64
	}{
		{4e6, 1, 0},
		{4e6, 2, 2*0.25 + 4},
		{4e6, 4, 4*0.25 + 6},
		{10e6, 5, 6*0.25 + 16},
		{0, 4096, 24 * 0.25},
	} {
		if got := l.allReduce(c.bytes, c.ranks); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%d bytes over %d ranks take %g s, want %g", c.bytes, c.ranks, got, c.want)
		}
	}
}

// Ranks of a node share its network.
func TestSharedNetwork(t *testing.T) {
	for ranks, share := range map[int]float64{8: 2, 16: 1, 64: 0.25} {
		want := example.Between
		want.Bytes *= share
		if got := example.link(ranks, ranks); got != want {
			t.Errorf("%d ranks on 8 nodes have %+v, want %+v", ranks, got, want)
		}
	}
}

// All ranks of one node are within it.
func TestLinkOfOneNode(t *testing.T) {
	one := example
	one.Nodes = 1
	if got := one.link(9, 9); got != one.Within {
		t.Errorf("9 ranks on a node have %+v", got)
	}
}

// Ranks share the cores of their node: with whole threads, or less than a core each.
func TestCores(t *testing.T) {
	two := Machine{Nodes: 2, Cores: 4}
	for _, c := range []struct {
		ranks, threads int
		want           float64
	}{
		{1, 0, 4}, {2, 0, 4}, {3, 0, 2}, {4, 0, 2}, {6, 0, 1}, {8, 0, 1}, {16, 0, 0.5}, {10, 0, 0.8},
		{2, 3, 3}, {4, 3, 2}, {16, 3, 0.5}, {2, 8, 4},
	} {
		if got := two.cores(c.ranks, c.threads); got != c.want {
			t.Errorf("%d ranks with %d threads: %g cores each, want %g", c.ranks, c.threads, got, c.want)
		}
	}
}

// What is summed is sent by the messages of every piece, in both kinds of groups.
func TestSent(t *testing.T) {
	f := &Forecast{Grid: [2]int{4, 2}, sums: []exchange{{4, 8, 6, 600}, {2, 2, 3, 50}}}
	if count, bytes := f.Sent(); count != 6*4+3*2 || bytes != 900+50 {
		t.Errorf("%d messages of %d bytes", count, bytes)
	}
}

func TestMachineFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := string(example.Text("guessed", "measured"))
	write(text)
	want := example
	want.path = path
	if m, err := ReadMachine(path); err != nil || *m != want {
		t.Errorf("read %+v, %v", m, err)
	}
	for _, c := range []struct{ from, to, says string }{
		{"nodes = 8", "nods = 8", "nods is unknown"},
		{"cores_per_node = 4", "", "cores_per_node is missing"},
		{"cores_per_node = 4", "cores_per_node = 1.5", "float"},
		{"cores_per_node = 4", "cores_per_node = [", "line 4 (last key \"cores_per_node\")"},
		{"nodes = 8", "nodes = 0", "nodes is 0, must be positive"},
		{"memory_gib_per_node = 64", "memory_gib_per_node = nan", "memory_gib_per_node is NaN, must be positive"},
		{"samples_per_second = 1e+08", "", "samples_per_second is missing"},
		{"dynamic_triples_per_second = 2e+08", "", "in_3d.dynamic_triples_per_second is missing"},
		{"[in_2d]\ntriples_per_second = 3e+08", "[in_2d]\ntriples_per_second = -1", "in_2d.triples_per_second is -1, must be positive"},
		{"points_per_second = 1e+07", "", "in_3d.points_per_second is missing"},
		{"latency = 5e-06", "latency = inf", "between_nodes.latency is +Inf, must be positive"},
		{"latency = 5e-06", "latency = 5e-06\nhops = 3", "between_nodes.hops is unknown"},
		{"[within_node]", "[elsewhere]", "elsewhere is unknown"},
		{"forward_share = 0.8", "forward_share = -0.8", "forward_share is -0.8, must not be negative"},
		{"ranks_per_node = 2", "ranks_per_node = 2\nnodes_per_switch = 32", "nodes_per_switch is no longer used"},
		{"forward_share = 0.8", "forward_share = 1.5", "forward_share is 1.5, must be at most 1"},
		{"forward_share = 0.8", "forward_share = nan", "forward_share is NaN, must not be negative"},
		{"latency = 1e-06", "latency = 1e-06\ncore_share = 0.25", "within_node.core_share is no longer used, and lsm bench solve --machine, which read it, is gone"},
	} {
		changed := strings.Replace(text, c.from, c.to, 1)
		if changed == text {
			t.Fatalf("%q is not in the file:\n%s", c.from, text)
		}
		write(changed)
		if _, err := ReadMachine(path); status.Code(err) != status.BadUsage || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: status %d: %v, want %q", c.to, status.Code(err), err, c.says)
		}
	}
	write(strings.Replace(text, "forward_share = 0.8", "", 1))
	if m, err := ReadMachine(path); err != nil || m.Forward != forwardShare {
		t.Errorf("without forward_share: %+v, %v", m, err)
	}
	three, _, _ := strings.Cut(text, "[in_3d]")
	_, links, _ := strings.Cut(text, "[within_node]")
	write(three + "[within_node]" + links) // speeds of one dimension do
	if m, err := ReadMachine(path); err != nil || m.Speed3D != (Speed{}) {
		t.Errorf("without a table: %+v, %v", m, err)
	}
	if _, err := ReadMachine(path + "x"); status.Code(err) != status.BadUsage {
		t.Errorf("no file: %v", err)
	}
}
