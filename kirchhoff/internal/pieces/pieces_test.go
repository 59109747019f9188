//go:build go1.25

package pieces_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
)

// Groups begin where parts do, have nearly the same size, and end with smaller and smaller
// ones.
func TestCut(t *testing.T) {
	boxes := []int{0}
	for at := 64; at < 3200; at += 64 {
		boxes = append(boxes, at)
	}
	for _, c := range []struct {
		n, most, least int
		want           []int
	}{
		{0, 6, 512, []int{0}},
		{0, 1, 512, []int{0, 0}},
		{64, 6, 512, []int{0, 64}},
		{512, 6, 512, []int{0, 256, 384, 448, 512}},
		{3200, 1, 512, []int{0, 3200}},
		{3200, 6, 512, []int{0, 576, 1088, 1600, 2176, 2688, 2944, 3072, 3136, 3200}},
	} {
		n := slices.IndexFunc(append(boxes, 3200), func(at int) bool { return at >= c.n })
		if got := pieces.Cut(boxes[:n], c.n, c.most, c.least); !slices.Equal(got, c.want) {
			t.Errorf("%+v: cut at %v", c, got)
		}
	}
}

// link is a communicator whose sums take a time for each byte, one after the other, and no
// processor.
type link struct {
	comm.Comm
	each time.Duration // of a byte
	free time.Time     // when the sums so far are done
}

type onLink struct {
	comm.Request
	until time.Time
}

func (r onLink) Wait() error {
	time.Sleep(time.Until(r.until))
	return r.Request.Wait()
}

func (l *link) StartAllReduce(x device.Buf) (comm.Request, error) {
	if now := time.Now(); l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(l.each * time.Duration(x.Len()*x.Type().Size()))
	r, err := l.Comm.StartAllReduce(x)
	return onLink{r, l.free}, err
}

func (l *link) AllReduce(x device.Buf) error {
	r, err := l.StartAllReduce(x)
	if err != nil {
		return err
	}
	return r.Wait()
}

// kernel computes each element in the same time, in pieces.
type kernel struct {
	cuts []int
	each time.Duration
}

func (k kernel) Forward(context.Context, device.Buf, device.Buf) error { return nil }
func (k kernel) Adjoint(context.Context, device.Buf, device.Buf) error { return nil }
func (k kernel) Peak() float64                                         { return 1 }

func (k kernel) Bound(dist.Direction, device.Buf) ([]float64, error) { return []float64{1}, nil }

func (k kernel) Begin(_ context.Context, _ dist.Direction, dst, _ device.Buf, _ float64) (dist.Application, error) {
	return new(pieces.Room).Begin(pieces.Work{Cuts: k.cuts, Ahead: len(k.cuts),
		Sum: func(lo, hi, _ int) (device.Buf, error) {
			time.Sleep(k.each * time.Duration(hi-lo))
			return dst.Slice(lo, hi-lo), nil
		},
		Finish: func(lo, hi, i int) error { return nil },
	}), nil
}

// hidden is the share of the time of sums that an adjoint hides on ranks that compute as
// long as they please: the sums take the given part of the kernels' time.
func hidden(t *testing.T, ranks int, part float64, cuts []int) float64 {
	const each = 100 * time.Microsecond // that the kernel takes for an element
	n := cuts[len(cuts)-1]
	var total, waiting [2]time.Duration // by overlap, on rank 0
	synctest.Test(t, func(t *testing.T) {
		err := commtest.Ranks(ranks, func(c comm.Comm) error {
			data, image := dist.Local(device.F64, ranks), dist.Local(device.F64, n)
			data.Off, data.N, data.Shards = c.Rank(), 1, c
			image.Copies = &link{Comm: c, each: time.Duration(part * float64(each) / 8)}
			for i, overlap := range []bool{false, true} {
				op, err := dist.LiftWith(dist.LiftOptions{Exact: true, Overlap: overlap, Observe: func(o dist.Times) {
					if c.Rank() == 0 {
						total[i], waiting[i] = o.Total, o.Waiting
					}
				}}, image, data, kernel{cuts, each})
				if err != nil {
					return err
				}
				var x, y *dist.Vector
				w := dist.Work{Ctx: t.Context()}
				w.New(device.NewHost(1), image, &x)
				w.New(device.NewHost(1), data, &y)
				if w.Err == nil {
					w.Err = device.Upload(y.Buf, []float64{1})
				}
				w.ApplyAdjoint(op, x, y)
				if w.Err != nil {
					return w.Err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return float64(total[0]-total[1]) / float64(waiting[0])
}

// Where sums take no processor, nine tenths of their time and more are hidden. The clock is
// a virtual one, so the shares are those of the pieces alone.
func TestHidden(t *testing.T) {
	const n = 3200
	var boxes, even []int
	for at := 0; at < n; at += 64 {
		boxes = append(boxes, at)
	}
	for g := range 7 {
		even = append(even, n*g/6)
	}
	cuts := pieces.Cut(boxes, n, 6, 512)
	for _, ranks := range []int{2, 4} {
		for _, part := range []float64{0.05, 0.2, 0.5, 0.8} {
			got, before := hidden(t, ranks, part, cuts), hidden(t, ranks, part, even)
			t.Logf("%d ranks, sums take %.2f of the kernels' time: %.1f %% hidden, %.1f %% with six even pieces", ranks, part, 100*got, 100*before)
			if got < 0.9 && part <= 0.5 {
				t.Errorf("%d ranks, sums take %g of the kernels' time: %g of it is hidden, want at least 0.9", ranks, part, got)
			}
		}
	}
}
