package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// fill computes the tables and copies them to the card. Each copy runs while other tables
// are computed.
func (e *Engine) fill(ctx context.Context) error {
	l, list := e.plan, groups(e.plan)
	lengths := new(spans)
	defer func() { e.window = windowEntries(e.dev.Card(), l.Layout().Fields, lengths) }()
	forms := sync.Pool{New: func() any { return newForm(l, list, e.firstGroup) }}
	return l.Solve(ctx, func(place int, t *kirchhoff.PlaceTable) error {
		f := forms.Get().(*form)
		defer forms.Put(f)
		if err := f.convert(t); err != nil {
			return fmt.Errorf("kirchhoff: place %d: %w", place, err)
		}
		lengths.add(f.boxes)
		at := func(b device.Buf) device.Buf {
			n := b.Len() / l.Problem.Positions.Len()
			return b.Slice(place*n, n)
		}
		return errors.Join(put(at(e.table), t.Rows), put(at(e.span), f.spans), put(at(e.groups), f.groups), put(at(e.boxes), f.boxes))
	})
}

// windowEntries returns the length of the forward's windows: enough for most boxes, if
// shared memory is large enough. Other boxes take several passes. Results do not depend
// on it.
func windowEntries(c driver.Card, fields int, spans *spans) int {
	const guards, least, mostBytes = 2, 32, 110 << 10 // two blocks to a processor of an H200
	most := (min(c.Shared-2<<10, mostBytes) - 2*forwardStage(fields)) / (4 * lanes)
	return min(max(spans.most()+guards, least), most)
}

// spans is a histogram of how many samples the times of a place span over a box.
type spans struct {
	sync.Mutex
	count [farthest + 2]int64
	total int64
}

func (s *spans) add(boxes []reach) {
	s.Lock()
	defer s.Unlock()
	for _, r := range boxes {
		if r.lo <= r.hi {
			s.count[r.hi-r.lo]++
			s.total++
		}
	}
}

// most returns the number of samples that nine pairs in ten do not exceed over a box,
// assuming that both places of a pair are alike.
func (s *spans) most() int {
	sum := int64(0)
	for i, n := range s.count {
		if sum += n; 10*sum >= 9*s.total {
			return 2*i + 3
		}
	}
	return 0
}
