package gpu

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
)

// As in vector.cu.
const (
	chunk     = 1 << 14
	mostPairs = 112
	sumBytes  = 8 // one float64
)

// pair is the kernel's struct Pair.
type pair struct {
	x, y       accel.Memory
	n          int64
	typ, first int32 // the element type and the pair's first chunk
}

// dots holds what sums need on the card: a counter and one sum for each pair and for each
// chunk.
type dots struct {
	sync.Mutex
	memory accel.Memory
	bytes  int64
	pairs  int // that there is room for
	blocks int // most blocks of a launch, 0 for the card's own number; no sum depends on it
}

// counterBytes is the room for the counter, and the alignment of the data behind it.
const counterBytes = 256

// Dots returns Σ x·y for each pair, in float64: up to 112 pairs a launch,
// one copy of 8 bytes a pair to the host.
func (d *Device) Dots(pairs ...[2]device.Buf) ([]float64, error) {
	for _, p := range pairs {
		x, _, err := d.ownPair("dots", p[0], p[1])
		if err != nil {
			return nil, err
		}
		if x.typ == device.I64 {
			return nil, fmt.Errorf("device: dot product of %v", x.typ)
		}
	}
	if len(pairs) == 0 {
		return nil, nil
	}
	d.dots.Lock()
	defer d.dots.Unlock()
	most := 0 // chunks of a launch
	for lo := 0; lo < len(pairs); lo += mostPairs {
		n := 0
		for _, p := range pairs[lo:min(lo+mostPairs, len(pairs))] {
			n += chunks(p[0])
		}
		most = max(most, n)
	}
	if err := d.dotsRoom(len(pairs), most); err != nil {
		return nil, err
	}
	s, c := &d.dots, d.context
	result, err := d.pinned.take(c, len(pairs)*sumBytes)
	if err != nil {
		return nil, err
	}
	defer d.pinned.give(result)
	out := s.memory + counterBytes
	end := d.Clock.outside(c.Main(), device.MarkDots)
	for lo := 0; lo < len(pairs); lo += mostPairs {
		d.launchDots(pairs[lo:min(lo+mostPairs, len(pairs))], out+accel.Memory(lo*sumBytes))
	}
	c.ToHost(c.Main(), result, 0, len(pairs)*sumBytes, out)
	d.toHost.Add(int64(len(pairs) * sumBytes))
	end()
	if err := c.Finish(c.Main()); err != nil {
		return nil, err
	}
	sums := make([]float64, len(pairs))
	_, err = binary.Decode(result.Bytes, binary.LittleEndian, sums)
	return sums, err
}

// chunks is the number of chunks of a vector: an empty one has one that is empty.
func chunks(b device.Buf) int { return max(1, (b.Len()+chunk-1)/chunk) }

// launchDots sums one launch's pairs.
func (d *Device) launchDots(pairs [][2]device.Buf, out accel.Memory) {
	var all [mostPairs]pair
	first := 0
	for i, p := range pairs {
		x, y := p[0].(*Buf), p[1].(*Buf)
		all[i] = pair{x.at, y.at, int64(x.n), int32(x.typ), int32(first)}
		first += chunks(x)
	}
	blocks := d.dots.blocks
	if blocks == 0 {
		blocks = 8 * d.context.Card.Multiprocessors // of 256 threads: all that fit
	}
	d.context.Launch(d.context.Main(), d.kernels["dots"], accel.Line(min(blocks, first), width),
		all, int32(len(pairs)), int32(first),
		d.dots.memory+counterBytes+accel.Memory(d.dots.pairs*sumBytes), d.dots.memory, out)
}

// dotsRoom makes room for the sums of the given numbers of pairs and chunks.
func (d *Device) dotsRoom(pairs, chunks int) error {
	s, c := &d.dots, d.context
	room := max(pairs, s.pairs)
	if need := counterBytes + int64(room+chunks)*sumBytes; need > s.bytes || room > s.pairs {
		need += need / 2
		m, err := d.pool.take(need)
		if err != nil {
			return d.explainShortage(fmt.Sprintf("sums of %d pairs", pairs), need, err)
		}
		if s.bytes > 0 {
			d.pool.give(s.memory, s.bytes)
		}
		s.memory, s.bytes, s.pairs = m, need, room
		c.Fill(c.Main(), m, 0, counterBytes)
	}
	return nil
}
