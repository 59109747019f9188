package pipeline

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Machine describes a machine that a run is planned for. Its file has a key for each field.
// The ranks of a run are spread evenly over its nodes.
type Machine struct {
	Nodes   int     `toml:"nodes"`
	Cores   int     `toml:"cores_per_node"`
	NodeGiB float64 `toml:"memory_gib_per_node"`
	File    float64 `toml:"file_bytes_per_second"` // of each rank when all read or write at once
	Samples float64 `toml:"samples_per_second"`    // of traces, of one core in an iteration, besides the kernels
	Speed2D Speed   `toml:"in_2d"`
	Speed3D Speed   `toml:"in_3d"`
	Within  Link    `toml:"within_node"`
	Between Link    `toml:"between_nodes"`

	path string // of its file, "" for a machine that was measured

	// The keys of these may be missing.
	Forward float64 `toml:"forward_share"` // of the kernels' time in both directions that the forward takes
	// OnNode is how many ranks of a node shared its network when Between was measured. Others
	// share what these had. 0: each rank has Between, however many there are.
	OnNode int `toml:"ranks_per_node"`
}

// Speed is that of one core while all cores of the machine work.
type Speed struct {
	Triples float64 `toml:"triples_per_second"`         // combinations of a trace and an image point, forward and adjoint
	Dynamic float64 `toml:"dynamic_triples_per_second"` // likewise, with amplitude weights
	Points  float64 `toml:"points_per_second"`          // of the model, with the traveltimes from one place
}

// Kind is the speed of the kernels with amplitude weights or without.
func (s *Speed) Kind(dynamic bool) *float64 {
	if dynamic {
		return &s.Dynamic
	}
	return &s.Triples
}

// Link is what carries messages between ranks.
type Link struct {
	Bytes   float64 `toml:"bytes_per_second"` // that each rank sends, and receives, while all do
	Latency float64 `toml:"latency"`          // s, of a message
}

// allReduce is the time, in s, of a sum of so many bytes over p ranks by Rabenseifner's
// algorithm, a reduce-scatter followed by an all-gather: see Rounds and sent. The time of the
// additions counts as part of the bandwidth. See Thakur, Rabenseifner and Gropp (2005),
// Optimization of collective communication operations in MPICH, Int. J. High Perform. Comput.
// Appl. 19, 49–66.
func (l Link) allReduce(bytes, p int) float64 {
	return float64(AllReduceRounds(p))*l.Latency + sentBytes(bytes, p)/l.Bytes
}

// AllReduceRounds is how many messages a rank sends in a sum over p ranks, one after the other.
func AllReduceRounds(p int) int { return 2 * bits.Len(uint(p-1)) }

// sentBytes is how many bytes a rank sends in a sum of so many bytes over p ranks.
func sentBytes(bytes, p int) float64 { return 2 * float64(p-1) / float64(p) * float64(bytes) }

func durationOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// ReadMachine reads the file of a machine. Its errors carry status 2.
func ReadMachine(path string) (*Machine, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, status.Usage(fmt.Errorf("%s: %w", path, plainfile.Cause(err)))
	}
	defer f.Close()
	m := &Machine{path: path}
	meta, err := toml.NewDecoder(f).Decode(m)
	if err == nil {
		err = m.check(meta)
	}
	if err != nil {
		return nil, status.Hint(status.Usage(fmt.Errorf("%s: %w", path, err)), "lsm bench --machine-file FILE writes such a file, with comments")
	}
	return m, nil
}

// forwardShare is about what lsm bench kernel measures, in 2-D and 3-D, with amplitude weights
// and without.
const forwardShare = 0.75

// goneKeys are keys that only the simulator of ranks read, which earlier versions had.
var goneKeys = map[string]bool{"vector_bytes_per_second": true, "nodes_per_switch": true, "switch_latency": true,
	"started_bytes_per_second": true, "core_share": true}

