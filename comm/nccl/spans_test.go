package nccl_test

import (
	"sync"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
)

// A started sum waits for the work before its start alone, also if all ranks agree on it
// later, and is timed on a stream of its own. On rank 0, work between two starts lasts until
// rank 1 has the first sum.
func TestStartedSumsBesideWork(t *testing.T) {
	devices := cards(t, driver.CUDA, 2)
	type span struct{ begin, end time.Time }
	var lock sync.Mutex
	seen := make([]map[string][]span, len(devices))
	for i, d := range devices {
		seen[i] = map[string][]span{}
		d.Clock.OnSpan = func(s gpu.Span) {
			lock.Lock()
			defer lock.Unlock()
			key := s.Lane + ": " + s.Name
			seen[i][key] = append(seen[i][key], span{s.Begin, s.Begin.Add(s.Took)})
		}
	}
	given := make(chan struct{}) // rank 0 has started both sums
	must(t, ranks(devices, len(devices), func(g *nccl.Group, d *gpu.Device) error {
		x, err := d.Alloc(300, device.F32)
		if err != nil {
			return err
		}
		if g.Rank() > 0 {
			<-given
		}
		first, err := g.StartAllReduce(x.Slice(0, 100))
		if err != nil {
			return err
		}
		summed := func() bool {
			lock.Lock()
			defer lock.Unlock()
			return len(seen[g.Rank()]["GPU sums: all-reduce"]) > 0
		}
		for begun := time.Now(); g.Rank() > 0 && !summed(); time.Sleep(time.Millisecond) {
			if err := d.Sync(); err != nil { // tells of spans
				return err
			}
			if time.Since(begun) > 20*time.Second {
				t.Error("the first sum waits for work after its start")
				break
			}
		}
		if err := g.Unagreed(x.Slice(100, 100).(*gpu.Buf)); err != nil {
			return err
		}
		second, err := g.StartAllReduce(x.Slice(200, 100))
		if err != nil {
			return err
		}
		if g.Rank() == 0 {
			close(given)
		}
		if err := first.Wait(); err != nil {
			return err
		}
		if err := second.Wait(); err != nil {
			return err
		}
		return d.Sync()
	}))
	for i, of := range seen {
		sums, work, waits := of["GPU sums: all-reduce"], of["GPU: all-reduce"], of["GPU: wait for sums"]
		if len(sums) != 2 || len(work) != 1 || len(waits) != 2 {
			t.Fatalf("rank %d: spans are %v", i, of)
		}
		if i == 0 && (sums[0].begin.After(work[0].end) || work[0].begin.After(sums[0].end)) {
			t.Errorf("the first sum, %v, and the work meanwhile, %v, lie apart", sums[0], work[0])
		}
		if waits[1].end.Before(sums[1].end) {
			t.Errorf("rank %d: the card waited until %v for a sum that took until %v", i, waits[1].end, sums[1].end)
		}
	}
}
