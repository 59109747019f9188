package comm

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// OneSidedSums wraps c so that all-reduces go by one-sided access. Those that are started are
// made when they are waited for. Its name is c's name followed by "-onesided". If c is no
// [OneSided], that is an error, marked as a lack of resources.
//
// If the library refuses the memory for a sum, all ranks get that error, unless refused is
// given. Then refused is told, and this group of ranks sums by c's all-reduces from then on.
func OneSidedSums(c Comm, refused func(error)) (Comm, error) {
	if _, ok := c.(OneSided); !ok && c.Size() > 1 {
		return nil, status.Resource(fmt.Errorf("comm: the communicator %q has no one-sided sums", c.Name()))
	}
	return (&oneSidedSums{refused: refused}).onto(c), nil
}

type oneSidedSums struct {
	Comm
	refused func(error)
	without bool // sums go by all-reduces
}

func (o *oneSidedSums) Name() string { return o.Comm.Name() + "-onesided" }
func (o *oneSidedSums) of() Comm     { return o.Comm }

func (o *oneSidedSums) onto(c Comm) Comm {
	_, ok := c.(OneSided)
	return &oneSidedSums{Comm: c, refused: o.refused, without: !ok} // one rank may have none
}

func (o *oneSidedSums) Split(color, key int) (Comm, error) {
	part, err := o.Comm.Split(color, key)
	if err != nil {
		return nil, err
	}
	return o.onto(part), nil
}

func (o *oneSidedSums) AllReduce(x device.Buf) error {
	if o.without {
		return o.Comm.AllReduce(x)
	}
	err := o.Comm.(OneSided).Accumulate(x)
	if err == nil || o.refused == nil || status.Code(err) != status.NoResource {
		return err
	}
	o.refused(err)
	o.without = true
	return o.Comm.AllReduce(x)
}

// StartAllReduce leaves the sum to Wait, since other ranks may come later.
func (o *oneSidedSums) StartAllReduce(x device.Buf) (Request, error) { return awaited{o, x}, nil }

type awaited struct {
	sums *oneSidedSums
	x    device.Buf
}

func (a awaited) Wait() error { return a.sums.AllReduce(a.x) }