// check refuses keys that mean nothing and values that cannot be. Speeds of only one
// dimension may be given.
func (m *Machine) check(meta toml.MetaData) error {
	for _, key := range meta.Undecoded() {
		if goneKeys[key[len(key)-1]] {
			return fmt.Errorf("%s is no longer used, and lsm bench solve --machine, which read it, is gone: delete the line; lsm check --ranks N --machine FILE does not need it", key)
		}
		return fmt.Errorf("%s is unknown", key)
	}
	for _, v := range []struct {
		value float64
		key   []string
	}{
		{float64(m.Nodes), []string{"nodes"}}, {float64(m.Cores), []string{"cores_per_node"}},
		{m.NodeGiB, []string{"memory_gib_per_node"}}, {m.File, []string{"file_bytes_per_second"}},
		{m.Samples, []string{"samples_per_second"}},
		{m.Speed2D.Triples, []string{"in_2d", "triples_per_second"}}, {m.Speed2D.Dynamic, []string{"in_2d", "dynamic_triples_per_second"}},
		{m.Speed2D.Points, []string{"in_2d", "points_per_second"}},
		{m.Speed3D.Triples, []string{"in_3d", "triples_per_second"}}, {m.Speed3D.Dynamic, []string{"in_3d", "dynamic_triples_per_second"}},
		{m.Speed3D.Points, []string{"in_3d", "points_per_second"}},
		{m.Within.Bytes, []string{"within_node", "bytes_per_second"}}, {m.Within.Latency, []string{"within_node", "latency"}},
		{m.Between.Bytes, []string{"between_nodes", "bytes_per_second"}}, {m.Between.Latency, []string{"between_nodes", "latency"}},
	} {
		key, part := toml.Key(v.key), v.key[0]
		switch {
		case !meta.IsDefined(v.key...) && (part == "in_2d" || part == "in_3d") && !meta.IsDefined(part):
		case !meta.IsDefined(v.key...):
			return fmt.Errorf("%s is missing", key)
		case !(v.value > 0) || math.IsInf(v.value, 0):
			return fmt.Errorf("%s is %v, must be positive", key, v.value)
		}
	}
	for _, v := range []struct {
		value float64
		key   string
	}{
		{m.Forward, "forward_share"}, {float64(m.OnNode), "ranks_per_node"},
	} {
		if !(v.value >= 0) || math.IsInf(v.value, 0) {
			return fmt.Errorf("%s is %v, must not be negative", v.key, v.value)
		}
	}
	if m.Forward > 1 {
		return fmt.Errorf("forward_share is %v, must be at most 1", m.Forward)
	}
	if !meta.IsDefined("forward_share") {
		m.Forward = forwardShare
	}
	return nil
}

// Text is the file of m. The comments say where the numbers of the two links are from.
func (m *Machine) Text(within, between string) []byte {
	return fmt.Appendf(nil, `# A machine that "lsm check --machine" plans for. Speeds are those while all cores work.
nodes = %d # over which the ranks of a run are spread evenly: put in as many as it will have
cores_per_node = %d # which the ranks of a node share
memory_gib_per_node = %.4g
file_bytes_per_second = %.4g # of each rank when all read or write at once
samples_per_second = %.4g # of traces, of a core in an iteration: the wavelet and the solver's vectors
forward_share = %.3g # of the kernels' time in both directions, that the forward takes
ranks_per_node = %d # that shared a node's network when it was measured; 0: bytes between nodes hold for any number

[in_2d]
triples_per_second = %.4g # traces × image points that a core goes through, forward and adjoint together
dynamic_triples_per_second = %.4g # likewise, with kirchhoff.dynamic = true
points_per_second = %.4g # of the model, of a core that computes traveltimes from one place

[in_3d]
triples_per_second = %.4g
dynamic_triples_per_second = %.4g
points_per_second = %.4g

[within_node] # %s
bytes_per_second = %.4g # that each rank sends, and receives, in a sum over ranks while all do
latency = %.3g # s, of a message

[between_nodes] # %s
bytes_per_second = %.4g
latency = %.3g
`, m.Nodes, m.Cores, m.NodeGiB, m.File, m.Samples, m.Forward, m.OnNode,
		m.Speed2D.Triples, m.Speed2D.Dynamic, m.Speed2D.Points, m.Speed3D.Triples, m.Speed3D.Dynamic, m.Speed3D.Points,
		within, m.Within.Bytes, m.Within.Latency, between, m.Between.Bytes, m.Between.Latency)
}

