package dist_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// late is a communicator whose sums happen when they are waited for, as late as
// they may.
type late struct {
	comm.Comm
	under, most *int
}

type lateRequest struct {
	c     late
	x     device.Buf
	ended time.Time
}

func (c late) StartAllReduce(x device.Buf) (comm.Request, error) {
	*c.under++
	*c.most = max(*c.most, *c.under)
	return &lateRequest{c: c, x: x}, nil
}

func (c late) AllReduce(device.Buf) error {
	return errors.New("an all-reduce that others wait for")
}

func (r *lateRequest) Wait() error {
	if r.x == nil {
		return errors.New("waited for twice")
	}
	x := r.x
	r.x = nil
	*r.c.under--
	err := r.c.Comm.AllReduce(x)
	r.ended = time.Now()
	return err
}

func (r *lateRequest) Ended() time.Time { return r.ended }

// logging is a device, and a communicator, that note in which order they are called.
type logging struct {
	device.Device
	comm.Comm
	log *[]string
}

type loggedBuf struct {
	device.Buf
	d logging
}

func (b loggedBuf) Device() device.Device { return b.d }

func (l logging) note(what string)             { *l.log = append(*l.log, what) }
func (l logging) Name() string                 { return "logging" }
func (l logging) Sync() error                  { l.note("sync"); return l.Device.Sync() }
func (l logging) Zero(b device.Buf) error      { return l.Device.Zero(b.(loggedBuf).Buf) }
func (l logging) AllReduce(x device.Buf) error { l.note("sum"); return l.Comm.AllReduce(x) }

func (l logging) StartAllReduce(x device.Buf) (comm.Request, error) {
	l.note("start")
	r, err := l.Comm.StartAllReduce(x)
	return loggedRequest{r, l}, err
}

type loggedRequest struct {
	comm.Request
	l logging
}

func (r loggedRequest) Wait() error { r.l.note("wait"); return r.Request.Wait() }

// With Timed the device is waited for before and after each sum, and at the end.
func TestTimed(t *testing.T) {
	for _, c := range []struct {
		timed, overlap bool
		want           string
	}{
		{false, false, "sum sum"},
		{false, true, "start start wait wait"},
		{true, false, "sync sum sync sync sum sync sync"},
		{true, true, "sync start sync start sync wait sync sync wait sync sync"},
	} {
		must(t, Grid(2, 1, device.F64, shots, slabs, func(p Place) error {
			l := logging{device.NewHost(1), p.Image.Copies, new([]string)}
			p.Image.Copies = l
			op, err := dist.LiftWith(dist.LiftOptions{Exact: true, Overlap: c.overlap, Timed: c.timed},
				p.Image, p.Data, Block(Random(1, rows, columns), p.Data, p.Image, 2, 2))
			if err != nil {
				return err
			}
			x, err := dist.NewVector(l.Device, p.Image)
			if err != nil {
				return err
			}
			y, err := Vector(p.Data, Random(3, 1, rows)[0])
			if err != nil {
				return err
			}
			x.Buf = loggedBuf{x.Buf, l}
			if err := op.ApplyAdjoint(ctx, x, y); err != nil {
				return err
			}
			if got := strings.Join(*l.log, " "); got != c.want {
				return fmt.Errorf("timed %v, overlap %v: %s, want %s", c.timed, c.overlap, got, c.want)
			}
			return nil
		}))
	}
}

// Overlapped sums may take until they are waited for; no more are under way than
// the kernel has room for, and all the room is used.
func TestOverlap(t *testing.T) {
	for _, exact := range []bool{false, true} {
		for _, ahead := range []int{1, 2, 4} {
			must(t, Grid(2, 3, device.F64, shots, slabs, func(p Place) error {
				under, most := 0, 0
				var times []dist.Times
				flights := 0
				p.Data.Copies = late{p.Data.Copies, &under, &most}
				p.Image.Copies = late{p.Image.Copies, &under, &most}
				op, err := dist.LiftWith(dist.LiftOptions{Exact: exact, Overlap: true, Observe: func(t dist.Times) { times = append(times, t) },
					InFlight: func(begin time.Time, took time.Duration) {
						if took > 0 && !begin.IsZero() {
							flights++
						}
					}},
					p.Image, p.Data, Block(Random(1, rows, columns), p.Data, p.Image, 5, ahead))
				if err != nil {
					return err
				}
				if e, err := dist.DotTest(ctx, device.NewHost(1), op, 4); err != nil || !(e < 1e-13) {
					return fmt.Errorf("dot test %g, %v", e, err)
				}
				if under != 0 || most != ahead {
					return fmt.Errorf("%d sums under way at the end, %d at most, want %d", under, most, ahead)
				}
				for d, t := range times {
					n := []int{p.Data.N, p.Image.N}[d]
					if t.Direction != dist.Direction(d) || t.Pieces != 5 || t.Bytes != int64(8*n) || t.Waiting <= 0 || t.Total < t.Waiting {
						return fmt.Errorf("of application %d: %+v", d, t)
					}
				}
				if len(times) != 2 || flights != 2*5 {
					return fmt.Errorf("%d applications and %d started sums observed, want 2 and 10", len(times), flights)
				}
				return nil
			}))
		}
	}
}

