package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// CommSpec says which collectives to time on which sizes. Only Memory may differ between
// ranks.
type CommSpec struct {
	First, Last int64 // bytes of the whole array: First, First·Factor, … up to Last
	Factor      int
	Iterations  int // timed; the median counts
	Warmup      int // before them
	Operations  []string
	Type        device.Type
	Memory      int64       // bytes that all ranks on this node may use together; 0: not known
	Card        *gpu.Device // that the arrays are on; nil: in the host's memory

	// Beside computes while messages are under way: the host, or the card once more. nil
	// leaves out the rows beside a kernel.
	Beside device.Device
}

// CommRow is one collective on one size. docs/collectives.md derives every figure.
type CommRow struct {
	Backend   string
	Operation string
	Redop     string // "sum" or "none"
	Root      int    // comm.None where no rank stands out
	Size      int64  // bytes of the whole array
	Count     int    // elements of the whole array; of one rank's part where it is dealt out
	Seconds   float64
	Algorithm float64 // bytes per second: size over time
	Bus       float64 // bytes per second: what crosses the boundary of the busiest rank
	Wrong     int64   // elements that were not as expected, of all ranks and iterations

	// Only send-recv sets these; its Backend names the way that the array goes:
	Direction string // OneWay, BothWays or Local; "" of other operations
	Beside    bool   // a kernel runs meanwhile
	Why       string // why nothing was measured; "" if something was
}

// Comm times the collectives of one communicator, or of several over the same ranks
// in turn. Its methods are collective: all ranks call them in the same way.
type Comm struct {
	Sizes      []int64  // bytes, those that fit
	Left       []int64  // bytes, those that do not fit into memory
	Operations []string // to time, in the order of the table
	Here       int      // ranks on this node, this one included

	comms  []comm.Comm // the first is asked what is beside the measuring
	spec   CommSpec
	arrays *arrays
}

// NewComm checks spec and allocates, once for all sizes and communicators, the two
// arrays that each rank needs. A third of the memory is left to the communicators.
// No operations stand for all that any of the communicators offers. Errors of spec carry
// status 2. An operation that none offers, and too little memory, carry status 4.
func NewComm(spec CommSpec, comms ...comm.Comm) (*Comm, error) {
	c := comms[0]
	b := &Comm{comms: comms, spec: spec}
	if err := spec.check(c.Size()); err != nil {
		return nil, status.Usage(err)
	}
	if err := b.choose(); err != nil {
		return nil, err
	}
	if err := b.fit(); err != nil {
		return nil, err
	}
	largest := max(int(slices.Max(b.Sizes))/spec.Type.Size(), c.Size())
	allocate := map[device.Type]func(comm.Comm, *gpu.Device, int) (*arrays, error){
		device.F32: newArrays[float32], device.F64: newArrays[float64], device.I64: newArrays[int64],
	}
	var err error
	b.arrays, err = allocate[spec.Type](c, spec.Card, largest)
	return b, comm.Together(c, err)
}

func (s *CommSpec) check(ranks int) error {
	switch {
	case s.First < int64(s.Type.Size()):
		return fmt.Errorf("bench: the first size is %d bytes, one %v takes %d", s.First, s.Type, s.Type.Size())
	case s.Last < s.First:
		return fmt.Errorf("bench: the last size, %d bytes, is less than the first, %d bytes", s.Last, s.First)
	case s.Factor < 2:
		return fmt.Errorf("bench: sizes grow by a factor of %d, must be at least 2", s.Factor)
	case s.Iterations < 1:
		return fmt.Errorf("bench: %d iterations, must be at least 1", s.Iterations)
	case s.Warmup < 0:
		return fmt.Errorf("bench: %d iterations of warm-up, must not be negative", s.Warmup)
	case int64(ranks)*period >= 1<<24:
		return fmt.Errorf("bench: sums over %d ranks are not exact in float32, the limit is %d", ranks, 1<<24/period)
	}
	return nil
}

// choose chooses the operations to time.
func (b *Comm) choose() error {
	var offered []string
	for _, o := range collectives {
		if slices.ContainsFunc(b.comms, o.by) {
			offered = append(offered, o.name)
		}
	}
	if len(b.spec.Operations) == 0 {
		b.Operations = offered
		return nil
	}
	for _, name := range b.spec.Operations {
		if !slices.ContainsFunc(collectives, func(o collective) bool { return o.name == name }) {
			return status.Usage(fmt.Errorf("bench: operation %q is unknown, want %s", name, strings.Join(CommOperations(), ", ")))
		}
		if !slices.Contains(offered, name) {
			return status.Resource(fmt.Errorf("bench: communicator %q has no %s", b.comms[0].Name(), name))
		}
	}
	b.Operations = b.spec.Operations
	return nil
}

// CommOperations are the names of all operations.
func CommOperations() (names []string) {
	for _, o := range collectives {
		names = append(names, o.name)
	}
	return names
}

// fit keeps the sizes for which every rank has memory for three arrays: two of its own and one that
// the communicator uses.
func (b *Comm) fit() error {
	seats, err := comm.GatherJSON(b.comms[0].Host().AllGather, machine.OwnSeat())
	if err != nil {
		return err
	}
	_, b.Here = machine.Share(seats[b.comms[0].Rank()], seats)
	most := math.Inf(1)
	if b.spec.Memory > 0 {
		most = float64(b.spec.Memory) / float64(3*b.Here)
	}
	if b.spec.Card != nil {
		free, _, err := b.spec.Card.Context().MemoryInfo()
		if err := comm.Together(b.comms[0], err); err != nil {
			return err
		}
		most = min(most, float64(free)/3)
	}
	least := []float64{-most}
	if err := b.comms[0].Host().AllReduce(least, comm.Max); err != nil {
		return err
	}
	most = -least[0]
	for size := b.spec.First; ; size *= int64(b.spec.Factor) {
		if float64(size) <= most {
			b.Sizes = append(b.Sizes, size)
		} else {
			b.Left = append(b.Left, size)
		}
		if size > b.spec.Last/int64(b.spec.Factor) {
			break
		}
	}
	if len(b.Sizes) == 0 {
		return status.Resource(fmt.Errorf("bench: arrays of %s do not fit: each rank has memory for %s",
			humanize.IBytes(uint64(b.spec.First)), humanize.IBytes(uint64(most))))
	}
	return nil
}

