package comm

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Switch is a Comm with several carriers: communicators of the same ranks in the same order,
// such as NCCL, MPI, and MPI through the host. One of them at a time carries all buffers.
// Switches that were split from one another change together.
type Switch struct {
	ways []Comm // the carriers, and last the control; nil: dropped before the split
	at   *position
}

// position is the state that Switches share after a split.
type position struct {
	names   []string // of the ways
	dropped []bool
	now     int   // the way of buffers
	carried []int // the ways that buffers have gone, in the order of their first use
}

var _ Meeter = (*Switch)(nil)

// NewSwitch makes a Switch. The first carrier is in use. When all carriers are dropped, the
// control takes their place. A carrier may be the control itself, or the result of [Staged]
// or [OneSidedSums] for it.
func NewSwitch(control Comm, carriers ...Comm) *Switch {
	s := &Switch{ways: append(slices.Clone(carriers), control), at: &position{}}
	for _, way := range s.ways {
		s.at.names = append(s.at.names, way.Name())
	}
	s.at.dropped = make([]bool, len(s.ways))
	return s
}

// Carriers are the names of the carriers that are left, in their order, or that of the
// control if there are none.
func (s *Switch) Carriers() (names []string) {
	last := len(s.ways) - 1
	for i, name := range s.at.names {
		if i < last && !s.at.dropped[i] || i == last && names == nil {
			names = append(names, name)
		}
	}
	return names
}

// Carried are the names of the carriers that buffers have gone by, in the order of their
// first use.
func (s *Switch) Carried() (names []string) {
	for _, way := range s.at.carried {
		names = append(names, s.at.names[way])
	}
	return names
}

// Use makes one of Carriers carry all buffers from now on. All ranks call it together, with
// nothing under way.
func (s *Switch) Use(name string) {
	if !slices.Contains(s.Carriers(), name) {
		panic(fmt.Sprintf("comm: no carrier %q among %q", name, s.Carriers()))
	}
	for i, is := range s.at.names {
		if is == name && !s.at.dropped[i] {
			s.at.now = i
			return
		}
	}
}

// Drop gives a carrier up for good. If it is in use, the first that is left takes its place.
// All ranks call it together.
func (s *Switch) Drop(name string) {
	for i, is := range s.at.names[:len(s.ways)-1] {
		s.at.dropped[i] = s.at.dropped[i] || is == name
	}
	if s.at.dropped[s.at.now] {
		s.Use(s.Carriers()[0])
	}
}

// Control carries host values beside the carriers, without their wrappers.
func (s *Switch) Control() Comm { return s.ways[len(s.ways)-1] }

// hostCarrier carries host values: those of a carrier with a library are guarded by it.
func (s *Switch) hostCarrier() Comm {
	return s.ways[slices.IndexFunc(s.ways, func(c Comm) bool { return c != nil })]
}

func (s *Switch) carrier() Comm {
	if !slices.Contains(s.at.carried, s.at.now) {
		s.at.carried = append(s.at.carried, s.at.now)
	}
	return s.ways[s.at.now]
}

// Name returns the name of the carrier in use.
func (s *Switch) Name() string { return s.at.names[s.at.now] }

func (s *Switch) Rank() int                    { return s.Control().Rank() }
func (s *Switch) Size() int                    { return s.Control().Size() }
func (s *Switch) Host() Host                   { return s.hostCarrier().Host() }
func (s *Switch) Abort(code int, why error)    { s.hostCarrier().Abort(code, why) }
func (s *Switch) Meet() error                  { return Meet(s.hostCarrier()) }
func (s *Switch) AllReduce(x device.Buf) error { return s.carrier().AllReduce(x) }

func (s *Switch) StartAllReduce(x device.Buf) (Request, error) { return s.carrier().StartAllReduce(x) }

func (s *Switch) Bcast(x device.Buf, root int) error { return s.carrier().Bcast(x, root) }

func (s *Switch) AllGather(dst, src device.Buf, counts []int) error {
	return s.carrier().AllGather(dst, src, counts)
}

func (s *Switch) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	return s.carrier().SendRecv(send, to, recv, from)
}

// Split splits the control and all carriers that are left.
func (s *Switch) Split(color, key int) (Comm, error) {
	control, err := s.Control().Split(color, key)
	if err != nil {
		return nil, err
	}
	part := &Switch{ways: make([]Comm, len(s.ways)), at: s.at}
	for i, way := range s.ways {
		v, isView := way.(view)
		switch {
		case way == nil || s.at.dropped[i]:
		case way == s.Control():
			part.ways[i] = control
		case isView && v.of() == s.Control():
			part.ways[i] = v.onto(control)
		default:
			if part.ways[i], err = way.Split(color, key); err != nil {
				return nil, err
			}
		}
	}
	return part, nil
}

// view is a Comm that does everything by another one, some of it in another way.
type view interface {
	of() Comm
	// onto is the same view of another communicator.
	onto(c Comm) Comm
}