// Measured sums are chosen once, alike on all ranks, whatever carries them and whether or not
// they overlap, and give the same bits before and after. Every carrier has sums. If the one
// that was taken is dropped, the others are measured.
func TestChoose(t *testing.T) {
	want := ""
	must(t, Grid(1, 1, device.F32, shots, slabs, func(p Place) error {
		whole, err := applications(p, dist.LiftOptions{Exact: true}, 1)
		want = whole
		return err
	}))
	for _, grid := range [][2]int{{1, 1}, {3, 1}, {1, 2}, {2, 2}} {
		for _, keep := range []bool{false, true} {
			choices := make([][]dist.Choice, grid[0]*grid[1])
			must(t, GridOver(carriers, grid[0], grid[1], device.F32, shots, slabs, func(p Place) (err error) {
				me, s := p.World.Rank(), p.World.(*comm.Switch)
				o := dist.LiftOptions{Exact: true, Overlap: true, KeepOverlap: keep, Choose: func(c dist.Choice) {
					if choices[me] = append(choices[me], c); s.Name() != c.Ways[len(c.Ways)-1].Carrier {
						err = fmt.Errorf("%s was measured last", s.Name())
					}
				}, Observe: func(dist.Times) {
					if last := choices[me]; len(last) == 1 && len(s.Carriers()) == 3 {
						s.Drop(last[0].Ways[last[0].Taken].Carrier)
					}
				}}
				got, failed := applications(p, o, 20)
				if err = errors.Join(err, failed); err == nil && got != want {
					err = fmt.Errorf("grid %v: results differ: %s, want %s", grid, got, want)
				}
				if last := choices[me]; err == nil && len(last) == 2 && s.Name() != last[1].Ways[last[1].Taken].Carrier {
					err = fmt.Errorf("%s carries, chosen was %+v", s.Name(), last)
				}
				return err
			}))
			for r, got := range choices {
				if len(choices) == 1 {
					if got != nil {
						t.Errorf("a rank alone chose %+v", got)
					}
					continue
				}
				if len(got) != 2 || fmt.Sprint(got) != fmt.Sprint(choices[0]) {
					t.Errorf("grid %v, rank %d chose %+v", grid, r, got)
					continue
				}
				for i, c := range got {
					if n := len(c.Ways); n != 3-i && keep || n != 4-i && !keep {
						t.Errorf("grid %v: %d ways: %+v", grid, n, c)
					}
					for _, w := range c.Ways {
						if w.Took <= 0 || (w.Sums > 0) == w.Overlap || w.Took < w.Sums || w.Took < c.Ways[c.Taken].Took {
							t.Errorf("grid %v: %+v of %+v", grid, w, c)
						}
					}
				}
			}
		}
	}
}

// carriers is a switch between three carriers.
func carriers(c comm.Comm) comm.Comm {
	oneSided, err := comm.OneSidedSums(c, nil)
	if err != nil {
		panic(err)
	}
	return comm.NewSwitch(c, c, comm.Staged(c), oneSided)
}

// applications is what n pairs of applications to the same vectors give on the whole;
// an error if they differ.
func applications(p Place, o dist.LiftOptions, n int) (first string, err error) {
	op, err := dist.LiftWith(o, p.Image, p.Data, Block(Random(1, rows, columns), p.Data, p.Image, 5, 2))
	if err != nil {
		return "", err
	}
	for range n {
		r, err := applied(op)
		if err != nil {
			return "", err
		}
		if text := fmt.Sprint(r.forward, r.adjoint); first == "" {
			first = text
		} else if text != first {
			return "", fmt.Errorf("an application gives %s, the first %s", text, first)
		}
	}
	return first, nil
}

// What cannot be done is said on all ranks, before anything is computed.
func TestLiftWithRefuses(t *testing.T) {
	m := Random(1, rows, columns)
	must(t, Grid(2, 2, device.F64, shots, slabs, func(p Place) error {
		block := Block(m, p.Data, p.Image, 4, 2)
		for name, c := range map[string]struct {
			k    dist.Kernel
			o    dist.LiftOptions
			code int
			text string
		}{
			"not in pieces": {whole{block}, dist.LiftOptions{Exact: true}, status.NoResource, "works in pieces"},
		} {
			_, err := dist.LiftWith(c.o, p.Image, p.Data, c.k)
			if err == nil || status.Code(err) != c.code || !strings.Contains(err.Error(), c.text) {
				return fmt.Errorf("%s: %v", name, err)
			}
		}
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			peak := 1.0
			if p.World.Rank() == 3 {
				peak = bad
			}
			_, err := dist.LiftWith(dist.LiftOptions{Exact: true}, p.Image, p.Data, peaked{block, peak})
			if status.Code(err) != status.NotNumerical {
				return fmt.Errorf("with a weight of %g on rank 3: %v", bad, err)
			}
		}
		return nil
	}))
}