// Plan returns the plan of a run with so many ranks on the machine. It returns an error if
// the machine's file has no speed for the plan's dimension.
func (m *Machine) Plan(p *Plan, ranks int) (*Plan, error) {
	if *m.Speed(p.Geometry.Image.Dim()) == (Speed{}) {
		return nil, status.Usage(fmt.Errorf("%s: the machine's file has no table in_%dd, which this image needs", m.path, p.Geometry.Image.Dim()))
	}
	q := *p
	if q.Hardware.Threads = p.Config.Machine.Threads; q.Hardware.Threads == 0 {
		q.Hardware.Threads = m.threads(ranks)
	}
	q.Hardware.Memory = int64(m.NodeGiB * (1 << 30) / float64(m.onNode(ranks)))
	return &q, nil
}

// Speed is the speed for images of so many dimensions.
func (m *Machine) Speed(dim int) *Speed {
	if dim == 2 {
		return &m.Speed2D
	}
	return &m.Speed3D
}

// onNode is how many ranks of a run the fullest node has.
func (m *Machine) onNode(ranks int) int { return (ranks + m.Nodes - 1) / m.Nodes }

// threads is how many threads each rank of a run has, unless the configuration says.
func (m *Machine) threads(ranks int) int { return max(1, m.Cores/m.onNode(ranks)) }

// cores is how many cores work for a rank of a run that has so many threads, 0 for as many as
// there are cores for. It is less than 1 where ranks share cores.
func (m *Machine) cores(ranks, threads int) float64 {
	if threads == 0 {
		threads = m.threads(ranks)
	}
	return min(float64(threads), float64(m.Cores)/float64(m.onNode(ranks)))
}

// link is what carries the sums over groups of ranks that lie next to each other, within
// so many ranks.
func (m *Machine) link(span, ranks int) Link {
	if n := m.onNode(ranks); ranks <= n || n%span == 0 {
		return m.Within
	}
	l := m.Between
	if m.OnNode > 0 {
		l.Bytes *= float64(m.OnNode) / float64(m.onNode(ranks))
	}
	return l
}

// exchange is what a rank sums with others in an iteration, pieces of an image or of data, or
// numbers, or what it sends to its neighbours.
type exchange struct {
	ranks, span int // so many, that lie within so many ranks; 0: neighbours
	count       int
	bytes       int // of all
}

// sent is the number of messages that a rank sends for s, and of their bytes.
func (s exchange) sent() (count, bytes int) {
	if s.ranks == 0 {
		return s.count, s.bytes
	}
	return s.count * AllReduceRounds(s.ranks), int(sentBytes(s.bytes, s.ranks))
}

// timeOver is the time of s over a link, in s.
func (s exchange) timeOver(l Link) float64 {
	if s.ranks == 0 {
		return float64(s.count)*l.Latency + float64(s.bytes)/l.Bytes
	}
	return float64(s.count) * l.allReduce(s.bytes/s.count, s.ranks)
}

// On is the duration on a machine, for a plan of it.
func (f *Forecast) On(m *Machine) Duration {
	sums := 0.0
	for _, s := range f.sums {
		sums += s.timeOver(m.link(s.span, f.Ranks()))
	}
	d := f.duration(m, durationOf(float64(f.Memory.AllData)/m.File), durationOf(sums))
	d.Total += durationOf(4 * float64(f.plan.Geometry.Image.Len()) * float64(max(1, f.plan.Classes.N)) / m.File) // the image, by one rank
	return d
}

// Sent is the number of messages, and of their bytes, that a rank sends to others in an
// iteration. It receives as many.
func (f *Forecast) Sent() (count int, bytes int64) {
	for _, s := range f.sums {
		n, of := s.sent()
		count, bytes = count+n, bytes+int64(of)
	}
	return count, bytes
}

// MachineText says how a run lies on a machine, and what an iteration consists of there.
func (f *Forecast) MachineText(m *Machine, d Duration) string {
	n := f.Ranks()
	on := m.onNode(n)
	text := fmt.Sprintf("%s of %s with up to %s each: an iteration computes for %s", readable.Count((n+on-1)/on, "node"),
		readable.Count(m.Cores, "core"), readable.Count(on, "rank"), readable.Duration((d.Iteration - d.Sums).Seconds()))
	if n > 1 {
		count, bytes := f.Sent()
		text += fmt.Sprintf(" and sums over ranks for %s; a rank sends %s of %s in all", readable.Duration(d.Sums.Seconds()),
			readable.Count(count, "message"), humanize.IBytes(uint64(bytes)))
	}
	return text
}