// Run times one operation on all sizes, and hands each row to show. On each size it
// measures all communicators that offer the operation in turn, or all ways of send-recv.
// Before each size all ranks agree whether to go on, so that none is left waiting when ctx
// ends on one of them.
func (b *Comm) Run(ctx context.Context, operation string, show func(CommRow)) error {
	o := collectives[slices.IndexFunc(collectives, func(o collective) bool { return o.name == operation })]
	measure := func(size int64) error { return b.collective(o, size, show) }
	if operation == sendRecv {
		m, err := b.newMessages(show)
		if err != nil {
			return err
		}
		defer m.close()
		measure = func(size int64) error { return m.measure(o, size, show) }
	}
	for _, size := range b.Sizes {
		stop, err := comm.Any(b.comms[0], ctx.Err() != nil)
		if err != nil {
			return err
		}
		if stop {
			return &comm.Agreed{Err: context.Canceled}
		}
		if err := measure(size); err != nil {
			return err
		}
	}
	return nil
}

// collective times one size by all communicators that offer the operation.
func (b *Comm) collective(o collective, size int64, show func(CommRow)) error {
	for _, c := range b.comms {
		if !o.by(c) {
			continue
		}
		whole, part := int(size)/b.spec.Type.Size(), 0
		count := whole
		if o.result == gathered {
			part = max(1, whole/c.Size())
			whole, count = part*c.Size(), part
		}
		row, err := b.row(o, whole, func() error { return b.arrays.prepare(o, whole) }, b.arrays.call(c, o, whole, part),
			func() (int, error) { return b.arrays.wrong(o, whole, part) })
		if err != nil {
			return fmt.Errorf("bench: %s of %d bytes by %s: %w", o.name, size, c.Name(), err)
		}
		row.Backend, row.Count = c.Name(), count
		show(row)
	}
	return nil
}

// row times one size. Each iteration starts from fresh arrays and a barrier, which are not timed,
// and ends with a check that counts wrong elements. The slowest rank gives its time.
func (b *Comm) row(o collective, whole int, prepare, run func() error, check func() (int, error)) (CommRow, error) {
	wrong := []float64{0}
	seconds, err := b.timed(b.spec.Warmup, b.spec.Iterations, prepare, run, func() error {
		n, err := check()
		wrong[0] += float64(n)
		return err
	})
	if err != nil {
		return CommRow{}, err
	}
	if err := b.comms[0].Host().AllReduce(wrong, comm.Sum); err != nil {
		return CommRow{}, err
	}
	r := CommRow{Operation: o.name, Redop: o.result.redop, Root: o.result.root, Count: whole, Seconds: seconds, Wrong: int64(wrong[0])}
	r.Size = int64(whole) * int64(b.spec.Type.Size())
	r.Algorithm = float64(r.Size) / r.Seconds
	r.Bus = r.Algorithm * o.result.bus(float64(b.comms[0].Size()))
	return r, nil
}

// timed is the median over the iterations of the slowest rank's time of run.
func (b *Comm) timed(warmup, iterations int, prepare, run, check func() error) (float64, error) {
	t := make([]float64, iterations)
	for i := -warmup; i < iterations; i++ {
		if err := prepare(); err != nil {
			return 0, err
		}
		if _, err := b.comms[0].Host().Agree(0); err != nil {
			return 0, err
		}
		begin := time.Now()
		if err := run(); err != nil {
			return 0, err
		}
		took := time.Since(begin).Seconds()
		if i >= 0 {
			t[i] = took
			if err := check(); err != nil {
				return 0, err
			}
		}
	}
	if err := b.comms[0].Host().AllReduce(t, comm.Max); err != nil {
		return 0, err
	}
	return max(median(t), 1e-9), nil // the clock counts whole nanoseconds
}

// CopyBandwidth is the bytes per second at which the slowest rank copies memory while all
// ranks do so: the card's memory if the arrays are there, and more than the caches hold.
func (b *Comm) CopyBandwidth() (float64, error) {
	d := device.Device(device.NewHost(1))
	if b.spec.Card != nil {
		d = b.spec.Card
	}
	n := fitting(d, 1<<24) // 64 MiB
	var bufs [2]device.Buf
	for i := range bufs {
		var err error
		if bufs[i], err = d.Alloc(n, device.F32); err != nil {
			return 0, err
		}
		defer d.Free(bufs[i])
	}
	ones := slices.Repeat([]float32{1}, n) // pages that were never written all share one
	if err := device.Upload(bufs[1], ones); err != nil {
		return 0, err
	}
	seconds, err := b.timed(1, b.spec.Iterations, d.Sync, func() error { return errors.Join(d.Copy(bufs[0], bufs[1]), d.Sync()) }, d.Sync)
	return float64(4*n) / seconds, err
}

// fitting is n float32, or what a 64th of a card's memory holds where that is less.
func fitting(d device.Device, n int) int {
	if card, ok := d.(*gpu.Device); ok {
		return min(n, int(card.Card().Memory/64/4))
	}
	return n
}