// whole hides that a kernel works in pieces, peaked changes its largest weight.
type whole struct{ dist.Kernel }

type peaked struct {
	dist.Pieced
	peak float64
}

func (p peaked) Peak() float64 { return p.peak }

// An error of one rank's bound is everyone's; one of all ranks' kernels ends the
// application with nothing under way.
func TestErrorsOfPieces(t *testing.T) {
	fault := errors.New("lost the device")
	m := Random(1, rows, columns)
	must(t, Grid(1, 3, device.F64, shots, slabs, func(p Place) error {
		under, most := 0, 0
		p.Data.Copies = late{p.Data.Copies, &under, &most}
		k := Block(m, p.Data, p.Image, 6, 3)
		op, err := dist.LiftWith(dist.LiftOptions{Exact: true, Overlap: true}, p.Image, p.Data, k)
		if err != nil {
			return err
		}
		x, err := Vector(p.Image, Random(2, 1, columns)[0])
		if err != nil {
			return err
		}
		y, err := Vector(p.Data, make([]float64, rows))
		if err != nil {
			return err
		}
		if p.World.Rank() == 1 {
			k.BoundError = fault
		}
		if err := op.Apply(ctx, y, x); err == nil || (p.World.Rank() == 1) != errors.Is(err, fault) {
			return fmt.Errorf("an error of the bound on rank 1: %v", err)
		}
		k.BoundError = nil
		k.Fail = func(_ dist.Direction, piece int) error {
			if piece == 4 {
				return fault
			}
			return nil
		}
		if err := op.Apply(ctx, y, x); !errors.Is(err, fault) || under != 0 {
			return fmt.Errorf("an error of piece 4: %v with %d sums under way", err, under)
		}
		k.Fail = nil
		return op.Apply(ctx, y, x)
	}))
}

// counted counts what goes through a communicator.
type counted struct {
	comm.Comm
	n *counts
}

type counts struct{ device, host, bytes int }

type countedHost struct {
	comm.Host
	n *counts
}

func (c counted) Host() comm.Host { return countedHost{c.Comm.Host(), c.n} }
func (c counted) AllReduce(x device.Buf) error {
	c.n.device++
	c.n.bytes += x.Len() * x.Type().Size()
	return c.Comm.AllReduce(x)
}
func (c counted) StartAllReduce(x device.Buf) (comm.Request, error) {
	c.n.device++
	c.n.bytes += x.Len() * x.Type().Size()
	return c.Comm.StartAllReduce(x)
}
func (h countedHost) AllReduce(x []float64, op comm.Op) error {
	h.n.host++
	return h.Host.AllReduce(x, op)
}

// On a grid with one block the forward takes no collective, the adjoint one of
// the image's size, in all its pieces together; an exact sum one number's more,
// over the ranks that hold the data.
func TestCollectivesOfAnApplication(t *testing.T) {
	m := Random(1, rows, columns)
	for _, c := range []struct {
		o                dist.LiftOptions
		forward, adjoint counts
	}{
		{dist.LiftOptions{}, counts{}, counts{1, 0, 4 * columns}},
		{dist.LiftOptions{Overlap: true}, counts{}, counts{4, 0, 4 * columns}},
		{dist.LiftOptions{Exact: true}, counts{}, counts{4, 1, 8 * columns}},
		{dist.LiftOptions{Exact: true, Overlap: true}, counts{}, counts{4, 1, 8 * columns}},
	} {
		must(t, Grid(3, 1, device.F32, shots, slabs, func(p Place) error {
			var n counts
			for _, l := range []*dist.Layout{p.Data, p.Image} {
				l.Shards, l.Copies = counted{l.Shards, &n}, counted{l.Copies, &n}
			}
			op, err := dist.LiftWith(c.o, p.Image, p.Data, Block(m, p.Data, p.Image, 4, 2))
			if err != nil {
				return err
			}
			x, err := Vector(p.Image, Random(2, 1, columns)[0])
			if err != nil {
				return err
			}
			y, err := Vector(p.Data, Random(3, 1, rows)[0])
			if err != nil {
				return err
			}
			n = counts{}
			if err := op.Apply(ctx, y, x); err != nil || n != c.forward {
				return fmt.Errorf("%+v: forward takes %+v, want %+v: %v", c.o, n, c.forward, err)
			}
			n = counts{}
			if err := op.ApplyAdjoint(ctx, x, y); err != nil || n != c.adjoint {
				return fmt.Errorf("%+v: adjoint takes %+v, want %+v: %v", c.o, n, c.adjoint, err)
			}
			// Inner products of a layout with units take one collective as before.
			n = counts{}
			if _, err := dist.Dots([2]*dist.Vector{y, y}, [2]*dist.Vector{y, y}); err != nil || n != (counts{host: 1}) {
				return fmt.Errorf("dots take %+v: %v", n, err)
			}
			n = counts{}
			if _, err := dist.Norm(x); err != nil || n != (counts{}) {
				return fmt.Errorf("the norm of a vector that is not split takes %+v: %v", n, err)
			}
			return nil
		}))
	}
}
